from __future__ import print_function
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as layers
from paddle.fluid.contrib.layers import BasicLSTMUnit, basic_lstm
from paddle.fluid.layers.rnn import RNNCell, LSTMCell, GRUCell, BeamSearchDecoder, dynamic_decode, BasicDecoder, TrainingHelper, GreedyEmbeddingHelper, SampleEmbeddingHelper

INF = 1. * 1e5

class DecoderCell(layers.RNNCell):
    """Additive/mul attention over a stack of LSTM cells."""
    def __init__(self, num_layers, hidden_size, dropout_prob=0., init_scale=0.1):
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.dropout_prob = dropout_prob
        self.lstm_cells = []
        self.init_scale = init_scale
        for i in range(num_layers):
            self.lstm_cells.append(layers.LSTMCell(hidden_size, param_attr=fluid.ParamAttr(initializer=fluid.initializer.UniformInitializer(-init_scale, init_scale)), name='dec_lstm%d' % i))

    def attention(self, query, enc_output, mask=None):
        query = layers.unsqueeze(query, [1])
        memory = layers.fc(enc_output, self.hidden_size, num_flatten_dims=2, param_attr=fluid.ParamAttr(name='memory_w'), bias_attr=False)
        attn = layers.matmul(query, memory, transpose_y=True)
        if mask:
            attn = layers.transpose(attn, [1, 0, 2])
            attn = layers.elementwise_add(attn, mask * 1000000000, -1)
            attn = layers.transpose(attn, [1, 0, 2])
        weight = layers.softmax(attn)
        weight_memory = layers.matmul(weight, memory)
        return layers.squeeze(weight_memory, [1])

    def call(self, step_input, states, enc_output, enc_padding_mask=None):
        lstm_states, input_feed = states
        new_lstm_states = []
        step_input = layers.concat([step_input, input_feed], 1)
        for i in range(self.num_layers):
            out, new_lstm_state = self.lstm_cells[i](step_input, lstm_states[i])
            step_input = layers.dropout(out, self.dropout_prob, dropout_implementation='upscale_in_train') if self.dropout_prob > 0 else out
            new_lstm_states.append(new_lstm_state)
        dec_att = self.attention(step_input, enc_output, enc_padding_mask)
        dec_att = layers.concat([dec_att, step_input], 1)
        out = layers.fc(dec_att, self.hidden_size, param_attr=fluid.ParamAttr(name='att_out_w'), bias_attr=False)
        return out, [new_lstm_states, out]

    @property
    def state_shape(self):
        return [[[[self.hidden_size], [self.hidden_size]]] * self.num_layers, [self.hidden_size]]


