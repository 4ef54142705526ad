"""Legacy programs of real size, written for Fluid 1.8.5 and fluidio alike; `training_torch.py` has them in PyTorch.

Each function takes the module `fluid`, builds the program, and returns (loss, batches).
"""

import numpy as np

RNG = np.random.RandomState(0)


def images(size, classes, batch):
    """Return batches of random images with labels, for the variables that `image_input` makes."""
    return [
        {
            "image": RNG.rand(batch, 3, size, size).astype("float32"),
            "label": RNG.randint(0, classes, (batch, 1)).astype("int64"),
        }
        for _ in range(4)
    ]


def image_input(fluid, size):
    image = fluid.layers.data("image", [3, size, size])
    return image, fluid.layers.data("label", [1], dtype="int64")


def classify(fluid, features, label, classes):
    prediction = fluid.layers.fc(features, classes, act="softmax")
    return fluid.layers.mean(fluid.layers.cross_entropy(prediction, label))


def conv_norm(fluid, x, filters, size, stride=1, act="relu"):
    x = fluid.layers.conv2d(x, filters, size, stride=stride, padding=(size - 1) // 2, bias_attr=False)
    return fluid.layers.batch_norm(x, act=act)


def residual(fluid, x, branch, filters, stride, project):
    shortcut = conv_norm(fluid, x, filters, 1, stride, None) if project else x
    return fluid.layers.relu(fluid.layers.elementwise_add(shortcut, branch))


def resnet_cifar(fluid):
    """ResNet-20 on 32 x 32 images, batches of 64, Momentum."""
    x, label = image_input(fluid, 32)
    x = conv_norm(fluid, x, 16, 3)
    for filters in (16, 32, 64):
        for block in range(3):
            stride = 2 if filters > 16 and block == 0 else 1
            branch = conv_norm(fluid, conv_norm(fluid, x, filters, 3, stride), filters, 3, 1, None)
            x = residual(fluid, x, branch, filters, stride, stride > 1)
    x = fluid.layers.pool2d(x, pool_type="avg", global_pooling=True)
    loss = classify(fluid, x, label, 10)
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss, images(32, 10, 64)


def vgg_cifar(fluid):
    """Ten convolutions with batch normalisation on 32 x 32 images, batches of 32, Adam."""
    x, label = image_input(fluid, 32)
    for filters, count in ((64, 2), (128, 2), (256, 3), (512, 3)):
        x = fluid.nets.img_conv_group(
            x,
            conv_num_filter=[filters] * count,
            conv_filter_size=3,
            conv_padding=1,
            conv_act="relu",
            conv_with_batchnorm=True,
            pool_size=2,
            pool_stride=2,
            pool_type="max",
        )
    x = fluid.layers.fc(fluid.layers.dropout(x, 0.5), 512, act="relu")
    loss = classify(fluid, x, label, 10)
    fluid.optimizer.Adam(1e-3).minimize(loss)
    return loss, images(32, 10, 32)


def resnet50(fluid):
    """ResNet-50 on 224 x 224 images, batches of 4, Momentum."""
    x, label = image_input(fluid, 224)
    x = fluid.layers.pool2d(conv_norm(fluid, x, 64, 7, 2), 3, "max", 2, 1)
    for filters, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(count):
            stride = 2 if filters > 64 and block == 0 else 1
            branch = conv_norm(fluid, conv_norm(fluid, x, filters, 1), filters, 3, stride)
            branch = conv_norm(fluid, branch, 4 * filters, 1, 1, None)
            x = residual(fluid, x, branch, 4 * filters, stride, block == 0)
    x = fluid.layers.pool2d(x, pool_type="avg", global_pooling=True)
    loss = classify(fluid, x, label, 1000)
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss, images(224, 1000, 4)


def attention(fluid, x, size, heads):
    layers, each = fluid.layers, size // heads

    def split(projected):
        return layers.transpose(layers.reshape(projected, [0, 0, heads, each]), [0, 2, 1, 3])

    query, key, value = (split(layers.fc(x, size, num_flatten_dims=2, bias_attr=False)) for _ in range(3))
    weights = layers.softmax(layers.matmul(query, key, transpose_y=True, alpha=each**-0.5))
    weights = layers.dropout(weights, 0.1, dropout_implementation="upscale_in_train")
    joined = layers.reshape(layers.transpose(layers.matmul(weights, value), [0, 2, 1, 3]), [0, 0, size])
    return layers.fc(joined, size, num_flatten_dims=2, bias_attr=False)


def transformer(fluid):
    """Four encoder layers of width 256 with 8 heads, 16 sentences of 64 words from 8,000, Adam."""
    layers, length, size, words = fluid.layers, 64, 256, 8000
    word = layers.data("word", [length, 1], dtype="int64")
    label = layers.data("label", [length, 1], dtype="int64")
    x = layers.embedding(word, [words, size])
    for _ in range(4):
        x = layers.layer_norm(layers.elementwise_add(x, attention(fluid, x, size, 8)), begin_norm_axis=2)
        wide = layers.fc(x, 4 * size, num_flatten_dims=2, act="relu")
        x = layers.layer_norm(layers.elementwise_add(x, layers.fc(wide, size, num_flatten_dims=2)), begin_norm_axis=2)
    logits = layers.reshape(layers.fc(x, words, num_flatten_dims=2), [-1, words])
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, layers.reshape(label, [-1, 1])))
    fluid.optimizer.Adam(1e-3).minimize(loss)
    drawn = [{n: RNG.randint(0, words, (16, length, 1)).astype("int64") for n in ("word", "label")} for _ in range(4)]
    return loss, drawn


