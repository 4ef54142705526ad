import paddle.fluid as fluid


def bow_net(data, label, dict_dim, emb_dim=16, hid_dim=16, hid_dim2=12, class_dim=2, is_prediction=False):
    emb = fluid.layers.embedding(input=data, size=[dict_dim, emb_dim], is_sparse=True)
    bow = fluid.layers.sequence_pool(input=emb, pool_type='sum')
    bow_tanh = fluid.layers.tanh(bow)
    fc_1 = fluid.layers.fc(input=bow_tanh, size=hid_dim, act="tanh")
    fc_2 = fluid.layers.fc(input=fc_1, size=hid_dim2, act="tanh")
    return finish(fc_2, label, class_dim, is_prediction)


def cnn_net(data, label, dict_dim, emb_dim=16, hid_dim=12, hid_dim2=12, class_dim=2, win_size=3, is_prediction=False):
    emb = fluid.layers.embedding(input=data, size=[dict_dim, emb_dim])
    conv_3 = fluid.nets.sequence_conv_pool(input=emb, num_filters=hid_dim, filter_size=win_size, act="tanh",
                                           pool_type="max")
    fc_1 = fluid.layers.fc(input=[conv_3], size=hid_dim2)
    return finish(fc_1, label, class_dim, is_prediction)


def lstm_net(data, label, dict_dim, emb_dim=16, hid_dim=16, hid_dim2=12, class_dim=2, emb_lr=30.0,
             is_prediction=False):
    emb = fluid.layers.embedding(input=data, size=[dict_dim, emb_dim],
                                 param_attr=fluid.ParamAttr(learning_rate=emb_lr))
    fc0 = fluid.layers.fc(input=emb, size=hid_dim * 4)
    lstm_h, c = fluid.layers.dynamic_lstm(input=fc0, size=hid_dim * 4, is_reverse=False)
    lstm_max = fluid.layers.sequence_pool(input=lstm_h, pool_type='max')
    lstm_max_tanh = fluid.layers.tanh(lstm_max)
    fc1 = fluid.layers.fc(input=lstm_max_tanh, size=hid_dim2, act='tanh')
    return finish(fc1, label, class_dim, is_prediction)


def bigru_net(data, label, dict_dim, emb_dim=16, hid_dim=12, hid_dim2=12, class_dim=2, is_prediction=False):
    emb = fluid.layers.embedding(input=data, size=[dict_dim, emb_dim])
    fc0 = fluid.layers.fc(input=emb, size=hid_dim * 3)
    rfc0 = fluid.layers.fc(input=emb, size=hid_dim * 3)
    gru_h = fluid.layers.dynamic_gru(input=fc0, size=hid_dim, is_reverse=False)
    rgru_h = fluid.layers.dynamic_gru(input=rfc0, size=hid_dim, is_reverse=True)
    gru_last = fluid.layers.sequence_last_step(input=gru_h)
    rgru_last = fluid.layers.sequence_first_step(input=rgru_h)
    gru_concat = fluid.layers.concat(input=[fluid.layers.tanh(gru_last), fluid.layers.tanh(rgru_last)], axis=1)
    fc1 = fluid.layers.fc(input=gru_concat, size=hid_dim2, act='tanh')
    return finish(fluid.layers.dropout(fc1, dropout_prob=0.1, seed=3), label, class_dim, is_prediction)


def finish(fc, label, class_dim, is_prediction):
    prediction = fluid.layers.fc(input=fc, size=class_dim, act="softmax")
    if is_prediction:
        return prediction
    cost = fluid.layers.cross_entropy(input=prediction, label=label)
    avg_cost = fluid.layers.mean(x=cost)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    return avg_cost, acc, prediction
