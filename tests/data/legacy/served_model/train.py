"""A model exported and served in every way 1.8 had: predictors with tensors and zero copies, pruned programs, CompiledProgram."""
import os, shutil
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.core import AnalysisConfig, create_paddle_predictor, PaddleTensor, PaddleDType, NativeConfig
r = np.random.RandomState(4)
main, start = fluid.Program(), fluid.Program()
main.random_seed = start.random_seed = 13
with fluid.program_guard(main, start):
    ids = fluid.layers.data('ids', [1], dtype='int64', lod_level=1)
    num = fluid.layers.data('num', [4])
    y = fluid.layers.data('y', [1], dtype='int64')
    e = fluid.layers.embedding(ids, [12, 6])
    pool = fluid.layers.sequence_pool(e, 'sqrt')
    seq = fluid.layers.sequence_conv(e, 3)
    h = fluid.layers.dropout(fluid.layers.fc([pool, num], 8, act='relu'), .5, dropout_implementation='upscale_in_train')
    p = fluid.layers.fc(h, 3, act='softmax')
    top, idx = fluid.layers.topk(p, 2)
    loss = fluid.layers.mean(fluid.layers.cross_entropy(p, y))
    test = main.clone(for_test=True)
    fluid.optimizer.Adam(.05).minimize(loss)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(start)
lens = [2, 3, 1]
I = r.randint(0, 12, (6, 1)).astype('int64')
N = r.rand(3, 4).astype('f')
T = fluid.create_lod_tensor(I, [lens], fluid.CPUPlace())
for i in range(4):
    print('train', i, '%.6f' % exe.run(main, feed={'ids': T, 'num': N, 'y': np.array([[0], [1], [2]])}, fetch_list=[loss])[0][0])
fluid.io.save_inference_model('m', ['ids', 'num'], [p, idx, seq], exe, main)
fluid.io.save_inference_model('m1', ['ids', 'num'], [p], exe, main, model_filename='model', params_filename='params', export_for_deployment=True)
print(len(os.listdir('m')), sorted(os.listdir('m1')), '0.0')
for combined in (False, True):
    c = AnalysisConfig('m1/model', 'm1/params') if combined else AnalysisConfig('m')
    c.disable_gpu()
    c.switch_ir_optim(combined)
    c.switch_use_feed_fetch_ops(not combined)
    c.switch_specify_input_names(True)
    c.set_cpu_math_library_num_threads(1)
    pr = create_paddle_predictor(c)
    print(pr.get_input_names(), len(pr.get_output_names()), '0.0')
    if not combined:
        a, b = PaddleTensor(I.astype('int64')), PaddleTensor(N)
        a.name, b.name, a.lod = 'ids', 'num', [[0, 2, 5, 6]]
        outs = pr.run([a, b])
        for o in outs:
            d = np.array(o.as_ndarray())
            print(o.shape, o.dtype == PaddleDType.FLOAT32, o.lod, '%.5f' % d.sum(), d.ravel()[:3].tolist())
        print(outs[0].data.float_data()[:2])
    else:
        for n in pr.get_input_names():
            t = pr.get_input_tensor(n)
            t.copy_from_cpu(I if n == 'ids' else N)
            if n == 'ids':
                t.set_lod([[0, 2, 5, 6]])
        pr.zero_copy_run()
        o = pr.get_output_tensor(pr.get_output_names()[0])
        print(o.copy_to_cpu().tolist(), o.lod())
        twin = pr.clone() if hasattr(pr, 'clone') else pr
        print(twin is not None)
prog, feeds, fetches = fluid.io.load_inference_model('m', exe)
for q in (prog, fluid.CompiledProgram(prog)):
    o = exe.run(q, feed={'ids': T, 'num': N}, fetch_list=fetches, return_numpy=False)
    print([(v.shape(), v.lod(), '%.5f' % np.array(v).astype('float64').sum()) for v in o])
print([op.type for op in prog.global_block().ops])
print([op.type for op in test._prune([p]).global_block().ops])
print(prog.desc.serialize_to_string() == fluid.Program.parse_from_string(prog.desc.serialize_to_string()).desc.serialize_to_string(), '0.0')
