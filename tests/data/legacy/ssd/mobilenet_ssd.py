import paddle.fluid as fluid
from paddle.fluid.initializer import MSRA
from paddle.fluid.param_attr import ParamAttr


class MobileNetSSD:
    def __init__(self, img, num_classes, img_shape):
        self.img = img
        self.num_classes = num_classes
        self.img_shape = img_shape

    def ssd_net(self, scale=0.5):
        tmp = self.conv_bn(self.img, 3, int(16 * scale), 2, 1, 3)
        tmp = self.depthwise_separable(tmp, 16, 32, 16, 1, scale)
        tmp = self.depthwise_separable(tmp, 32, 32, 32, 2, scale)
        module11 = tmp
        tmp = self.depthwise_separable(tmp, 32, 64, 32, 2, scale)
        module13 = tmp
        module14 = self.extra_block(tmp, 8, 16, 1, 2)
        module15 = self.extra_block(module14, 8, 16, 1, 2)
        mbox_locs, mbox_confs, box, box_var = fluid.layers.multi_box_head(
            inputs=[module11, module13, module14, module15],
            image=self.img,
            num_classes=self.num_classes,
            min_ratio=20, max_ratio=90,
            min_sizes=[6.0, 14.0, 22.0, 30.0],
            max_sizes=[[], 22.0, 30.0, 36.0],
            aspect_ratios=[[2.], [2., 3.], [2., 3.], [2., 3.]],
            base_size=self.img_shape[2], offset=0.5, flip=True)
        return mbox_locs, mbox_confs, box, box_var

    def conv_bn(self, input, filter_size, num_filters, stride, padding, channels=None, num_groups=1, act='relu',
                use_cudnn=True):
        parameter_attr = ParamAttr(learning_rate=0.1, initializer=MSRA())
        conv = fluid.layers.conv2d(input=input, num_filters=num_filters, filter_size=filter_size, stride=stride,
                                   padding=padding, groups=num_groups, act=None, use_cudnn=use_cudnn,
                                   param_attr=parameter_attr, bias_attr=False)
        return fluid.layers.batch_norm(input=conv, act=act)

    def depthwise_separable(self, input, num_filters1, num_filters2, num_groups, stride, scale):
        depthwise_conv = self.conv_bn(input=input, filter_size=3, num_filters=int(num_filters1 * scale),
                                      stride=stride, padding=1, num_groups=int(num_groups * scale), use_cudnn=False)
        return self.conv_bn(input=depthwise_conv, filter_size=1, num_filters=int(num_filters2 * scale), stride=1,
                            padding=0)

    def extra_block(self, input, num_filters1, num_filters2, num_groups, stride):
        pointwise_conv = self.conv_bn(input=input, filter_size=1, num_filters=int(num_filters1), stride=1,
                                      num_groups=int(num_groups), padding=0)
        return self.conv_bn(input=pointwise_conv, filter_size=3, num_filters=int(num_filters2), stride=2,
                            num_groups=int(num_groups), padding=1)


def build_mobilenet_ssd(img, num_classes, img_shape):
    return MobileNetSSD(img, num_classes, img_shape).ssd_net()
