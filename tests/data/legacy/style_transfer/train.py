"""Style transfer: the image is the parameter, features of a frozen net, Gram matrices, total variation, checkpoints of images."""
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers as L
r = np.random.RandomState(11)
C, S = r.rand(1, 3, 16, 16).astype('f'), r.rand(1, 3, 16, 16).astype('f')


def vgg(x):
    out = []
    for i, c in enumerate((6, 8, 10)):
        for j in range(2):
            x = L.conv2d(x, c, 3, padding=1, act='relu', param_attr=fluid.ParamAttr('c%d%d.w' % (i, j), trainable=False, initializer=fluid.initializer.MSRA(seed=i * 2 + j + 1)), bias_attr=fluid.ParamAttr('c%d%d.b' % (i, j), trainable=False))
        out.append(x)
        x = L.pool2d(x, 2, 'avg', 2)
    return out


def gram(f):
    n, c, h, w = f.shape
    m = L.reshape(f, [c, h * w])
    return L.matmul(m, m, transpose_y=True, alpha=1. / (c * h * w))


feat = fluid.Program(); start0 = fluid.Program()
with fluid.program_guard(feat, start0):
    x = fluid.data('x', [1, 3, 16, 16])
    fs = vgg(x)
    gs = [gram(f) for f in fs]
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start0)
content = exe.run(feat, feed={'x': C}, fetch_list=[fs[1]])[0]
style = exe.run(feat, feed={'x': S}, fetch_list=gs)
main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 3
with fluid.program_guard(main, start):
    img = L.create_parameter([1, 3, 16, 16], 'float32', name='image', default_initializer=fluid.initializer.NumpyArrayInitializer(C))
    fs = vgg(img)
    lc = L.reduce_sum(L.square(fs[1] - L.assign(content)))
    ls = L.sums([L.reduce_sum(L.square(gram(f) - L.assign(s))) for f, s in zip(fs, style)])
    tv = L.reduce_sum(L.abs(L.slice(img, [2], [1], [16]) - L.slice(img, [2], [0], [15]))) + L.reduce_sum(L.abs(img[:, :, :, 1:] - img[:, :, :, :-1]))
    loss = lc + 50. * ls + .01 * tv
    fluid.optimizer.Adam(.02, regularization=None).minimize(loss)
    clipped = L.clip(img, 0., 1.)
    L.assign(clipped, img)
exe.run(start)
for i in range(12):
    l, a, b, c, im = exe.run(main, fetch_list=[loss, lc, ls, tv, clipped])
    print('%d loss %.5f content %.5f style %.6f tv %.5f image %.5f' % (i, l[0], a[0], b[0], c[0], im.sum()))
print([p.name for p in main.all_parameters() if p.trainable], '%.5f' % np.array(fluid.global_scope().find_var('image').get_tensor()).std())
