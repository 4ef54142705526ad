"""metrics.DetectionMAP and evaluator.DetectionMAP: mAP of each batch and of all batches since the reset."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish

log = Log()
programs = {}
FOUND = [np.array([[1, 0.9, 0.1, 0.1, 0.4, 0.4], [1, 0.6, 0.5, 0.5, 0.9, 0.9], [2, 0.8, 0.2, 0.2, 0.6, 0.6],
                   [1, 0.7, 0.1, 0.1, 0.5, 0.4], [2, 0.3, 0.6, 0.1, 0.9, 0.4]], 'float32'),
         np.array([[2, 0.9, 0.2, 0.2, 0.6, 0.7], [1, 0.4, 0.4, 0.5, 0.9, 0.9], [2, 0.8, 0.7, 0.2, 0.9, 0.6]], 'float32')]
LENGTHS = [[3, 2], [2, 1]]
LABELS = [np.array([[1], [2], [1]], 'int32'), np.array([[2], [1], [2]], 'int32')]
BOXES = [np.array([[0.1, 0.1, 0.4, 0.5], [0.2, 0.2, 0.6, 0.6], [0.1, 0.1, 0.5, 0.5]], 'float32'),
         np.array([[0.2, 0.2, 0.6, 0.6], [0.5, 0.5, 0.9, 0.9], [0.6, 0.2, 0.9, 0.6]], 'float32')]
HARD = [np.array([[0], [0], [1]], 'int32'), np.array([[0], [1], [0]], 'int32')]


def tensor(array, lengths):
    return fluid.create_lod_tensor(array, [lengths], fluid.CPUPlace())


for tag, module, options in (('metrics', fluid.metrics, {}), ('evaluator', fluid.evaluator, {'ap_version': '11point'}),
                             ('easy', fluid.metrics, {'evaluate_difficult': False, 'overlap_threshold': 0.3})):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        found = fluid.layers.data('found', [6], dtype='float32', lod_level=1)
        label = fluid.layers.data('label', [1], dtype='int32', lod_level=1)
        box = fluid.layers.data('box', [4], dtype='float32', lod_level=1)
        hard = fluid.layers.data('hard', [1], dtype='int32', lod_level=1)
        evaluator = module.DetectionMAP(found, label, box, hard, class_num=3, **options)
        now, overall = evaluator.get_map_var()
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        for epoch in range(2):
            evaluator.reset(exe)
            for i in range(2):
                feed = {'found': tensor(FOUND[i], LENGTHS[i]), 'label': tensor(LABELS[i], [2, 1]),
                        'box': tensor(BOXES[i], [2, 1]), 'hard': tensor(HARD[i], [2, 1])}
                got = exe.run(main, feed=feed, fetch_list=[now, overall])
                log.add(tag + '/now', got[0])
                log.add(tag + '/overall', got[1])
    programs[tag] = main
finish(__file__, __doc__, log, programs)
