import paddle.fluid as fluid
from paddle.fluid.initializer import MSRA
from paddle.fluid.param_attr import ParamAttr

__all__ = ['MobileNet']

train_parameters = {"input_size": [3, 16, 16], "learning_strategy": {"name": "cosine_decay"}}


class MobileNet():
    def __init__(self):
        self.params = train_parameters

    def net(self, input, class_dim=5, scale=1.0):
        input = self.conv_bn_layer(input, filter_size=3, channels=3, num_filters=int(8 * scale), stride=2, padding=1)
        input = self.depthwise_separable(input, num_filters1=8, num_filters2=16, num_groups=8, stride=1, scale=scale)
        input = self.depthwise_separable(input, num_filters1=16, num_filters2=16, num_groups=16, stride=2, scale=scale)
        input = fluid.layers.pool2d(input=input, pool_size=0, pool_stride=1, pool_type='avg', global_pooling=True)
        return fluid.layers.fc(input=input, size=class_dim, param_attr=ParamAttr(initializer=MSRA()))

    def conv_bn_layer(self, input, filter_size, num_filters, stride, padding, channels=None, num_groups=1, act='relu',
                      use_cudnn=True):
        conv = fluid.layers.conv2d(
            input=input, num_filters=num_filters, filter_size=filter_size, stride=stride, padding=padding,
            groups=num_groups, act=None, use_cudnn=use_cudnn, param_attr=ParamAttr(initializer=MSRA()), bias_attr=False)
        return fluid.layers.batch_norm(input=conv, act=act)

    def depthwise_separable(self, input, num_filters1, num_filters2, num_groups, stride, scale):
        depthwise_conv = self.conv_bn_layer(
            input=input, filter_size=3, num_filters=int(num_filters1 * scale), stride=stride, padding=1,
            num_groups=int(num_groups * scale), use_cudnn=False)
        return self.conv_bn_layer(
            input=depthwise_conv, filter_size=1, num_filters=int(num_filters2 * scale), stride=1, padding=0)
