"""Message passing on a batched graph, after graph learning libraries on static programs."""
import warnings
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import core
import paddle.fluid.layers as L
from paddle.fluid.layers import create_tensor


def send(src, dst, nfeat, efeat, message_func):
    src_feat = {k: L.gather(v, src) for k, v in nfeat.items()}
    dst_feat = {k: L.gather(v, dst) for k, v in nfeat.items()}
    return message_func(src_feat, dst_feat, efeat)


def recv(dst, uniq_dst, bucketing_index, msg, reduce_function, num_nodes, num_edges):
    """Recv message from given msg to dst nodes."""
    if reduce_function == "sum":
        if isinstance(msg, dict):
            raise TypeError("The message for build-in function should be Tensor not dict.")
        try:
            out_dim = msg.shape[-1]
            init_output = L.fill_constant_batch_size_like(ref_nodes(num_nodes), shape=[-1, out_dim], value=0,
                                                          dtype="float32")
            init_output.stop_gradient = False
            return L.scatter(init_output, dst, msg, overwrite=False) if False else scatter_add(init_output, dst, msg)
        except TypeError as e:
            warnings.warn("scatter_add is not supported with paddle version <= 1.5")
    bucketed = {k: op_lod_reset(v, bucketing_index) for k, v in msg.items()} if isinstance(msg, dict) else \
        op_lod_reset(msg, bucketing_index)
    output = reduce_function(bucketed)
    output_dim = output.shape[-1]
    init_output = L.fill_constant_batch_size_like(ref_nodes(num_nodes), shape=[-1, output_dim], value=0,
                                                  dtype="float32")
    init_output.stop_gradient = True
    return L.scatter(init_output, uniq_dst, output, overwrite=True)


def ref_nodes(num_nodes):
    return num_nodes


def scatter_add(input, index, updates):
    return L.scatter(input, index, updates, overwrite=False)


def op_lod_reset(msg, bucketing_index):
    return L.lod_reset(msg, bucketing_index)


class GraphWrapper(object):
    def __init__(self, name, node_feat=[], edge_feat=[]):
        self._data_name_prefix = name
        self.__attrs_creator(name, node_feat, edge_feat)

    def __attrs_creator(self, name, node_feat, edge_feat):
        self._edges_src = L.data(name + '/edges_src', shape=[None], append_batch_size=False, dtype="int64",
                                 stop_gradient=True)
        self._edges_dst = L.data(name + '/edges_dst', shape=[None], append_batch_size=False, dtype="int64",
                                 stop_gradient=True)
        self._uniq_dst = L.data(name + '/uniq_dst', shape=[None], append_batch_size=False, dtype="int64",
                                stop_gradient=True)
        self._indegree = L.data(name + '/indegree', shape=[None], append_batch_size=False, dtype="int64")
        self._index = L.data(name + '/bucketing_index', shape=[None], append_batch_size=False, dtype="int32")
        self.node_feat, self.edge_feat = {}, {}
        for key, shape, dtype in node_feat:
            self.node_feat[key] = L.data("/".join([name, 'node_feat', key]), shape=shape, append_batch_size=False,
                                         dtype=dtype, stop_gradient=True)

    def send(self, message_func, nfeat_list=None):
        return send(self._edges_src, self._edges_dst, dict(nfeat_list or []), {}, message_func)

    def recv(self, msg, reduce_function):
        return recv(self._edges_dst, self._uniq_dst, self._index, msg, reduce_function,
                    list(self.node_feat.values())[0], None)

    def indegree(self):
        return self._indegree

    def to_feed(self, graph):
        name = self._data_name_prefix
        order = np.argsort(graph['dst'], kind='stable')
        src, dst = graph['src'][order], graph['dst'][order]
        uniq_dst, count = np.unique(dst, return_counts=True)
        feed = {name + '/edges_src': src, name + '/edges_dst': dst, name + '/uniq_dst': uniq_dst,
                name + '/indegree': np.bincount(dst, minlength=graph['n']).astype('int64'),
                name + '/bucketing_index': np.cumsum(np.concatenate([[0], count])).astype('int32')}
        for key in self.node_feat:
            feed[name + '/node_feat/' + key] = graph[key]
        return feed


