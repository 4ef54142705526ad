"""More networks of this folder: loops, branches, attention, regions, beam search."""
import numpy as np

from networks import coarse, conv_bn, network, words


@network
def static_rnn(fluid):
    L = fluid.layers
    data = fluid.data("ids", [5, None, 1], "int64")
    x = L.embedding(data, [20, 6])
    rnn = L.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        prev = rnn.memory(shape=[-1, 4], batch_ref=word)
        hidden = L.fc([word, prev], 4, act="relu")
        rnn.update_memory(prev, hidden)
        rnn.step_output(hidden)
    out = rnn()
    last = L.slice(out, [0], [4], [5])
    return (["ids"], [out, L.fc(L.reshape(last, [-1, 4]), 3)],
            lambda rng, rows: {"ids": rng.randint(0, 20, (5, rows, 1)).astype("int64")})


@network
def dynamic_rnn(fluid):
    L = fluid.layers
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    x = L.embedding(data, [20, 6])
    start = L.sequence_pool(x, "first")
    start = L.fc(start, 4, act="tanh")
    rnn = L.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(x)
        prev = rnn.memory(init=start, need_reorder=True)
        cell = rnn.memory(shape=[4], value=0.5)
        hidden = L.fc([word, prev], 4, act="tanh")
        new = cell * 0.9 + hidden * 0.1
        rnn.update_memory(prev, hidden)
        rnn.update_memory(cell, new)
        rnn.output(hidden, new)
    out, cells = rnn()
    return (["words"], [out, L.sequence_last_step(cells)], lambda rng, rows: {"words": words(rng, rows, 20)})


@network
def while_sum(fluid):
    L = fluid.layers
    x = fluid.data("x", [None, 4], "float32")
    i = L.fill_constant([1], "int64", 0)
    n = L.fill_constant([1], "int64", 4)
    total = L.fc(x, 4)
    array = L.array_write(total, i)
    cond = L.less_than(i, n)
    loop = L.While(cond)
    with loop.block():
        held = L.array_read(array, i)
        new = L.fc(held, 4, act="tanh")
        L.increment(i, in_place=True)
        L.array_write(new, i, array)
        L.assign(total + new, total)
        L.less_than(i, n, cond=cond)
    joined, _ = L.tensor_array_to_tensor(array, axis=1)
    return ["x"], [total, joined], lambda rng, rows: {"x": rng.randn(rows, 4).astype("float32")}


@network
def branches(fluid):
    L = fluid.layers
    x = fluid.data("x", [None, 4], "float32")
    mean = L.reduce_mean(x)
    zero = L.fill_constant([1], "float32", 0.0)
    a = L.cond(L.less_than(mean, zero), lambda: L.fc(x, 3), lambda: L.fc(x, 3, act="relu") + 1.0)
    which = L.cast(L.argmax(L.reduce_sum(x, 0), 0), "int32")
    b = L.switch_case(L.reshape(which, [1]), {0: lambda: x * 2.0, 1: lambda: x + 1.0}, default=lambda: L.tanh(x))
    i = L.fill_constant([1], "int64", 0)
    n = L.fill_constant([1], "int64", 5)
    _, c = L.while_loop(lambda i, v: L.less_than(i, n), lambda i, v: [i + 1, v * 0.5 + 1.0], [i, x])
    first = L.slice(x, [1], [0], [1])
    ie = L.IfElse(L.less_than(first, L.zeros_like(first)))
    with ie.true_block():
        ie.output(ie.input(x) * 2.0)
    with ie.false_block():
        ie.output(ie.input(x) - 3.0)
    return ["x"], [a, b, c, ie()[0]], lambda rng, rows: {"x": rng.randn(rows, 4).astype("float32")}


