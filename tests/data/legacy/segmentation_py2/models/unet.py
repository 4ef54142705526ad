from backbone.net import conv, scope
import paddle.fluid as fluid
class Unet:
    def __init__(self, classes, base=6): self.classes, self.base = classes, base
    def __call__(self, x):
        skips = []
        for i in range(2):
            with scope('down%d' % i):
                x = conv(x, self.base << i); skips.append(x); x = fluid.layers.pool2d(x, 2, 'max', 2)
        with scope('mid'): x = conv(x, self.base * 2, dilation=2)
        for i in range(2)[::-1]:
            with scope('up%d' % i):
                x = fluid.layers.resize_bilinear(x, out_shape=skips[i].shape[2:], align_corners=bool(i % 2)); x = fluid.layers.concat([x, skips[i]], 1); x = conv(x, self.base << i)
        with scope('out'): return conv(x, self.classes, 1, bn=False)
