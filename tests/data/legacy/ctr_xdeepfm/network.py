import math
import paddle.fluid as fluid


def xdeepfm(feat_idx, feat_value, dense, fields, dim, cin_sizes, fc_sizes, vocab, tag=None):
    init_value_ = 0.1
    raw = fluid.layers.reshape(feat_idx, [-1, 1])
    value = fluid.layers.reshape(feat_value, [-1, fields])
    first = fluid.layers.embedding(
        input=raw,
        is_sparse=True,
        dtype="float32",
        size=[vocab, 1],
        padding_idx=0,
        param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.TruncatedNormalInitializer(loc=0.0, scale=init_value_),
            regularizer=fluid.regularizer.L1DecayRegularizer(1e-4),
        ),
    )
    y_linear = fluid.layers.reduce_sum(fluid.layers.reshape(first, [-1, fields]) * value, 1, keep_dim=True)
    emb = fluid.layers.embedding(
        input=raw,
        is_sparse=True,
        size=[vocab, dim],
        padding_idx=0,
        param_attr=fluid.ParamAttr(
            initializer=fluid.initializer.TruncatedNormalInitializer(
                loc=0.0, scale=init_value_ / math.sqrt(dim)
            )
        ),
    )
    emb = fluid.layers.reshape(emb, [-1, fields, dim]) * fluid.layers.unsqueeze(value, [2])
    # compressed interaction network
    Xs, last_s = [emb], fields
    for s in cin_sizes:
        x0 = fluid.layers.reshape(fluid.layers.transpose(emb, [0, 2, 1]), [-1, dim, fields, 1])
        xk = fluid.layers.reshape(fluid.layers.transpose(Xs[-1], [0, 2, 1]), [-1, dim, 1, last_s])
        z = fluid.layers.matmul(x0, xk)
        z = fluid.layers.transpose(fluid.layers.reshape(z, [-1, dim, fields * last_s]), [0, 2, 1])
        z = fluid.layers.reshape(z, [-1, fields * last_s, 1, dim])
        xn = fluid.layers.conv2d(
            z,
            num_filters=s,
            filter_size=(1, 1),
            act=None,
            bias_attr=False,
            param_attr=fluid.ParamAttr(
                regularizer=fluid.regularizer.L2DecayRegularizer(1e-3),
                initializer=fluid.initializer.TruncatedNormalInitializer(scale=init_value_),
            ),
        )
        Xs.append(fluid.layers.reshape(xn, [-1, s, dim]))
        last_s = s
    y_cin = fluid.layers.fc(fluid.layers.reduce_sum(fluid.layers.concat(Xs[1:], 1), -1), 1)
    deep = fluid.layers.concat([fluid.layers.reshape(emb, [-1, fields * dim]), dense], 1)
    for i, s in enumerate(fc_sizes):
        deep = fluid.layers.fc(
            deep,
            s,
            act=None,
            param_attr=fluid.ParamAttr(
                initializer=fluid.initializer.TruncatedNormalInitializer(scale=init_value_ / math.sqrt(10))
            ),
        )
        deep = fluid.layers.stanh(deep) if i == 0 else fluid.layers.thresholded_relu(deep, 0.01)
        deep = fluid.layers.data_norm(deep, name="dn%d" % i) if i == 0 else deep
    y_dnn = fluid.layers.fc(deep, 1)
    return y_linear + y_cin + y_dnn