class AttentionModel(object):
    def __init__(self, hidden_size, src_vocab, tar_vocab, num_layers=2, init_scale=0.1, dropout=0.2, beam_size=3, max_len=8):
        self.hidden_size, self.src_vocab, self.tar_vocab = hidden_size, src_vocab, tar_vocab
        self.num_layers, self.init_scale, self.dropout, self.beam_size, self.max_len = num_layers, init_scale, dropout, beam_size, max_len
        self.uniform = fluid.initializer.UniformInitializer(low=-init_scale, high=init_scale)

    def _inputs(self, mode):
        self.src = fluid.data(name="src", shape=[None, None], dtype='int64')
        self.src_sequence_length = fluid.data(name="src_sequence_length", shape=[None], dtype='int64')
        feeds = [self.src, self.src_sequence_length]
        if mode == 'train':
            self.tar = fluid.data(name="tar", shape=[None, None], dtype='int64')
            self.tar_sequence_length = fluid.data(name="tar_sequence_length", shape=[None], dtype='int64')
            self.label = fluid.data(name="label", shape=[None, None, 1], dtype='int64')
            feeds += [self.tar, self.tar_sequence_length, self.label]
        return feeds

    def _emb(self):
        self.src_embeder = lambda x: fluid.embedding(input=x, size=[self.src_vocab, self.hidden_size], dtype='float32', is_sparse=False,
            param_attr=fluid.ParamAttr(name='source_embedding', initializer=self.uniform))
        self.tar_embeder = lambda x: fluid.embedding(input=x, size=[self.tar_vocab, self.hidden_size], dtype='float32', is_sparse=False,
            param_attr=fluid.ParamAttr(name='target_embedding', initializer=self.uniform))

    def build(self, mode='train', decoding=None):
        feeds = self._inputs(mode)
        self._emb()
        src_emb = self.src_embeder(self.src)
        enc_cell = [layers.LSTMCell(self.hidden_size, param_attr=fluid.ParamAttr(initializer=self.uniform), name='enc_lstm%d' % i) for i in range(self.num_layers)]
        enc_output, enc_final = src_emb, []
        for cell in enc_cell:
            enc_output, st = layers.rnn(cell, enc_output, sequence_length=self.src_sequence_length)
            enc_final.append(st)
        cell = DecoderCell(self.num_layers, self.hidden_size, self.dropout if mode == 'train' else 0.)
        src_mask = layers.sequence_mask(self.src_sequence_length, maxlen=layers.shape(self.src)[1], dtype='float32')
        enc_padding_mask = (src_mask - 1.0)
        init = [enc_final, cell.get_initial_states(batch_ref=enc_output, shape=[self.hidden_size])]
        out_fc = lambda x: layers.fc(x, size=self.tar_vocab, num_flatten_dims=len(x.shape) - 1, param_attr=fluid.ParamAttr(name='output_w'), bias_attr=False)
        if mode == 'train':
            tar_emb = self.tar_embeder(self.tar)
            dec_output, _ = layers.rnn(cell, inputs=tar_emb, initial_states=init, sequence_length=None, enc_output=enc_output, enc_padding_mask=enc_padding_mask)
            self.logits = out_fc(dec_output)
            loss = layers.softmax_with_cross_entropy(logits=self.logits, label=self.label, soft_label=False)
            loss = layers.unsqueeze(loss, axes=[2]) if len(loss.shape) == 2 else loss
            mask = layers.sequence_mask(self.tar_sequence_length, maxlen=layers.shape(self.tar)[1], dtype='float32')
            loss = layers.squeeze(loss, [2]) * mask
            loss = layers.reduce_mean(loss, dim=[0])
            return feeds, layers.reduce_sum(loss)
        if decoding == 'beam':
            enc_output = BeamSearchDecoder.tile_beam_merge_with_batch(enc_output, self.beam_size)
            enc_padding_mask = BeamSearchDecoder.tile_beam_merge_with_batch(enc_padding_mask, self.beam_size)
            decoder = BeamSearchDecoder(cell, 1, 2, self.beam_size, embedding_fn=self.tar_embeder, output_fn=out_fc)
            outputs, _, lengths = dynamic_decode(decoder, inits=init, max_step_num=self.max_len, enc_output=enc_output, enc_padding_mask=enc_padding_mask, return_length=True)
            return feeds, [outputs, lengths]
        start = layers.fill_constant_batch_size_like(self.src, [-1], 'int64', 1)
        helper = GreedyEmbeddingHelper(self.tar_embeder, start, 2)
        decoder = BasicDecoder(cell, helper, output_fn=out_fc)
        outputs, _, lengths = dynamic_decode(decoder, inits=init, max_step_num=self.max_len, is_test=True, enc_output=enc_output, enc_padding_mask=enc_padding_mask, return_length=True)
        return feeds, [outputs.sample_ids, lengths, outputs.cell_outputs]


class VAE(object):
    """Variational seq2seq with basic_lstm and a KL term that warms up."""
    def build(self, vocab, hidden=12, latent=6, bow_loss=True):
        src = fluid.data('vsrc', [None, None], 'int64')
        length = fluid.data('vlen', [None], 'int64')
        label = fluid.data('vlabel', [None, None, 1], 'int64')
        kl_w = fluid.data('kl_weight', [1], 'float32')
        emb = fluid.embedding(src, [vocab, hidden], param_attr=fluid.ParamAttr(name='vae_emb', initializer=fluid.initializer.Uniform(-0.1, 0.1)))
        out, last_h, last_c = basic_lstm(input=emb, init_hidden=None, init_cell=None, hidden_size=hidden, num_layers=2, sequence_length=length,
                                         dropout_prob=0.0, batch_first=True, bidirectional=True, forget_bias=0.5, name='venc')
        feat = layers.reshape(layers.transpose(last_h, [1, 0, 2]), [-1, 48])
        mean, logvar = layers.split(layers.fc(feat, 2 * latent, name='mv'), 2, dim=-1)
        eps = layers.gaussian_random_batch_size_like(input=mean, shape=[-1, latent], seed=3)
        z = mean + layers.exp(0.5 * logvar) * eps
        kl = -0.5 * layers.reduce_sum(logvar - layers.square(mean) - layers.exp(logvar) + 1, dim=1)
        h0 = layers.fc(z, hidden, act='tanh')
        cell = GRUCell(hidden)
        zz = layers.expand(layers.unsqueeze(z, [1]), [1, 1, 1])
        dec, _ = layers.rnn(cell, emb, h0, sequence_length=length)
        logits = layers.fc(dec, vocab, num_flatten_dims=2)
        mask = layers.sequence_mask(length, maxlen=layers.shape(src)[1], dtype='float32')
        rec = layers.reduce_mean(layers.reduce_sum(layers.squeeze(layers.softmax_with_cross_entropy(logits, label), [2]) * mask, dim=1))
        bow = layers.log_softmax(layers.fc(z, vocab)) if hasattr(layers, 'log_softmax') else layers.log(layers.softmax(layers.fc(z, vocab)))
        oh = fluid.one_hot(layers.squeeze(label, [2]), vocab)
        bow_l = -layers.reduce_mean(layers.reduce_sum(layers.reduce_sum(oh, dim=1) * bow, dim=1))
        kl_l = layers.reduce_mean(kl)
        loss = rec + kl_w * kl_l + 0.1 * bow_l
        return loss, rec, kl_l
