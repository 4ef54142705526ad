# -*- coding: utf-8 -*-
"""A tagger of words: stacked GRUs in both directions under a CRF."""
import math
import paddle.fluid as fluid


def _uniform(rate=1.0, name=None, decay=None):
    regularizer = fluid.regularizer.L2DecayRegularizer(regularization_coeff=decay) if decay else None
    return fluid.ParamAttr(name=name, learning_rate=rate, initializer=fluid.initializer.Uniform(low=-0.1, high=0.1),
                           regularizer=regularizer)


def both_ways(sequence, size):
    halves = []
    for backwards in (False, True):
        gates = fluid.layers.fc(input=sequence, size=3 * size, param_attr=_uniform(decay=1e-4))
        halves.append(fluid.layers.dynamic_gru(input=gates, size=size, is_reverse=backwards,
                                               param_attr=_uniform(decay=1e-4)))
    return fluid.layers.concat(input=halves, axis=1)


def emissions(words, args, num_words, num_tags):
    sequence = fluid.embedding(input=words, size=[num_words, args.word_dim], is_sparse=True,
                               param_attr=_uniform(args.emb_lr, 'word_emb'))
    for _ in range(args.stacked):
        sequence = both_ways(sequence, args.hidden)
    return fluid.layers.fc(input=sequence, size=num_tags, param_attr=_uniform(decay=1e-4))


def build(args, num_words, num_tags, training=True):
    words = fluid.data(name='words', shape=[None], dtype='int64', lod_level=1)
    scores = emissions(words, args, num_words, num_tags)
    # The weight of the CRF is declared first and takes its learning rate from the layer that trains it.
    fluid.layers.create_parameter(shape=[num_tags + 2, num_tags], dtype='float32', name='crfw')
    if not training:
        return words, fluid.layers.crf_decoding(input=scores, param_attr=fluid.ParamAttr(name='crfw'))
    tags = fluid.data(name='tags', shape=[None, 1], dtype='int64', lod_level=1)
    cost = fluid.layers.linear_chain_crf(input=scores, label=tags,
                                         param_attr=fluid.ParamAttr(name='crfw', learning_rate=args.crf_lr))
    best = fluid.layers.crf_decoding(input=scores, param_attr=fluid.ParamAttr(name='crfw'))
    counts = fluid.layers.chunk_eval(input=best, label=tags, chunk_scheme='IOB',
                                     num_chunk_types=int(math.ceil((num_tags - 1) / 2.0)))
    return [words, tags], fluid.layers.mean(x=cost), best, counts
