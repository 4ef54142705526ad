"""More nets of legacy programs: depthwise, transposed and leaky ones, text as an image. `image_torch.py`: in PyTorch.

Each function takes the module `fluid`, builds the program, and returns (loss, batches).
"""

from training_models import RNG, classify, image_input, images


def mobilenet(fluid):
    """MobileNet V1 on 128 x 128 images, batches of 8, Momentum."""
    layers = fluid.layers

    def conv_norm(x, filters, size, stride, groups=1):
        padding = (size - 1) // 2
        x = layers.conv2d(x, filters, size, stride, padding, groups=groups, bias_attr=False)
        return layers.batch_norm(x, act="relu")

    x, label = image_input(fluid, 128)
    x, inputs = conv_norm(x, 32, 3, 2), 32
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2)):
        x = conv_norm(conv_norm(x, inputs, 3, stride, inputs), filters, 1, 1)
        inputs = filters
    loss = classify(fluid, layers.pool2d(x, pool_type="avg", global_pooling=True), label, 1000)
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss, images(128, 1000, 8)


def darknet(fluid):
    """The first stages of YOLOv3's backbone on 160 x 160 images, batches of 4, Momentum."""
    layers = fluid.layers

    def conv_norm(x, filters, size, stride=1):
        x = layers.conv2d(x, filters, size, stride, (size - 1) // 2, bias_attr=False)
        return layers.leaky_relu(layers.batch_norm(x), 0.1)

    x, label = image_input(fluid, 160)
    x = conv_norm(x, 32, 3)
    for filters, count in ((64, 1), (128, 2), (256, 4)):
        x = conv_norm(x, filters, 3, 2)
        for _ in range(count):
            x = layers.elementwise_add(x, conv_norm(conv_norm(x, filters // 2, 1), filters, 3))
    loss = classify(fluid, layers.pool2d(x, pool_type="avg", global_pooling=True), label, 80)
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return loss, images(160, 80, 4)


def unet(fluid):
    """A U-Net of three levels on 96 x 96 images, batches of 4, Adam: a class for each pixel."""
    layers = fluid.layers

    def twice(x, filters):
        for _ in range(2):
            x = layers.batch_norm(layers.conv2d(x, filters, 3, padding=1, bias_attr=False), act="relu")
        return x

    image = layers.data("image", [3, 96, 96])
    label = layers.data("label", [96, 96, 1], dtype="int64")
    x, levels = twice(image, 32), []
    for filters in (64, 128, 256):
        levels.append(x)
        x = twice(layers.pool2d(x, 2, "max", 2), filters)
    for filters in (128, 64, 32):
        x = layers.conv2d_transpose(x, filters, filter_size=2, stride=2)
        x = twice(layers.concat([levels.pop(), x], axis=1), filters)
    logits = layers.transpose(layers.conv2d(x, 8, 1), [0, 2, 3, 1])
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
    fluid.optimizer.Adam(1e-3).minimize(loss)
    batches = [
        {"image": RNG.rand(4, 3, 96, 96).astype("float32"), "label": RNG.randint(0, 8, (4, 96, 96, 1)).astype("int64")}
        for _ in range(4)
    ]
    return loss, batches


def text_image(fluid):
    """Convolutions over 3, 4 and 5 words of 128 numbers, 64 sentences of 60 words from 20,000, Adam."""
    layers = fluid.layers
    word, label = layers.data("word", [60, 1], dtype="int64"), layers.data("label", [1], dtype="int64")
    x = layers.unsqueeze(layers.embedding(word, [20000, 128]), [1])
    found = []
    for words in (3, 4, 5):
        conv = layers.conv2d(x, 100, (words, 128), act="relu")
        found.append(layers.pool2d(conv, pool_type="max", global_pooling=True))
    features = layers.dropout(layers.reshape(layers.concat(found, axis=1), [-1, 300]), 0.5)
    loss = classify(fluid, features, label, 2)
    fluid.optimizer.Adam(1e-3).minimize(loss)
    batches = [
        {
            "word": RNG.randint(0, 20000, (64, 60, 1)).astype("int64"),
            "label": RNG.randint(0, 2, (64, 1)).astype("int64"),
        }
        for _ in range(4)
    ]
    return loss, batches


CASES = {"mobilenet": mobilenet, "darknet": darknet, "unet": unet, "text_image": text_image}
