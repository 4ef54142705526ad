"""More programs for `training.py`, after real legacy ones: taggers, embeddings, detectors, attention, loops.

Each is a function that returns (loss, batches), as in `training_cases.py`; `fluid` is given so that one process holds
either Fluid 1.8.5 or fluidio.
"""

import numpy as np


def _sequences(fluid, rng, name, lengths, high, width=1):
    data = rng.randint(0, high, (sum(lengths), width)).astype("int64")
    return {name: fluid.create_lod_tensor(data, [list(lengths)], fluid.CPUPlace())}


def ner_crf(fluid):
    """Two bidirectional GRUs of 64 under a CRF with 57 labels, 32 sentences of 5 - 40 words."""
    layers = fluid.layers
    word = layers.data(name="word", shape=[1], dtype="int64", lod_level=1)
    target = layers.data(name="target", shape=[1], dtype="int64", lod_level=1)
    hidden = layers.embedding(input=word, size=[5000, 64], is_sparse=True)
    for _ in range(2):
        ways = [
            layers.dynamic_gru(input=layers.fc(input=hidden, size=192), size=64, is_reverse=back)
            for back in (False, True)
        ]
        hidden = layers.concat(ways, axis=1)
    emission = layers.fc(input=hidden, size=57)
    cost = layers.linear_chain_crf(input=emission, label=target, param_attr=fluid.ParamAttr(name="crfw"))
    layers.crf_decoding(input=emission, param_attr=fluid.ParamAttr(name="crfw"))
    loss = layers.mean(cost)
    fluid.optimizer.Adam(0.001).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(4):
        lengths = rng.randint(5, 41, 32).tolist()
        batches.append(
            dict(_sequences(fluid, rng, "word", lengths, 5000), **_sequences(fluid, rng, "target", lengths, 57))
        )
    return loss, batches


def tagspace(fluid):
    """Text convolution, tag embeddings, cosine margin; batches of 5, as the original."""
    layers = fluid.layers
    text = layers.data(name="text", shape=[1], dtype="int64", lod_level=1)
    pos = layers.data(name="pos", shape=[1], dtype="int64", lod_level=1)
    neg = layers.data(name="neg", shape=[1], dtype="int64", lod_level=1)
    embedded = layers.embedding(input=text, size=[11447, 10], param_attr="text_emb", is_sparse=True)
    tags = [layers.embedding(input=t, size=[4, 10], param_attr="tag_emb", is_sparse=True) for t in (pos, neg)]
    conv = fluid.nets.sequence_conv_pool(
        input=embedded, num_filters=1000, filter_size=5, act="tanh", pool_type="max", param_attr="cnn"
    )
    hidden = layers.fc(input=conv, size=10, param_attr="text_hid")
    cos_pos = layers.cos_sim(hidden, layers.sequence_pool(tags[0], "sum"))
    pool = layers.sequence_pool(tags[1], "sum")
    cos_neg = layers.cos_sim(hidden, pool)
    margin = layers.fill_constant_batch_size_like(input=cos_neg, shape=[-1, 1], dtype="float32", value=0.1)
    zero = layers.fill_constant_batch_size_like(input=cos_neg, shape=[-1, 1], dtype="float32", value=0.0)
    loss = layers.mean(layers.elementwise_max(zero, margin - (cos_pos - cos_neg)))
    fluid.optimizer.Adagrad(0.01).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(6):
        feed = _sequences(fluid, rng, "text", rng.randint(10, 60, 5).tolist(), 11447)
        feed.update(_sequences(fluid, rng, "pos", [1] * 5, 4))
        feed.update(_sequences(fluid, rng, "neg", [1] * 5, 4))
        batches.append(feed)
    return loss, batches


