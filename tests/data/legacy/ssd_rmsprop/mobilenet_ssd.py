import paddle.fluid as fluid
from paddle.fluid.initializer import MSRA
from paddle.fluid.param_attr import ParamAttr


class MobileNetSSD:
    def __init__(self, img, num_classes, img_shape, is_train):
        self.img, self.num_classes, self.img_shape, self.is_train = img, num_classes, img_shape, is_train

    def ssd_net(self, scale=.25):
        tmp = self.conv_bn(self.img, 3, int(32 * scale), 2, 1, 3)
        tmp = self.depthwise_separable(tmp, 32, 64, 32, 1, scale)
        tmp = self.depthwise_separable(tmp, 64, 128, 64, 2, scale)
        tmp = self.depthwise_separable(tmp, 128, 256, 128, 2, scale)
        m11 = self.depthwise_separable(tmp, 256, 256, 256, 1, scale)
        m13 = self.depthwise_separable(m11, 256, 512, 256, 2, scale)
        m14 = self.extra_block(m13, 16, 32, 1, 2, scale)
        return fluid.layers.multi_box_head(inputs=[m11, m13, m14], image=self.img, num_classes=self.num_classes, min_ratio=20, max_ratio=90, min_sizes=[12.0, 24.0, 40.], max_sizes=[[], 36.0, 56.], aspect_ratios=[[2.], [2., 3.], [2., 3.]], base_size=self.img_shape[2], offset=0.5, flip=True)

    def conv_bn(self, input, filter_size, num_filters, stride, padding, num_channels=None, num_groups=1, act='relu', use_cudnn=True):
        conv = fluid.layers.conv2d(input, num_filters=num_filters, filter_size=filter_size, stride=stride, padding=padding, groups=num_groups, act=None, use_cudnn=use_cudnn, param_attr=ParamAttr(learning_rate=0.1, initializer=MSRA()), bias_attr=False)
        return fluid.layers.batch_norm(conv, act=act)

    def depthwise_separable(self, input, f1, f2, groups, stride, scale):
        d = self.conv_bn(input, 3, int(f1 * scale), stride, 1, num_groups=int(groups * scale), use_cudnn=False)
        return self.conv_bn(d, 1, int(f2 * scale), 1, 0)

    def extra_block(self, input, f1, f2, groups, stride, scale):
        p = self.conv_bn(input, 1, f1, 1, 0)
        return self.conv_bn(p, 3, f2, 2, 1, num_groups=groups)


def build_mobilenet_ssd(img, num_classes, img_shape, is_train):
    return MobileNetSSD(img, num_classes, img_shape, is_train).ssd_net()
