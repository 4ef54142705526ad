from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import six
import json
import numpy as np
import paddle.fluid as fluid
from model.transformer_encoder import encoder, pre_process_layer


class BertConfig(object):
    def __init__(self, config_path):
        self._config_dict = self._parse(config_path)

    def _parse(self, config_path):
        try:
            with open(config_path) as json_file:
                config_dict = json.load(json_file)
        except Exception:
            raise IOError("Error in parsing bert model config file '%s'" % config_path)
        else:
            return config_dict

    def __getitem__(self, key):
        return self._config_dict[key]

    def print_config(self):
        for arg, value in sorted(six.iteritems(self._config_dict)):
            print('%s: %s' % (arg, value))
        print('------------------------------------------------')


class BertModel(object):
    def __init__(self, src_ids, position_ids, sentence_ids, input_mask, config, weight_sharing=True, use_fp16=False):
        self._emb_size = config['hidden_size']
        self._n_layer = config['num_hidden_layers']
        self._n_head = config['num_attention_heads']
        self._voc_size = config['vocab_size']
        self._hidden_act = config['hidden_act']
        self._dropout = config['hidden_dropout_prob']
        self._weight_sharing = weight_sharing
        self._dtype = "float16" if use_fp16 else "float32"
        self._param_initializer = fluid.initializer.TruncatedNormal(scale=config['initializer_range'])
        emb_out = None
        for ids, size, name in ((src_ids, self._voc_size, "word_embedding"),
                                (position_ids, config['max_position_embeddings'], "pos_embedding"),
                                (sentence_ids, config['type_vocab_size'], "sent_embedding")):
            emb = fluid.layers.embedding(input=ids, size=[size, self._emb_size], dtype=self._dtype,
                                         param_attr=fluid.ParamAttr(name=name, initializer=self._param_initializer),
                                         is_sparse=False)
            emb_out = emb if emb_out is None else emb_out + emb
        emb_out = pre_process_layer(emb_out, 'nd', self._dropout, name='pre_encoder')
        self_attn_mask = fluid.layers.matmul(x=input_mask, y=input_mask, transpose_y=True)
        self_attn_mask = fluid.layers.scale(x=self_attn_mask, scale=10000.0, bias=-1.0, bias_after_scale=False)
        n_head_self_attn_mask = fluid.layers.stack(x=[self_attn_mask] * self._n_head, axis=1)
        n_head_self_attn_mask.stop_gradient = True
        self._enc_out = encoder(emb_out, n_head_self_attn_mask, self._n_layer, self._n_head,
                                self._emb_size // self._n_head, self._emb_size // self._n_head, self._emb_size,
                                self._emb_size * 4, self._dropout, self._hidden_act, self._param_initializer)

    def get_pooled_output(self):
        next_sent_feat = fluid.layers.slice(input=self._enc_out, axes=[1], starts=[0], ends=[1])
        return fluid.layers.fc(input=next_sent_feat, size=self._emb_size, act="tanh",
                               param_attr=fluid.ParamAttr(name="pooled_fc.w_0",
                                                          initializer=self._param_initializer),
                               bias_attr="pooled_fc.b_0")

    def get_pretraining_output(self, mask_label, mask_pos, labels):
        mask_pos = fluid.layers.cast(x=mask_pos, dtype='int32')
        next_sent_feat = self.get_pooled_output()
        reshaped_emb_out = fluid.layers.reshape(x=self._enc_out, shape=[-1, self._emb_size])
        mask_feat = fluid.layers.gather(input=reshaped_emb_out, index=mask_pos)
        mask_trans_feat = fluid.layers.fc(input=mask_feat, size=self._emb_size, act=self._hidden_act,
                                          param_attr=fluid.ParamAttr(name='mask_lm_trans_fc.w_0',
                                                                     initializer=self._param_initializer),
                                          bias_attr=fluid.ParamAttr(name='mask_lm_trans_fc.b_0'))
        mask_trans_feat = pre_process_layer(mask_trans_feat, 'n', name='mask_lm_trans')
        mask_lm_out_bias_attr = fluid.ParamAttr(name="mask_lm_out_fc.b_0",
                                                initializer=fluid.initializer.Constant(value=0.0))
        if self._weight_sharing:
            fc_out = fluid.layers.matmul(
                x=mask_trans_feat, y=fluid.default_main_program().global_block().var("word_embedding"),
                transpose_y=True)
            fc_out += fluid.layers.create_parameter(shape=[self._voc_size], dtype=self._dtype,
                                                    attr=mask_lm_out_bias_attr, is_bias=True)
        mask_lm_loss = fluid.layers.softmax_with_cross_entropy(logits=fc_out, label=mask_label)
        mean_mask_lm_loss = fluid.layers.mean(mask_lm_loss)
        next_sent_fc_out = fluid.layers.fc(input=next_sent_feat, size=2,
                                           param_attr=fluid.ParamAttr(name="next_sent_fc.w_0",
                                                                      initializer=self._param_initializer),
                                           bias_attr="next_sent_fc.b_0")
        next_sent_loss, next_sent_softmax = fluid.layers.softmax_with_cross_entropy(
            logits=next_sent_fc_out, label=labels, return_softmax=True)
        next_sent_acc = fluid.layers.accuracy(input=next_sent_softmax, label=labels)
        mean_next_sent_loss = fluid.layers.mean(next_sent_loss)
        return next_sent_acc, mean_mask_lm_loss, fluid.layers.elementwise_add(mean_next_sent_loss, mean_mask_lm_loss)
