import paddle.fluid as fluid
from contextlib import contextmanager
_scope = ['']
@contextmanager
def scope(name):
    _scope.append(_scope[-1] + name + '/'); yield; _scope.pop()
def conv(x, c, k=3, stride=1, dilation=1, groups=1, act='relu', bn=True):
    n = _scope[-1].replace('/', '.')
    y = fluid.layers.conv2d(x, c, k, stride, (k - 1) / 2 * dilation, dilation, groups, name=n + 'conv' + `k`, bias_attr=not bn and None)
    return fluid.layers.batch_norm(y, act=act, name=n + 'bn', epsilon=1e-3) if bn else y