def gcn(gw, feature, hidden_size, activation, name, norm=None):
    def send_src_copy(src_feat, dst_feat, edge_feat):
        return src_feat["h"]
    size = feature.shape[-1]
    if size > hidden_size:
        feature = L.fc(feature, size=hidden_size, bias_attr=False, param_attr=fluid.ParamAttr(name=name))
    if norm is not None:
        feature = feature * norm
    msg = gw.send(send_src_copy, nfeat_list=[("h", feature)])
    output = gw.recv(msg, "sum")
    if size <= hidden_size:
        output = L.fc(output, size=hidden_size, bias_attr=False, param_attr=fluid.ParamAttr(name=name))
    if norm is not None:
        output = output * norm
    bias = L.create_parameter(shape=[hidden_size], dtype='float32', is_bias=True, name=name + '_bias')
    output = L.elementwise_add(output, bias, act=activation)
    return output


def gat(gw, feature, hidden_size, activation, name, num_heads=2, feat_drop=0.2, attn_drop=0.2, is_test=False):
    def send_attention(src_feat, dst_feat, edge_feat):
        output = src_feat["left_a"] + dst_feat["right_a"]
        output = L.leaky_relu(output, alpha=0.2)
        return {"alpha": output, "h": src_feat["h"]}

    def reduce_attention(msg):
        alpha = msg["alpha"]
        h = msg["h"]
        alpha = L.sequence_softmax(L.reshape(alpha, [-1, 1])) if num_heads == 1 else sequence_softmax(alpha)
        old_h = h
        h = L.reshape(h, [-1, num_heads, hidden_size])
        alpha = L.reshape(alpha, [-1, num_heads, 1])
        if attn_drop > 1e-15:
            alpha = L.dropout(alpha, dropout_prob=attn_drop, is_test=is_test, seed=4,
                              dropout_implementation="upscale_in_train")
        h = h * alpha
        h = L.reshape(h, [-1, num_heads * hidden_size])
        h = L.lod_reset(h, old_h)
        return L.sequence_pool(h, "sum")

    def sequence_softmax(x):
        x_max = L.sequence_expand_as(L.sequence_pool(x, 'max'), x)
        e = L.exp(x - x_max)
        e = L.lod_reset(e, x)
        total = L.sequence_expand_as(L.sequence_pool(e, 'sum'), x)
        return e / total

    if feat_drop > 1e-15:
        feature = L.dropout(feature, dropout_prob=feat_drop, is_test=is_test, seed=3,
                            dropout_implementation='upscale_in_train')
    ft = L.fc(feature, hidden_size * num_heads, bias_attr=False, param_attr=fluid.ParamAttr(name=name + '_weight'))
    left_a = L.create_parameter(shape=[num_heads, hidden_size], dtype='float32', name=name + '_gat_l_A')
    right_a = L.create_parameter(shape=[num_heads, hidden_size], dtype='float32', name=name + '_gat_r_A')
    reshape_ft = L.reshape(ft, [-1, num_heads, hidden_size])
    left_a_value = L.reduce_sum(reshape_ft * left_a, -1)
    right_a_value = L.reduce_sum(reshape_ft * right_a, -1)
    msg = gw.send(send_attention, nfeat_list=[("h", ft), ("left_a", left_a_value), ("right_a", right_a_value)])
    output = gw.recv(msg, reduce_attention)
    bias = L.create_parameter(shape=[hidden_size * num_heads], dtype='float32', is_bias=True, name=name + '_bias')
    bias.stop_gradient = True
    output = L.elementwise_add(output, bias, act=activation)
    return output
