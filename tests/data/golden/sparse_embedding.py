"""Embeddings with padding_idx and repeated ids, dense and sparse gradients, both forms, under four optimizers: the table after 3 steps."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish

L = fluid.layers
OPTIMIZERS = [
    ('sgd', lambda: fluid.optimizer.SGD(0.5)), ('adam', lambda: fluid.optimizer.Adam(0.1)),
    ('lazy_adam', lambda: fluid.optimizer.Adam(0.1, lazy_mode=True)), ('adagrad', lambda: fluid.optimizer.Adagrad(0.1)),
    ('momentum', lambda: fluid.optimizer.Momentum(0.1, 0.9)),
]
log = Log()
for is_sparse in (False, True):
    for form in ('layers', 'input'):
        for name, optimizer in OPTIMIZERS:
            main, startup = fluid.Program(), fluid.Program()
            main.random_seed = startup.random_seed = 5
            with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
                ids = L.data('ids', [1], dtype='int64')
                embedding = L.embedding if form == 'layers' else fluid.embedding
                rows = embedding(ids, [5, 2], is_sparse=is_sparse, padding_idx=2, param_attr='table')
                hidden = L.fc(rows, 3, num_flatten_dims=1 if form == 'layers' else 2)
                loss = L.mean(L.square(hidden))
                optimizer().minimize(loss)
                exe = fluid.Executor(fluid.CPUPlace())
                exe.run(startup)
                for step in range(3):
                    exe.run(main, feed={'ids': np.array([[1], [2], [2], [4], [step]], 'int64')}, fetch_list=[loss])
                key = '%s/%s/%s' % ('sparse' if is_sparse else 'dense', form, name)
                log.put(key, np.array(fluid.global_scope().find_var('table').get_tensor()))
finish(__file__, __doc__, log)