@network
def attention(fluid):
    L = fluid.layers
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    x = L.embedding(data, [25, 6])
    keys = L.dynamic_gru(L.fc(x, 12, bias_attr=False), 4)
    state = L.sequence_last_step(keys)
    wide = L.sequence_expand(L.fc(state, 4, bias_attr=False), keys)
    scores = L.sequence_softmax(L.fc(L.tanh(keys + wide), 1, bias_attr=False))
    context = L.sequence_pool(L.elementwise_mul(keys, scores, axis=0), "sum")
    padded, length = L.sequence_pad(keys, L.assign(np.array([0.0], "float32")))
    back = L.sequence_unpad(padded * 2.0, length)
    joined = L.sequence_concat([keys, L.sequence_reverse(back)])
    mask = L.sequence_mask(length, dtype="float32")
    return (["words"], [context, joined, mask, L.sequence_expand_as(state, keys)],
            lambda rng, rows: {"words": words(rng, rows, 25)})


@network
def gan_unet(fluid):
    L = fluid.layers
    noise = fluid.data("noise", [None, 6], "float32")
    x = L.batch_norm(L.fc(noise, 4 * 4 * 4), act="relu")
    x = L.reshape(x, [-1, 4, 4, 4])
    x = L.conv2d_transpose(x, 4, filter_size=5, stride=2, padding=2, output_size=[8, 8], use_cudnn=False)
    x = L.prelu(L.group_norm(x, 2), "channel")
    y = L.resize_bilinear(x, out_shape=[12, 12], align_corners=True)
    z = L.resize_bilinear(x, scale=2.0, align_corners=False, align_mode=0)
    w = L.image_resize(x, [5, 7], resample="NEAREST", align_corners=False)
    y = L.conv2d(L.pad2d(y, [1, 1, 1, 1], "reflect"), 3, 3, act="leaky_relu", use_cudnn=False)
    z = L.pool2d(L.instance_norm(z), 3, "avg", 2, 1, ceil_mode=True, exclusive=True)
    w = L.adaptive_pool2d(w, [2, 3], "avg")
    s = L.adaptive_pool2d(x, [3, 3], "max")
    return (["noise"], [L.tanh(y), z, w, s, L.lrn(x), L.l2_normalize(x, 1)],
            lambda rng, rows: {"noise": rng.randn(rows, 6).astype("float32")})


@network
def se_inception(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, None, None], "float32")
    a = conv_bn(fluid, img, 6, 3, 2)
    parts = [conv_bn(fluid, a, 4, 1), conv_bn(fluid, a, 4, 3), L.pool2d(a, 3, "avg", 1, 1, exclusive=False),
             L.conv2d(a, 4, 5, padding="SAME", act="swish", use_cudnn=False)]
    x = L.concat(parts, 1)
    squeeze = L.fc(L.pool2d(x, pool_type="avg", global_pooling=True), 4, act="relu")
    excite = L.fc(squeeze, x.shape[1], act="sigmoid")
    x = L.elementwise_mul(x, excite, axis=0)
    x = L.shuffle_channel(L.conv2d(x, 8, 3, groups=2, dilation=2, padding=2, use_cudnn=False), 2)
    x = L.pool2d(x, 2, "max", 2, ceil_mode=True)
    top, index = L.topk(L.reduce_mean(x, [2, 3]), 3)
    return (["img"], [x, top, index, L.hard_swish(L.flatten(L.reduce_max(x, 2)))],
            lambda rng, rows: {"img": coarse(rng, rows, 3, 15, 17)})