def ragged(fluid, lengths, limit):
    ids = RNG.randint(0, limit, (sum(lengths), 1)).astype("int64")
    return fluid.create_lod_tensor(ids, [lengths], fluid.CPUPlace())


def gru_seq(fluid):
    """A language model: one GRU of 256, 32 sentences of 5 to 20 words from 10,000, Adagrad, sparse embedding."""
    layers, words = fluid.layers, 10000
    word = layers.data("word", [1], dtype="int64", lod_level=1)
    follows = layers.data("next", [1], dtype="int64", lod_level=1)
    hidden = layers.dynamic_gru(layers.fc(layers.embedding(word, [words, 256], is_sparse=True), 768), 256)
    loss = classify(fluid, hidden, follows, words)
    fluid.optimizer.Adagrad(0.1).minimize(loss)
    batches = []
    for _ in range(4):
        lengths = RNG.randint(5, 20, 32).tolist()
        batches.append({"word": ragged(fluid, lengths, words), "next": ragged(fluid, lengths, words)})
    return loss, batches


def lstm_text(fluid, **gates):
    """Three LSTMs of 128 over 32 sentences of 20 to 120 words, Adagrad; as in 1.8.5, only the output gate trains."""
    layers = fluid.layers
    word = layers.data("word", [1], dtype="int64", lod_level=1)
    label = layers.data("label", [1], dtype="int64")
    x = layers.fc(layers.embedding(word, [5000, 128]), 512)
    hidden, _ = layers.dynamic_lstm(x, 512, use_peepholes=False, **gates)
    for reverse in (True, False):
        hidden, _ = layers.dynamic_lstm(
            layers.fc([x, hidden], 512), 512, is_reverse=reverse, use_peepholes=False, **gates
        )
    pooled = [layers.sequence_pool(hidden, "max"), layers.sequence_pool(x, "max")]
    loss = classify(fluid, pooled, label, 2)
    fluid.optimizer.Adagrad(0.01).minimize(loss)
    batches = []
    for _ in range(4):
        lengths = RNG.randint(20, 120, 32).tolist()
        batches.append({"word": ragged(fluid, lengths, 5000), "label": RNG.randint(0, 2, (32, 1)).astype("int64")})
    return loss, batches


def lstm_all_gates(fluid):
    """The same with all gates trained, as PyTorch does."""
    return lstm_text(fluid, all_gates=True)


def ctr_deepfm(fluid):
    """DeepFM: 26 fields in tables of a million rows, three layers of 400, batches of 1,000, lazy Adam."""
    layers, fields, size, rows = fluid.layers, 26, 10, 1000000
    ids = layers.data("ids", [fields, 1], dtype="int64")
    dense = layers.data("dense", [13])
    label = layers.data("label", [1])

    def table(width):
        start = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.01))
        return layers.embedding(ids, [rows, width], is_sparse=True, param_attr=start)

    each = layers.reshape(table(size), [-1, fields, size])
    linear = layers.reduce_sum(layers.reshape(table(1), [-1, fields]), 1, keep_dim=True)
    whole = layers.square(layers.reduce_sum(each, 1))
    pairs = 0.5 * layers.reduce_sum(whole - layers.reduce_sum(layers.square(each), 1), 1, keep_dim=True)
    deep = layers.concat([layers.reshape(each, [-1, fields * size]), dense], 1)
    for _ in range(3):
        deep = layers.fc(deep, 400, act="relu")
    chance = layers.sigmoid(linear + pairs + layers.fc(deep, 1))
    loss = layers.mean(layers.log_loss(chance, label))
    fluid.optimizer.Adam(1e-3, lazy_mode=True).minimize(loss)
    batches = [
        {
            "ids": RNG.randint(0, rows, (1000, fields, 1)).astype("int64"),
            "dense": RNG.rand(1000, 13).astype("float32"),
            "label": RNG.randint(0, 2, (1000, 1)).astype("float32"),
        }
        for _ in range(4)
    ]
    return loss, batches


MODELS = {
    function.__name__: function
    for function in (
        resnet_cifar,
        vgg_cifar,
        resnet50,
        transformer,
        gru_seq,
        ctr_deepfm,
        lstm_text,
        lstm_all_gates,
    )
}
