"""The networks of this folder, narrow versions of well-known ones.

Each function builds one with `fluid` and returns (names to feed, targets, draw): draw(rng, rows) gives the inputs, those
with a LoD as (array, lengths by level).
"""
import numpy as np

NETWORKS = {}


def network(function):
    NETWORKS[function.__name__] = function
    return function


def coarse(rng, *shape):
    """Return values of a few steps, which compress well."""
    return (rng.randint(-4, 5, shape) / 4.0).astype("float32")


def pictures(name, *shape):
    return lambda rng, rows: {name: coarse(rng, rows, *shape)}


def words(rng, rows, high, longest=6):
    lengths = [int(n) for n in rng.randint(1, longest, rows)]
    return rng.randint(0, high, (sum(lengths), 1)).astype("int64"), [lengths]


@network
def lenet(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 1, 28, 28], "float32")
    x = fluid.nets.simple_img_conv_pool(img, 5, 4, 2, 2, act="relu")
    x = fluid.nets.simple_img_conv_pool(x, 5, 6, 2, 2, act="relu")
    x = L.fc(x, 10, act="softmax")
    return ["img"], [x], pictures("img", 1, 28, 28)


def conv_bn(fluid, x, filters, size, stride=1, act="relu", groups=1):
    L = fluid.layers
    x = L.conv2d(x, filters, size, stride, (size - 1) // 2, groups=groups, bias_attr=False, use_cudnn=False)
    return L.batch_norm(x, act=act)


@network
def resnet18(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    x = conv_bn(fluid, img, 4, 7, 2)
    x = L.pool2d(x, 3, "max", 2, 1)
    for stage, filters in enumerate((4, 6, 8, 10)):
        for block in range(2):
            stride = 2 if block == 0 and stage else 1
            short = x
            if stride == 2 or x.shape[1] != filters:
                short = conv_bn(fluid, x, filters, 1, stride, None)
            y = conv_bn(fluid, x, filters, 3, stride)
            x = L.elementwise_add(short, conv_bn(fluid, y, filters, 3, 1, None), act="relu")
    x = L.pool2d(x, pool_type="avg", global_pooling=True)
    return ["img"], [L.fc(x, 10, act="softmax")], pictures("img", 3, 32, 32)


@network
def mobilenet_v1(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    x = conv_bn(fluid, img, 4, 3, 2)
    for filters, stride in ((8, 1), (8, 2), (10, 1), (10, 2), (12, 1)):
        x = conv_bn(fluid, x, x.shape[1], 3, stride, groups=x.shape[1])
        x = conv_bn(fluid, x, filters, 1)
    x = L.pool2d(x, 0, "avg", global_pooling=True)
    return ["img"], [L.fc(x, 10, act="softmax")], pictures("img", 3, 32, 32)


@network
def mobilenet_v2(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    x = conv_bn(fluid, img, 4, 3, 2, "relu6")
    for filters, stride in ((4, 1), (6, 2), (6, 1), (8, 2), (8, 1)):
        y = conv_bn(fluid, x, x.shape[1] * 3, 1, 1, "relu6")
        y = conv_bn(fluid, y, y.shape[1], 3, stride, "relu6", groups=y.shape[1])
        y = conv_bn(fluid, y, filters, 1, 1, None)
        x = L.elementwise_add(x, y) if stride == 1 and filters == x.shape[1] else y
    x = L.pool2d(conv_bn(fluid, x, 12, 1, 1, "relu6"), pool_type="avg", global_pooling=True)
    return ["img"], [L.fc(x, 10)], pictures("img", 3, 32, 32)


@network
def vgg(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    x = img
    for filters, count in ((4, 2), (6, 2), (8, 3)):
        x = fluid.nets.img_conv_group(
            x, [filters] * count, 2, conv_filter_size=3, conv_act="relu", conv_with_batchnorm=True,
            conv_batchnorm_drop_rate=[0.3] * (count - 1) + [0.0], pool_stride=2, pool_type="max", use_cudnn=False)
    x = L.fc(L.dropout(x, 0.5), 12)
    x = L.dropout(L.batch_norm(x, act="relu"), 0.5, dropout_implementation="upscale_in_train")
    return ["img"], [L.fc(x, 10, act="softmax")], pictures("img", 3, 32, 32)


@network
def ssd(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    x = conv_bn(fluid, img, 6, 3, 2)
    a = conv_bn(fluid, x, 8, 3, 2)
    b = conv_bn(fluid, a, 8, 3, 2)
    c = conv_bn(fluid, b, 8, 3, 2)
    locs, confs, box, var = L.multi_box_head(
        inputs=[a, b, c], image=img, base_size=32, num_classes=4, aspect_ratios=[[2.0], [2.0, 3.0], [2.0]],
        min_ratio=20, max_ratio=90, offset=0.5, flip=True, clip=True)
    out = L.detection_output(locs, confs, box, var, nms_threshold=0.45, nms_top_k=60, keep_top_k=30,
                             score_threshold=0.2)
    return ["img"], [out], pictures("img", 3, 32, 32)


@network
def yolov3(fluid):
    L = fluid.layers
    img = fluid.data("img", [None, 3, 32, 32], "float32")
    size = fluid.data("im_size", [None, 2], "int32")
    x = conv_bn(fluid, img, 6, 3, 2, "leaky_relu")
    for _ in range(2):
        x = conv_bn(fluid, x, 8, 3, 2, "leaky_relu")
    deep = conv_bn(fluid, x, 10, 3, 2, "leaky_relu")
    boxes, scores = [], []
    anchors = [10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319]
    route = None
    for i, (block, stride) in enumerate(((deep, 16), (x, 8))):
        if route is not None:
            route = L.resize_nearest(conv_bn(fluid, route, 6, 1, 1, "leaky_relu"), scale=2.0)
            block = L.concat([route, block], axis=1)
        route = conv_bn(fluid, block, 8, 3, 1, "leaky_relu")
        head = L.conv2d(route, 3 * (5 + 3), 1, use_cudnn=False)
        chosen = anchors[6:] if i == 0 else anchors[:6]
        found, score = L.yolo_box(head, size, chosen, 3, 0.01, stride)
        boxes.append(found)
        scores.append(L.transpose(score, [0, 2, 1]))
    out = L.multiclass_nms(L.concat(boxes, 1), L.concat(scores, 2), score_threshold=0.1, nms_top_k=40, keep_top_k=20,
                           nms_threshold=0.45, background_label=-1)

    def draw(rng, rows):
        return {"img": coarse(rng, rows, 3, 32, 32),
                "im_size": rng.randint(40, 90, (rows, 2)).astype("int32")}

    return ["img", "im_size"], [out], draw


@network
def crnn_ctc(fluid):
    L = fluid.layers
    img = fluid.data("pixel", [None, 1, 16, 48], "float32")
    x = fluid.nets.img_conv_group(img, [4, 6], 2, conv_filter_size=3, conv_act="relu", conv_with_batchnorm=True,
                                  pool_stride=2, pool_type="max", use_cudnn=False)
    x = L.im2sequence(x, stride=[1, 1], filter_size=[x.shape[2], 1])
    ahead = L.fc(x, 15, bias_attr=False)
    back = L.fc(x, 15)
    ahead = L.dynamic_gru(ahead, 5, candidate_activation="relu")
    back = L.dynamic_gru(back, 5, is_reverse=True, candidate_activation="relu")
    logits = L.fc([ahead, back], 9)
    return ["pixel"], [logits, L.ctc_greedy_decoder(logits, 8)], pictures("pixel", 1, 16, 48)


@network
def text_conv(fluid):
    L = fluid.layers
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    x = L.embedding(data, [30, 6], is_sparse=True)
    a = fluid.nets.sequence_conv_pool(x, 5, 3, act="tanh", pool_type="sqrt")
    b = fluid.nets.sequence_conv_pool(x, 5, 4, act="tanh", pool_type="max")
    return ["words"], [L.fc([a, b], 2, act="softmax")], lambda rng, rows: {"words": words(rng, rows, 30)}


@network
def stacked_lstm(fluid):
    L = fluid.layers
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    x = L.embedding(data, [30, 6], padding_idx=0)
    inputs = [L.fc(x, 16)]
    inputs.append(L.dynamic_lstm(inputs[0], 16)[0])
    for i in (2, 3):
        fc = L.fc(inputs, 16)
        hidden, _ = L.dynamic_lstm(fc, 16, is_reverse=i % 2 == 0)
        inputs = [fc, hidden]
    tops = [L.sequence_pool(each, "max") for each in inputs]
    last = L.sequence_last_step(inputs[1])
    out = L.fc(tops + [last], 2, act="softmax")
    return ["words"], [out, inputs[1]], lambda rng, rows: {"words": words(rng, rows, 30)}


@network
def gru_crf(fluid):
    L = fluid.layers
    data = fluid.data("words", [None, 1], "int64", lod_level=1)
    x = L.embedding(data, [40, 6])
    for _ in range(2):
        ahead = L.dynamic_gru(L.fc(x, 12), 4)
        back = L.dynamic_gru(L.fc(x, 12), 4, is_reverse=True)
        x = L.concat([ahead, back], 1)
    emission = L.fc(x, 7)
    label = fluid.data("label", [None, 1], "int64", lod_level=1)
    L.linear_chain_crf(emission, label, param_attr=fluid.ParamAttr(name="crfw"))
    path = L.crf_decoding(emission, param_attr=fluid.ParamAttr(name="crfw"))
    return ["words"], [path, emission], lambda rng, rows: {"words": words(rng, rows, 40)}


@network
def transformer(fluid):
    L = fluid.layers
    width, heads, length = 8, 2, 6
    ids = fluid.data("ids", [None, length, 1], "int64")
    place = fluid.data("pos", [None, length, 1], "int64")
    mask = fluid.data("bias", [None, heads, length, length], "float32")
    x = L.scale(L.embedding(ids, [50, width]), width ** 0.5)
    x = L.elementwise_add(x, L.embedding(place, [length, width]))
    x = L.dropout(x, 0.1, dropout_implementation="upscale_in_train")
    for _ in range(2):
        q, key, v = [L.fc(x, width, num_flatten_dims=2, bias_attr=False) for _ in range(3)]
        split = [L.transpose(L.reshape(e, [0, 0, heads, width // heads]), [0, 2, 1, 3]) for e in (q, key, v)]
        product = L.matmul(split[0], split[1], transpose_y=True, alpha=(width // heads) ** -0.5)
        weights = L.dropout(L.softmax(product + mask), 0.1)
        mixed = L.reshape(L.transpose(L.matmul(weights, split[2]), [0, 2, 1, 3]), [0, 0, width])
        x = L.layer_norm(x + L.fc(mixed, width, num_flatten_dims=2), begin_norm_axis=2)
        hidden = L.fc(x, 16, num_flatten_dims=2, act="gelu")
        x = L.layer_norm(x + L.fc(hidden, width, num_flatten_dims=2), begin_norm_axis=2)
    pooled = L.fc(L.squeeze(L.slice(x, [1], [0], [1]), [1]), width, act="tanh")

    def draw(rng, rows):
        return {"ids": rng.randint(0, 50, (rows, length, 1)).astype("int64"),
                "pos": np.tile(np.arange(length).reshape(1, length, 1), (rows, 1, 1)).astype("int64"),
                "bias": np.where(rng.rand(rows, heads, length, length) < 0.2, -1e9, 0).astype("float32")}

    return ["ids", "pos", "bias"], [x, pooled], draw


@network
def word2vec(fluid):
    L = fluid.layers
    names = ["firstw", "secondw", "thirdw", "fourthw"]
    parts = [L.embedding(fluid.data(n, [None, 1], "int64"), [60, 6], param_attr="shared_w") for n in names]
    hidden = L.fc(L.concat(parts, 1), 12, act="sigmoid")
    out = L.fc(hidden, 60, act="softmax")
    return names, [out], lambda rng, rows: {n: rng.randint(0, 60, (rows, 1)).astype("int64") for n in names}


@network
def deepfm(fluid):
    L = fluid.layers
    fields, size, width = 5, 40, 4
    ids = fluid.data("feat_idx", [None, fields, 1], "int64")
    raw = fluid.data("feat_value", [None, fields], "float32")
    value = L.reshape(raw, [-1, fields, 1])
    first = L.reduce_sum(L.reshape(L.embedding(ids, [size, 1]), [-1, fields, 1]) * value, 1)
    vectors = L.reshape(L.embedding(ids, [size, width], padding_idx=-1), [-1, fields, width]) * value
    squared = L.square(L.reduce_sum(vectors, 1))
    second = 0.5 * L.reduce_sum(squared - L.reduce_sum(L.square(vectors), 1), 1, keep_dim=True)
    deep = L.reshape(vectors, [-1, fields * width])
    for n in (8, 6):
        deep = L.fc(deep, n, act="relu")
    predict = L.sigmoid(first + second + L.fc(deep, 1))

    def draw(rng, rows):
        return {"feat_idx": rng.randint(0, size, (rows, fields, 1)).astype("int64"),
                "feat_value": rng.rand(rows, fields).astype("float32")}

    return ["feat_idx", "feat_value"], [predict], draw


@network
def recommender(fluid):
    L = fluid.layers
    names = [("user_id", 20), ("gender_id", 2), ("age_id", 7), ("job_id", 9)]
    users = [L.fc(L.embedding(fluid.data(n, [None, 1], "int64"), [s, 6]), 6) for n, s in names]
    user = L.fc(L.concat(users, 1), 10, act="tanh")
    movie = L.fc(L.embedding(fluid.data("movie_id", [None, 1], "int64"), [30, 6]), 6)
    kinds = fluid.data("category_id", [None, 1], "int64", lod_level=1)
    kinds = L.sequence_pool(L.embedding(kinds, [8, 6]), "sum")
    title = fluid.data("movie_title", [None, 1], "int64", lod_level=1)
    title = fluid.nets.sequence_conv_pool(L.embedding(title, [25, 6]), 6, 3, act="tanh", pool_type="sum")
    movie = L.fc(L.concat([movie, kinds, title], 1), 10, act="tanh")
    scale = L.scale(L.cos_sim(user, movie), 5.0)
    feeds = [n for n, _ in names] + ["movie_id", "category_id", "movie_title"]

    def draw(rng, rows):
        found = {n: rng.randint(0, s, (rows, 1)).astype("int64") for n, s in names + [("movie_id", 30)]}
        found["category_id"] = words(rng, rows, 8)
        found["movie_title"] = words(rng, rows, 25)
        return found

    return feeds, [scale], draw
