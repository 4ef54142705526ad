from backbone.net import *
class Deeplab(object):
    def __init__(self, classes, **kw): self.classes = classes
    def __call__(self, x):
        hw = x.shape[2:]
        with scope('entry'): x = conv(x, 8, stride=2)
        feats = []
        for d in 1, 2, 3:
            with scope('aspp%d' % d): feats += conv(conv(x, 8, dilation=d, groups=8), 6, 1),
        with scope('pool'): feats += [fluid.layers.resize_nearest(conv(fluid.layers.adaptive_pool2d(x, 1, 'avg'), 6, 1), out_shape=x.shape[2:])]
        with scope('logit'): y = conv(fluid.layers.dropout(fluid.layers.concat(feats, 1), .1, seed=1), self.classes, 1, bn=False)
        return fluid.layers.interpolate(y, out_shape=hw, resample='BILINEAR', align_corners=True)
