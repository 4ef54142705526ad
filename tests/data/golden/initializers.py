"""Every initializer with a seed of its own and with the program's: the values that the startup program gives."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, Log, finish

I = fluid.initializer
CASES = [
    ('constant', I.Constant(0.5), [3, 4]), ('uniform', I.Uniform(-0.2, 0.3, seed=5), [3, 4]),
    ('uniform_program', I.Uniform(), [40]), ('normal', I.Normal(1.0, 0.1, seed=7), [3, 5]),
    ('normal_program', I.Normal(), [41]), ('truncated', I.TruncatedNormal(0.5, 2.0, seed=3), [3, 5]),
    ('truncated_program', I.TruncatedNormal(), [50]), ('xavier', I.Xavier(), [3, 5]),
    ('xavier_conv', I.Xavier(), [4, 3, 2, 2]), ('xavier_normal', I.Xavier(uniform=False, fan_in=4, seed=2), [3, 5]),
    ('msra', I.MSRA(uniform=False), [4, 3, 3, 3]), ('msra_uniform', I.MSRA(uniform=True, fan_in=9, seed=4), [3, 5]),
    ('array', I.NumpyArrayInitializer(wave([2, 3])), [2, 3]),
    ('array_int', I.NumpyArrayInitializer(np.arange(6).reshape(2, 3).astype('int32')), [2, 3]),
    ('diagonal', I.Uniform(-0.1, 0.1, seed=6, diag_num=3, diag_step=5, diag_val=2.0), [3, 5]),
]
log = Log()
main, startup = fluid.Program(), fluid.Program()
main.random_seed = startup.random_seed = 12
with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
    for tag, initializer, shape in CASES:
        fluid.layers.create_parameter(shape, 'int32' if tag == 'array_int' else 'float32', name=tag,
                                      attr=fluid.ParamAttr(name=tag, initializer=initializer))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    for tag, _, _ in CASES:
        log.put(tag, np.array(fluid.global_scope().find_var(tag).get_tensor()))
finish(__file__, __doc__, log, {'startup': startup}, rtol=4e-7, atol=1e-7)