@network
def bert_like(fluid):
    L = fluid.layers
    ids = fluid.data("ids", [None, None], "int64")
    mask = fluid.data("mask", [None, None, 1], "float32")
    x = fluid.embedding(ids, [30, 8])
    both = L.matmul(mask, mask, transpose_y=True)
    bias = L.scale(both, 10000.0, -1.0, bias_after_scale=False)
    bias = L.stack([bias] * 2, axis=1)
    q, k, v = [L.fc(x, 8, num_flatten_dims=2) for _ in range(3)]
    heads = [L.transpose(L.reshape(e, [0, 0, 2, 4]), [0, 2, 1, 3]) for e in (q, k, v)]
    mixed = L.matmul(L.softmax(L.matmul(heads[0], heads[1], False, True, 0.5) + bias), heads[2])
    x = L.layer_norm(x + L.reshape(L.transpose(mixed, [0, 2, 1, 3]), [0, 0, 8]), begin_norm_axis=2)
    shape = L.shape(x)
    flat = L.reshape(x, [shape[0] * shape[1], 8])
    picked = L.gather(flat, L.range(0, 2, 1, "int64"))
    first = x[:, 0, :]

    def draw(rng, rows):
        return {"ids": rng.randint(0, 30, (rows, 5)).astype("int64"),
                "mask": (rng.rand(rows, 5, 1) < 0.8).astype("float32")}

    return ["ids", "mask"], [x, picked, L.fc(first, 2), fluid.one_hot(L.argmax(x, -1), 8)], draw


@network
def two_stage(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 24, 24], "float32")
    rois = fluid.data("rois", [None, 4], "float32", lod_level=1)
    x = conv_bn(fluid, img, 4, 3, 2)
    anchors, variances = L.anchor_generator(x, [16.0, 32.0], [0.5, 1.0], [0.1, 0.1, 0.2, 0.2], [2.0, 2.0])
    a = L.roi_align(x, rois, 3, 3, 0.5, 2)
    b = L.roi_pool(x, rois, 2, 2, 0.5)

    def draw(rng, rows):
        lengths = [int(n) for n in rng.randint(1, 4, rows)]
        low = rng.uniform(0, 10, (sum(lengths), 2))
        return {"img": coarse(rng, rows, 3, 24, 24),
                "rois": (np.concatenate([low, low + rng.uniform(2, 12, low.shape)], 1).astype("float32"), [lengths])}

    return ["img", "rois"], [L.fc(a, 3), b, anchors, variances], draw


@network
def rnn_cells(fluid):
    L = fluid.layers
    x = fluid.data("x", [None, 5, 6], "float32")
    length = fluid.data("length", [None], "int64")
    lstm, last = L.rnn(L.LSTMCell(4), x, sequence_length=length)
    gru, _ = L.rnn(L.GRUCell(4), x, is_reverse=True)

    def draw(rng, rows):
        return {"x": rng.randn(rows, 5, 6).astype("float32"), "length": rng.randint(1, 6, rows).astype("int64")}

    return ["x", "length"], [lstm, gru] + list(last), draw


@network
def translation(fluid):
    """An encoder, and a decoder with beam search in a While, as the book has them."""
    L = fluid.layers
    dict_size, width, beam, longest = 15, 6, 3, 5
    src = fluid.data("src", [None, 1], "int64", lod_level=1)
    x = L.embedding(src, [dict_size, width], param_attr="vemb")
    encoder, _ = L.dynamic_lstm(L.fc(x, 16, act="tanh"), 16)
    context = L.sequence_last_step(encoder)
    init_ids = fluid.data("init_ids", [None, 1], "int64", lod_level=2)
    init_scores = fluid.data("init_scores", [None, 1], "float32", lod_level=2)
    array_len = L.fill_constant([1], "int64", longest)
    counter = L.zeros([1], "int64", force_cpu=True)
    state = L.fc(context, 4, act="tanh")
    states = L.create_array("float32")
    L.array_write(state, counter, states)
    ids, scores = L.create_array("int64"), L.create_array("float32")
    L.array_write(init_ids, counter, ids)
    L.array_write(init_scores, counter, scores)
    cond = L.less_than(counter, array_len)
    loop = L.While(cond)
    with loop.block():
        pre_ids, pre_state = L.array_read(ids, counter), L.array_read(states, counter)
        pre_score = L.array_read(scores, counter)
        expanded = L.sequence_expand(pre_state, pre_score)
        words_ = L.embedding(pre_ids, [dict_size, width], param_attr="vemb")
        current = L.fc([expanded, words_], 4, act="tanh")
        score = L.fc(L.lod_reset(current, pre_score), dict_size, act="softmax")
        best, index = L.topk(score, 4)
        total = L.elementwise_add(L.log(best), L.reshape(pre_score, [-1]), axis=0)
        chosen, chosen_scores = L.beam_search(pre_ids, pre_score, index, total, beam, end_id=10, level=0)
        L.increment(counter, 1, in_place=True)
        L.array_write(current, counter, states)
        L.array_write(chosen, counter, ids)
        L.array_write(chosen_scores, counter, scores)
        length_cond = L.less_than(counter, array_len)
        going = L.logical_not(L.is_empty(chosen))
        L.logical_and(length_cond, going, out=cond)
    out_ids, out_scores = L.beam_search_decode(ids, scores, beam, end_id=10)

    def draw(rng, rows):
        lod = [[1] * rows, [1] * rows]
        return {"src": words(rng, rows, dict_size), "init_ids": (np.ones((rows, 1), "int64"), lod),
                "init_scores": (np.ones((rows, 1), "float32"), lod)}

    return ["src", "init_ids", "init_scores"], [out_ids, out_scores], draw


