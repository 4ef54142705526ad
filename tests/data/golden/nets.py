"""fluid.nets: each network with SGD, output and loss of two steps; parameters drawn from the program's seed."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, Log, finish

L = fluid.layers
N = fluid.nets


def image():
    return fluid.data('x', [None, 1, 8, 8])


def attention(heads):
    q, k, v = [fluid.data(n, [None, 3, 4]) for n in 'qkv']
    return N.scaled_dot_product_attention(L.fc(q, 4, num_flatten_dims=2), k, v, num_heads=heads)


pixels = {'x': wave([2, 1, 8, 8])}
words = {'x': fluid.create_lod_tensor(wave([6, 4]), [[2, 3, 1]], fluid.CPUPlace())}
triple = dict((n, wave([2, 3, 4], scale=i + 1.0)) for i, n in enumerate('qkv'))
CASES = [
    ('conv_pool', lambda: N.simple_img_conv_pool(image(), 3, 3, 2, 2, act='relu'), pixels),
    ('conv_group', lambda: N.img_conv_group(image(), [2, 3], 2, conv_act='relu', conv_with_batchnorm=[True, False],
                                            pool_stride=2), pixels),
    ('sequence', lambda: N.sequence_conv_pool(fluid.data('x', [None, 4], lod_level=1), 3, 3, act='tanh',
                                              pool_type='sqrt'), words),
    ('glu', lambda: N.glu(L.fc(fluid.data('x', [None, 4]), 6)), {'x': wave([3, 4])}),
    ('attention', lambda: attention(1), triple),
    ('two_heads', lambda: attention(2), triple),
]
log = Log()
programs = {}
for tag, build, feed in CASES:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 9
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        out = build()
        loss = L.mean(out)
        fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for step in range(2):
            got = exe.run(main, feed=feed, fetch_list=[out, loss])
            log.add(tag + '/out', np.array(got[0]))
            log.add(tag + '/loss', got[1])
    programs[tag] = main
finish(__file__, __doc__, log, programs, rtol=1e-5, atol=2e-6)