def word2vec(fluid):
    """Skip-gram with 5 drawn words, sparse SGD, 63641 words of 64, batches of 100."""
    layers = fluid.layers
    names = [layers.data(name=n, shape=[k], dtype="int64") for n, k in (("word", 1), ("true", 1), ("neg", 5))]

    def table(ids, name, width):
        return layers.embedding(input=ids, is_sparse=True, size=[63641, width], param_attr=fluid.ParamAttr(name=name))

    word = table(names[0], "emb", 64)
    true_w, true_b = table(names[1], "emb_w", 64), table(names[1], "emb_b", 1)
    flat = layers.reshape(names[2], [-1, 1])
    flat.stop_gradient = True
    neg_w = layers.reshape(table(flat, "emb_w", 64), [-1, 5, 64])
    neg_b = layers.reshape(table(flat, "emb_b", 1), [-1, 5])
    true_logits = layers.reduce_sum(word * true_w, dim=1, keep_dim=True) + true_b
    drawn = layers.matmul(layers.reshape(word, [-1, 1, 64]), neg_w, transpose_y=True)
    neg_logits = layers.reshape(drawn, [-1, 5]) + neg_b
    ones = layers.fill_constant_batch_size_like(true_logits, [-1, 1], "float32", 1.0)
    zeros = layers.fill_constant_batch_size_like(neg_logits, [-1, 5], "float32", 0.0)
    cost = layers.reduce_sum(layers.sigmoid_cross_entropy_with_logits(true_logits, ones), dim=1)
    cost = cost + layers.reduce_sum(layers.sigmoid_cross_entropy_with_logits(neg_logits, zeros), dim=1)
    loss = layers.reduce_mean(cost)
    fluid.optimizer.SGD(layers.exponential_decay(1.0, 1000, 0.98, staircase=True)).minimize(loss)
    rng = np.random.RandomState(0)
    shapes = (("word", 1), ("true", 1), ("neg", 5))
    batches = [{n: rng.randint(0, 63641, (100, k)).astype("int64") for n, k in shapes} for _ in range(6)]
    return loss, batches


def ssd(fluid):
    """ssd_loss over 1917 prior boxes of a small network, 4 pictures of 96 x 96 with up to 10 boxes."""
    layers = fluid.layers
    image = layers.data(name="image", shape=[3, 96, 96], dtype="float32")
    box = layers.data(name="box", shape=[4], dtype="float32", lod_level=1)
    label = layers.data(name="label", shape=[1], dtype="int32", lod_level=1)
    feature, maps = image, []
    for i, channels in enumerate((16, 32, 64, 64, 64)):
        feature = layers.conv2d(feature, channels, 3, stride=2, padding=1, act="relu")
        if i > 1:
            maps.append(feature)
    locs, confs, boxes, variances = layers.multi_box_head(
        inputs=maps,
        image=image,
        num_classes=21,
        min_sizes=[20.0, 40.0, 60.0],
        max_sizes=[40.0, 60.0, 80.0],
        aspect_ratios=[[2.0], [2.0, 3.0], [2.0, 3.0]],
        base_size=96,
        offset=0.5,
        flip=True,
    )
    loss = layers.reduce_sum(layers.ssd_loss(locs, confs, box, label, boxes, variances))
    fluid.optimizer.Momentum(0.001, 0.9).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(4):
        lengths = rng.randint(1, 11, 4).tolist()
        corner = rng.uniform(0, 0.6, (sum(lengths), 2))
        size = rng.uniform(0.1, 0.4, (sum(lengths), 2))
        corners = np.concatenate([corner, corner + size], axis=1).astype("float32")
        batches.append(
            {
                "image": rng.rand(4, 3, 96, 96).astype("float32"),
                "box": fluid.create_lod_tensor(corners, [lengths], fluid.CPUPlace()),
                "label": fluid.create_lod_tensor(
                    rng.randint(1, 21, (sum(lengths), 1)).astype("int32"), [lengths], fluid.CPUPlace()
                ),
            }
        )
    return loss, batches


