from __future__ import absolute_import, division, print_function
from copy import deepcopy
from collections import OrderedDict
import paddle.fluid as fluid
from ..utility import create_module
layers = fluid.layers


class AttentionPredict(object):
    def __init__(self, params):
        self.char_num, self.decoder_size, self.word_vector_dim = params['char_num'], params['decoder_size'], params['word_vector_dim']
        self.hidden_size, self.max_length = params['SeqRNN']['hidden_size'], params['max_text_length']

    def encoder(self, conv):
        seq = layers.im2sequence(input=conv, stride=[1, 1], filter_size=[conv.shape[2], 1])
        para = fluid.ParamAttr(regularizer=fluid.regularizer.L2Decay(0.0), initializer=fluid.initializer.Normal(0.0, 0.02))
        outs = []
        for rev in (False, True):
            fc = layers.fc(input=seq, size=self.hidden_size * 3, param_attr=para, bias_attr=False, name='fc_%d' % rev)
            outs.append(layers.dynamic_gru(input=fc, size=self.hidden_size, is_reverse=rev, param_attr=para, candidate_activation='relu'))
        return outs

    def attention(self, vec, proj, state):
        state_proj = layers.fc(input=state, size=self.decoder_size, param_attr="decoder_state_proj_w", bias_attr=False)
        concated = layers.elementwise_add(proj, layers.sequence_expand(x=state_proj, y=proj))
        concated = layers.tanh(x=concated)
        weights = layers.sequence_softmax(input=layers.fc(input=concated, size=1, act=None, param_attr="attention_weights_w", bias_attr=False))
        scaled = layers.elementwise_mul(x=vec, y=layers.reshape(x=weights, shape=[-1]), axis=0)
        return layers.sequence_pool(input=scaled, pool_type='sum')

    def step(self, word, vec, proj, mem):
        context = self.attention(vec, proj, mem)
        x = layers.fc(input=layers.concat([context, word], axis=1), size=self.decoder_size * 3, param_attr="rnn_fc_w", bias_attr=False)
        h, _, _ = layers.gru_unit(input=x, hidden=mem, param_attr="rnn_gru_w", bias_attr="rnn_gru_b", size=self.decoder_size * 3)
        return h, layers.fc(input=h, size=self.char_num + 2, param_attr='rnn_out_fc_w', bias_attr='rnn_out_fc_b', act='softmax')

    def __call__(self, conv, labels=None, mode='train'):
        fwd, back = self.encoder(conv)
        vec = layers.concat(input=[fwd, back], axis=1)
        proj = layers.fc(input=vec, size=self.decoder_size, bias_attr=False, name="encoded_proj_fc")
        first = layers.sequence_pool(input=back, pool_type='first')
        boot = layers.fc(input=first, size=self.decoder_size, bias_attr=False, act="relu", name='encoder_first_fc')
        emb = lambda ids: layers.embedding(input=ids, size=[self.char_num + 2, self.word_vector_dim], dtype='float32', param_attr='char_emb')
        if mode == 'train':
            words = emb(layers.cast(labels['label_in'], 'int64'))
            rnn = layers.DynamicRNN()
            with rnn.block():
                word = rnn.step_input(words)
                v, p = rnn.static_input(vec), rnn.static_input(proj)
                mem = rnn.memory(init=boot, need_reorder=True)
                h, out = self.step(word, v, p, mem)
                rnn.update_memory(mem, h)
                rnn.output(out)
            predict = rnn()
            decoded = layers.topk(input=predict, k=1)[1]
            return {'predict': predict, 'decoded_out': decoded}
        ids = layers.fill_constant_batch_size_like(first, shape=[-1, 1], value=0, dtype='int64')
        state, outs = boot, []
        for t in range(self.max_length):
            word = layers.reshape(emb(ids), [-1, self.word_vector_dim])
            state, prob = self.step(word, vec, proj, state)
            ids = layers.topk(prob, k=1)[1]
            ids.stop_gradient = True
            outs.append(ids)
        return {'decoded_out': layers.concat(outs, axis=1)}


class AttentionLoss(object):
    def __init__(self, params):
        self.char_num = params['char_num']

    def __call__(self, predicts, labels):
        label_out = layers.cast(x=labels['label_out'], dtype='int64')
        cost = layers.cross_entropy(input=predicts['predict'], label=label_out)
        return {'total_loss': layers.reduce_sum(cost), 'predict': predicts['predict'], 'label': label_out}


class RecModel(object):
    def __init__(self, params):
        self.g = params['Global']
        head = deepcopy(params['Head'])
        head.update(self.g)
        self.head = create_module(head['function'])(params=head)
        self.loss = create_module(params['Loss']['function'])(params=self.g)

    def backbone(self, image):
        x = image
        for i, (n, s) in enumerate([(8, 2), (12, (2, 1)), (16, (2, 1))]):
            x = layers.conv2d(x, n, 3, stride=s, padding=1, bias_attr=False, name='res%d' % i)
            x = layers.batch_norm(x, act='relu', name='bn_res%d' % i)
        return x

    def __call__(self, mode):
        image = fluid.data(name='image', shape=[None] + self.g['image_shape'], dtype='float32')
        if mode != 'train':
            return None, self.head(self.backbone(image), mode='eval'), ['image']
        labels = OrderedDict((n, fluid.data(name=n, shape=[None, 1], dtype='int32', lod_level=1)) for n in ('label_in', 'label_out'))
        loader = fluid.io.DataLoader.from_generator(feed_list=[image] + list(labels.values()), capacity=64, use_double_buffer=True, iterable=False)
        return loader, self.loss(self.head(self.backbone(image), labels), labels), None
