"""sequence_conv (filter sizes 3 and 2, padding_start default and given, tanh) on a LoD input, then sequence_pool max, fc softmax,
cross_entropy; SGD; five steps. The window never crosses a sequence boundary."""

import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish, ints, wave

L = fluid.layers


def par(name, shape, phase):
    return fluid.ParamAttr(
        name=name, initializer=fluid.initializer.NumpyArrayInitializer(wave(shape, 0.71, phase, 0.4))
    )


log = Log()
programs = {}
place = fluid.CPUPlace()
exe = fluid.Executor(place)
for tag, size, start in (("f3", 3, None), ("f2", 2, None), ("f4", 4, None), ("f3_start0", 3, 0)):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        x = L.data(name="x", shape=[3], dtype="float32", lod_level=1)
        y = L.data(name="y", shape=[1], dtype="int64")
        conv = L.sequence_conv(
            x,
            num_filters=5,
            filter_size=size,
            padding_start=start,
            act="tanh",
            param_attr=par("k", [size * 3, 5], 0.1),
            bias_attr=par("kb", [5], 0.2),
        )
        prob = L.fc(
            L.sequence_pool(conv, "max"),
            size=3,
            act="softmax",
            param_attr=par("w", [5, 3], 0.3),
            bias_attr=par("b", [3], 0.4),
        )
        loss = L.mean(L.cross_entropy(prob, y))
        fluid.optimizer.SGD(0.3).minimize(loss)
        exe.run(startup)
        for step in range(5):
            lens = [[[2, 4, 3], [1, 5, 3], [3, 3, 3]][step % 3]]
            feed = {
                "x": fluid.create_lod_tensor(wave([9, 3], 0.77, step * 0.3), lens, place),
                "y": ints([3, 1], 3, 2, step),
            }
            got = exe.run(main, feed=feed, fetch_list=[loss, conv, prob, "k@GRAD"], return_numpy=False)
            for key, value in zip(["loss", "conv", "prob", "k_grad"], got):
                log.add(tag + "/" + key, np.array(value))
            log.add(tag + "/conv_lengths", np.array(got[1].recursive_sequence_lengths(), "int64"))
        for p in main.global_block().all_parameters():
            log.put(tag + "/final_" + p.name, np.array(fluid.global_scope().find_var(p.name).get_tensor()))
    programs[tag] = main
finish(__file__, __doc__, log, programs)