def bert(fluid):
    """Four layers of 128 with 8 heads, dropout, masked words of a vocabulary of 8000, 8 x 64, Adam with clipping."""
    layers = fluid.layers
    src = layers.data(name="src", shape=[64, 1], dtype="int64")
    pos = layers.data(name="pos", shape=[64, 1], dtype="int64")
    mask = layers.data(name="mask", shape=[64, 1], dtype="float32")
    mask_pos = layers.data(name="mask_pos", shape=[1], dtype="int64")
    mask_label = layers.data(name="mask_label", shape=[1], dtype="int64")
    wide, heads = 128, 8
    x = layers.embedding(src, size=[8000, wide], param_attr="word_emb") + layers.embedding(pos, size=[64, wide])
    x = layers.dropout(
        layers.layer_norm(x, begin_norm_axis=2), 0.1, dropout_implementation="upscale_in_train", is_test=False
    )
    bias = layers.scale(layers.matmul(mask, mask, transpose_y=True), scale=10000.0, bias=-1.0, bias_after_scale=False)
    bias = layers.stack([bias] * heads, axis=1)
    bias.stop_gradient = True

    def split(y):
        return layers.transpose(layers.reshape(y, [0, 0, heads, wide // heads]), [0, 2, 1, 3])

    def drop(y):
        return layers.dropout(y, 0.1, dropout_implementation="upscale_in_train", is_test=False)

    for _ in range(4):
        q, k, v = (split(layers.fc(x, wide, num_flatten_dims=2)) for _ in range(3))
        weights = drop(layers.softmax(layers.matmul(layers.scale(q, 0.25), k, transpose_y=True) + bias))
        context = layers.reshape(layers.transpose(layers.matmul(weights, v), [0, 2, 1, 3]), [0, 0, wide])
        x = layers.layer_norm(drop(layers.fc(context, wide, num_flatten_dims=2)) + x, begin_norm_axis=2)
        inner = layers.fc(x, wide * 4, num_flatten_dims=2, act="gelu")
        x = layers.layer_norm(drop(layers.fc(inner, wide, num_flatten_dims=2)) + x, begin_norm_axis=2)
    chosen = layers.gather(layers.reshape(x, [-1, wide]), layers.cast(mask_pos, "int32"))
    chosen = layers.layer_norm(layers.fc(chosen, wide, act="gelu"), begin_norm_axis=1)
    table = fluid.default_main_program().global_block().var("word_emb")
    logits = layers.matmul(chosen, table, transpose_y=True)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, mask_label))
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(1.0))
    fluid.optimizer.Adam(0.0001).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(2):
        batches.append(
            {
                "src": rng.randint(0, 8000, (8, 64, 1)).astype("int64"),
                "pos": np.tile(np.arange(64).reshape(1, 64, 1), (8, 1, 1)).astype("int64"),
                "mask": np.ones((8, 64, 1), "float32"),
                "mask_pos": rng.randint(0, 512, (76, 1)).astype("int64"),
                "mask_label": rng.randint(0, 8000, (76, 1)).astype("int64"),
            }
        )
    return loss, batches