@network
def volumes(fluid):
    L = fluid.layers
    x = fluid.data("x", [None, 4, 2, 4, 4], "float32")
    img = fluid.data("img", [None, 4, 6, 8], "float32")
    a = L.conv3d(x, 6, 3, stride=[1, 2, 1], padding=1, groups=2, use_cudnn=False)
    b = L.conv3d_transpose(x, 2, filter_size=2, stride=2, use_cudnn=False)
    c = L.pool3d(x, 2, "avg", 2, ceil_mode=True)
    d = L.adaptive_pool3d(x, [2, 3, 1], "max")
    e = L.conv2d_transpose(img, 4, filter_size=3, stride=2, padding=1, groups=4, use_cudnn=False)
    scale = L.create_parameter([4], "float32", name="scale")
    f = L.affine_channel(img, scale, L.create_parameter([4], "float32", name="shift"))
    g = L.space_to_depth(img, 2)
    h, _ = L.density_prior_box(g, img, densities=[2, 1], fixed_sizes=[2.0, 4.0], fixed_ratios=[1.0], clip=True)
    small = L.reduce_mean(img, [1], keep_dim=True)
    i = L.expand_as(small, img)

    def draw(rng, rows):
        return {"x": coarse(rng, rows, 4, 2, 4, 4), "img": coarse(rng, rows, 4, 6, 8)}

    return ["x", "img"], [a, b, c, d, e, f, g, h, i], draw


@network
def cells(fluid):
    L = fluid.layers
    x = fluid.data("x", [None, 4], "float32")
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    which = fluid.data("which", [None, 1], "int32")
    h = L.fc(x, 4)
    hidden, reset, gate = L.gru_unit(L.fc(x, 12), h, 12)
    new_h, new_c = L.lstm_unit(x, h, h * 0.5, forget_bias=1.0)
    wide = L.fc(L.embedding(data, [20, 5]), 16)
    projected, cell = L.dynamic_lstmp(wide, 16, 3, use_peepholes=True, is_reverse=True, cell_clip=0.4, proj_clip=0.3)
    plain, _ = L.dynamic_lstm(wide, 16, use_peepholes=False, gate_activation="sigmoid", candidate_activation="relu")
    origin = L.dynamic_gru(L.fc(plain, 12), 4, origin_mode=True, h_0=None)
    normal = L.data_norm(x)
    chosen = L.multiplex([x, h, normal], which)
    array = L.array_write(x, L.fill_constant([1], "int64", 0))
    count = L.array_length(array)

    def draw(rng, rows):
        return {"x": rng.randn(rows, 4).astype("float32"), "words": words(rng, rows, 20),
                "which": rng.randint(0, 3, (rows, 1)).astype("int32")}

    feeds = ["x", "words", "which"]
    return feeds, [hidden, reset, gate, new_h, new_c, projected, cell, origin, chosen, L.cast(count, "int64")], draw
