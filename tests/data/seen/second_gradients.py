"""Gradients of gradients: 1.8.5 has some ops for them, and leaves the other paths out."""

from __future__ import annotations

from tests.data.seen.seen import fluid, fresh, layers, numbers, ops, run, tryit

I = fluid.initializer.Constant(0.1)


def _second(f, shape):
    x = fluid.data("x", shape)
    x.stop_gradient = False
    y = f(x)
    first = fluid.gradients([layers.reduce_sum(layers.square(y))], [x])
    second = fluid.gradients([layers.reduce_sum(layers.square(first[0]))], [x])
    grads = [o for o in ops() if o.endswith("grad_grad")]
    return [len(second), grads, run(first + [g for g in second if g is not None], {"x": numbers(*shape)})]


def value_2d():
    r = {}
    fs = dict(
        add=(lambda x: layers.elementwise_add(x * x, x), [2, 3]),
        sub=(lambda x: layers.elementwise_sub(x * x, x), [2, 3]),
        mul=(lambda x: layers.elementwise_mul(x, x), [2, 3]),
        div=(lambda x: layers.elementwise_div(x, x * x + 1.0), [2, 3]),
        conv2d=(lambda x: layers.conv2d(x, 2, 3, param_attr=I), [1, 2, 5, 5]),
        conv3d=(lambda x: layers.conv3d(x, 2, 3, param_attr=I), [1, 2, 5, 5, 5]),
        relu=(lambda x: layers.relu(x - 1.0), [2, 3]),
        leaky=(lambda x: layers.leaky_relu(x - 1.0), [2, 3]),
        square=(layers.square, [2, 3]),
        sqrt=(layers.sqrt, [2, 3]),
        reshape=(lambda x: layers.reshape(layers.square(x), [3, 2]), [2, 3]),
        inorm=(lambda x: layers.instance_norm(x), [2, 3, 4, 4]),
        fc=(lambda x: layers.square(layers.fc(x, 4, param_attr=I)), [2, 3]),
        rsum=(lambda x: layers.reduce_sum(layers.square(x), 1), [2, 3]),
        rmean=(lambda x: layers.reduce_mean(layers.square(x), 1), [2, 3]),
        expand=(lambda x: layers.expand(layers.square(x), [2, 2]), [2, 3]),
        slice=(lambda x: layers.slice(layers.square(x), [0], [0], [1]), [2, 3]),
        matmul=(lambda x: layers.matmul(x, layers.square(x), transpose_y=True), [2, 3]),
        convt=(lambda x: layers.conv2d_transpose(layers.square(x), 2, filter_size=3, param_attr=I), [1, 2, 5, 5]),
        bn=(lambda x: layers.batch_norm(x), [2, 3, 4, 4]),
        tanh=(lambda x: layers.tanh(x), [2, 3]),
        tanh2=(lambda x: layers.tanh(layers.square(x)), [2, 3]),
        sigmoid=(lambda x: layers.sigmoid(layers.square(x)), [2, 3]),
        softmax=(lambda x: layers.softmax(layers.square(x)), [2, 3]),
        lnorm=(lambda x: layers.layer_norm(layers.square(x)), [2, 3]),
        pool=(lambda x: layers.pool2d(layers.square(x), 2, "avg", 2), [1, 1, 4, 4]),
        concat=(lambda x: layers.concat([layers.square(x), x * x], 1), [2, 3]),
        transpose=(lambda x: layers.transpose(layers.square(x), [1, 0]), [2, 3]),
        resize=(lambda x: layers.resize_bilinear(layers.square(x), [8, 8]), [1, 1, 4, 4]),
        exp=(layers.exp, [2, 3]),
        log=(layers.log, [2, 3]),
        abs=(layers.abs, [2, 3]),
        mean=(lambda x: layers.mean(layers.square(x)), [2, 3]),
        scale=(lambda x: layers.scale(layers.square(x), 3.0), [2, 3]),
        sum=(lambda x: layers.sums([layers.square(x), x]), [2, 3]),
        elu=(lambda x: layers.elu(x - 1.0), [2, 3]),
        pow=(lambda x: layers.pow(x, 3.0), [2, 3]),
        ce=(lambda x: layers.cross_entropy(layers.softmax(x), layers.argmax(x, 1)), [2, 3]),
        squeeze=(lambda x: layers.squeeze(layers.square(x), [1]), [2, 1]),
        unsq=(lambda x: layers.unsqueeze(layers.square(x), [1]), [2, 3]),
        stack=(lambda x: layers.stack([layers.square(x), x]), [2, 3]),
        prelu=(lambda x: layers.prelu(x, "all"), [2, 3]),
        clip=(lambda x: layers.clip(layers.square(x), 0.1, 1.0), [2, 3]),
        max=(lambda x: layers.elementwise_max(layers.square(x), x), [2, 3]),
        dropout=(lambda x: layers.dropout(layers.square(x), 0.5, seed=3), [2, 3]),
        flatten=(lambda x: layers.flatten(layers.square(x)), [2, 3]),
        split=(lambda x: layers.split(layers.square(x), 3, 1)[1], [2, 3]),
        pad=(lambda x: layers.pad(layers.square(x), [1, 1, 0, 0]), [2, 3]),
        rmax=(lambda x: layers.reduce_max(layers.square(x), 1), [2, 3]),
        gather=(lambda x: layers.gather(layers.square(x), layers.fill_constant([1], "int32", 1)), [2, 3]),
    )
    for n, (f, s) in fs.items():
        with fresh():
            r[n] = tryit(_second, f, s)
    return r