def bert_classifier(fluid):
    """Two layers of `bert`'s kind without a mask over the words, three classes, 16 x 32, Adam with decay by hand."""
    layers = fluid.layers
    src = layers.data(name="src", shape=[32, 1], dtype="int64")
    label = layers.data(name="label", shape=[1], dtype="int64")
    wide, heads = 128, 4
    x = layers.layer_norm(layers.embedding(src, size=[8000, wide]), begin_norm_axis=2)
    for _ in range(2):
        q, k, v = (
            layers.transpose(
                layers.reshape(layers.fc(x, wide, num_flatten_dims=2), [0, 0, heads, wide // heads]), [0, 2, 1, 3]
            )
            for _ in range(3)
        )
        weights = layers.softmax(layers.matmul(q, k, transpose_y=True, alpha=0.18))
        context = layers.reshape(layers.transpose(layers.matmul(weights, v), [0, 2, 1, 3]), [0, 0, wide])
        x = layers.layer_norm(layers.fc(context, wide, num_flatten_dims=2) + x, begin_norm_axis=2)
        inner = layers.fc(x, wide * 4, num_flatten_dims=2, act="relu")
        x = layers.layer_norm(layers.fc(inner, wide, num_flatten_dims=2) + x, begin_norm_axis=2)
    first = layers.reshape(layers.slice(x, axes=[1], starts=[0], ends=[1]), [-1, wide])
    logits = layers.fc(layers.fc(first, wide, act="tanh"), 3)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(1.0))
    _, pairs = fluid.optimizer.Adam(0.0001).minimize(loss)
    for param, _ in pairs:
        if not param.name.endswith("b_0"):
            layers.assign(param - param * 1e-6, output=param)
    rng = np.random.RandomState(0)
    words, labels = rng.randint(0, 8000, (2, 16, 32, 1)), rng.randint(0, 3, (2, 16, 1))
    return loss, [{"src": w.astype("int64"), "label": n.astype("int64")} for w, n in zip(words, labels)]


def image_gan(fluid):
    """A generator from picture to picture with two residual blocks, a patch discriminator, 64 x 64.

    With batch_norm: the gradient of instance_norm takes 1.8.5 seconds.
    """
    layers = fluid.layers
    source = layers.data(name="source", shape=[3, 64, 64], dtype="float32")
    target = layers.data(name="target", shape=[3, 64, 64], dtype="float32")

    def conv(x, channels, size, stride=1, relu=True):
        x = layers.conv2d(layers.pad2d(x, [size // 2] * 4, mode="reflect"), channels, size, stride=stride)
        x = layers.batch_norm(x)
        return layers.relu(x) if relu else x

    x = conv(source, 16, 7)
    x = conv(conv(x, 32, 3, 2), 64, 3, 2)
    for _ in range(2):
        x = x + conv(conv(x, 64, 3), 64, 3, relu=False)
    for channels in (32, 16):
        x = layers.conv2d_transpose(x, channels, filter_size=4, stride=2, padding=1)
        x = layers.relu(layers.batch_norm(x))
    fake = layers.tanh(layers.conv2d(layers.pad2d(x, [3] * 4, mode="reflect"), 3, 7))
    judged = fake
    for channels in (32, 64):
        judged = layers.leaky_relu(layers.conv2d(judged, channels, 4, stride=2, padding=1), 0.2)
    judged = layers.conv2d(judged, 1, 4, padding=1)
    close = layers.reduce_mean(layers.abs(fake - target))
    loss = layers.reduce_mean(layers.square(judged - 1.0)) + close * 10.0
    fluid.optimizer.Adam(0.0002, beta1=0.5).minimize(loss)
    rng = np.random.RandomState(0)
    pictures = rng.uniform(-1, 1, (2, 2, 1, 3, 64, 64)).astype("float32")
    return loss, [{"source": a, "target": b} for a, b in pictures]


def decoder(fluid):
    """A decoder with attention in a DynamicRNN, 16 pairs of sentences of 5 - 25 words."""
    layers = fluid.layers
    source = layers.data(name="source", shape=[1], dtype="int64", lod_level=1)
    target = layers.data(name="target", shape=[1], dtype="int64", lod_level=1)
    following = layers.data(name="following", shape=[1], dtype="int64", lod_level=1)
    encoded = layers.dynamic_gru(layers.fc(layers.embedding(source, size=[2000, 64]), 192), 64)
    projected = layers.fc(encoded, 64, bias_attr=False)
    boot = layers.fc(layers.sequence_pool(encoded, "last"), 64, act="tanh")
    words = layers.embedding(target, size=[2000, 64])
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(words)
        vectors = rnn.static_input(encoded)
        keys = rnn.static_input(projected)
        state = rnn.memory(init=boot, need_reorder=True)
        query = layers.sequence_expand(layers.fc(state, 64, bias_attr=False), keys)
        weights = layers.sequence_softmax(layers.fc(layers.tanh(keys + query), 1, bias_attr=False))
        scaled = layers.elementwise_mul(x=vectors, y=layers.reshape(weights, [-1]), axis=0)
        context = layers.sequence_pool(scaled, "sum")
        gates = layers.fc([context, word], 192, bias_attr=False)
        new, _, _ = layers.gru_unit(input=gates, hidden=state, size=192)
        rnn.update_memory(state, new)
        rnn.output(layers.fc(new, 2000, act="softmax"))
    loss = layers.mean(layers.cross_entropy(rnn(), following))
    fluid.optimizer.Adam(0.001).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(2):
        lengths = rng.randint(5, 26, 16).tolist()
        feed = _sequences(fluid, rng, "source", rng.randint(5, 26, 16).tolist(), 2000)
        feed.update(_sequences(fluid, rng, "target", lengths, 2000))
        feed.update(_sequences(fluid, rng, "following", lengths, 2000))
        batches.append(feed)
    return loss, batches


def ctc(fluid):
    """Columns of a picture as a sequence, two GRUs of 100, warpctc over 95 letters; 16 pictures."""
    layers = fluid.layers
    image = layers.data(name="image", shape=[1, 24, 128], dtype="float32")
    letters = layers.data(name="letters", shape=[1], dtype="int32", lod_level=1)
    x = image
    for channels in (16, 32):
        x = layers.conv2d(x, channels, 3, padding=1, act="relu")
        x = layers.pool2d(x, 2, "max", 2)
    x = layers.im2sequence(x, stride=[1, 1], filter_size=[6, 1])
    ways = [layers.dynamic_gru(layers.fc(x, 300), 100, is_reverse=back) for back in (False, True)]
    out = layers.fc(ways, 96)
    loss = layers.reduce_sum(layers.warpctc(input=out, label=letters, blank=95, norm_by_times=True))
    fluid.optimizer.Momentum(0.001, 0.9).minimize(loss)
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(2):
        lengths = rng.randint(3, 10, 16).tolist()
        feed = {"image": rng.rand(16, 1, 24, 128).astype("float32")}
        data = rng.randint(0, 95, (sum(lengths), 1)).astype("int32")
        feed["letters"] = fluid.create_lod_tensor(data, [lengths], fluid.CPUPlace())
        batches.append(feed)
    return loss, batches


def startup(fluid):
    """The start of a table of 62 million values, again and again: the program that draws it."""
    program, scope_program = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, scope_program):
        word = fluid.layers.data(name="word", shape=[1], dtype="int64")
        fluid.layers.embedding(word, size=[968750, 64], param_attr=fluid.initializer.Uniform(-0.1, 0.1))
    return scope_program, [{}]


def _table(fluid, optimizer):
    """A sum over rows drawn from a table of ten million, batches of 1,000 words."""
    word = fluid.layers.data(name="word", shape=[1], dtype="int64")
    constant = fluid.initializer.Constant(0.1)
    rows = fluid.layers.embedding(
        word, size=[10000000, 8], is_sparse=True, param_attr=fluid.ParamAttr(initializer=constant)
    )
    loss = fluid.layers.mean(fluid.layers.square(rows))
    optimizer.minimize(loss)
    rng = np.random.RandomState(0)
    return loss, [{"word": rng.randint(0, 10000000, (1000, 1)).astype("int64")} for _ in range(4)]


def sparse_adam(fluid):
    """Lazy Adam on a table of ten million rows."""
    return _table(fluid, fluid.optimizer.Adam(0.001, lazy_mode=True))


def sparse_adagrad(fluid):
    """Adagrad on a table of ten million rows."""
    return _table(fluid, fluid.optimizer.Adagrad(0.001))


CASES = {
    "ner_crf": ner_crf,
    "tagspace": tagspace,
    "word2vec": word2vec,
    "ssd": ssd,
    "bert": bert,
    "bert_classifier": bert_classifier,
    "image_gan": image_gan,
    "decoder": decoder,
    "ctc": ctc,
    "startup": startup,
    "sparse_adam": sparse_adam,
    "sparse_adagrad": sparse_adagrad,
}
