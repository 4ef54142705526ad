from __future__ import absolute_import, division, print_function
import os, sys
parent_path = os.path.abspath(os.path.join(__file__, '..'))
if parent_path not in sys.path[1:]:
    sys.path.append(parent_path)
import time, datetime, random, logging, shutil
from collections import deque, OrderedDict
import numpy as np


def set_paddle_flags(**kwargs):
    for key, value in kwargs.items():
        if os.environ.get(key, None) is None:
            os.environ[key] = str(value)


set_paddle_flags(FLAGS_eager_delete_tensor_gb=0)
import paddle.fluid as fluid
from paddle.fluid.optimizer import ExponentialMovingAverage
from det.core.workspace import load_config, merge_config, create, dump_value, global_config
from det.core.cli import ArgsParser
from det.data import RoiDbSource, create_reader
import det.modeling.arch
logging.basicConfig(level=logging.INFO, format='%(asctime)-15s-%(levelname)s: %(message)s')
logger = logging.getLogger(__name__)


class TrainingStats(object):
    def __init__(self, window_size, stats_keys):
        self.stats = {key: deque(maxlen=window_size) for key in stats_keys}

    def update(self, stats):
        for k, v in self.stats.items():
            v.append(stats[k])

    def log(self):
        return ', '.join('{}: {:.5f}'.format(k, np.median(v)) for k, v in self.stats.items())


def load_params(exe, prog, path, ignore_params=[]):
    state = fluid.io.load_program_state(path)
    ignore = set(k for k in state for p in ignore_params if p in k)
    for k in ignore:
        del state[k]
    fluid.io.set_program_state(prog, state)
    return len(state), len(ignore)


def eval_run(exe, program, loader, keys, values):
    results = []
    try:
        loader.start()
        while True:
            outs = exe.run(program, fetch_list=values, return_numpy=False)
            results.append({k: (np.array(v), v.recursive_sequence_lengths()) for k, v in zip(keys, outs)})
    except (StopIteration, fluid.core.EOFException):
        loader.reset()
    return results


def main():
    env = os.environ
    FLAGS.dist = 'PADDLE_TRAINER_ID' in env and 'PADDLE_TRAINERS_NUM' in env
    seed = 5
    random.seed(seed)
    np.random.seed(seed)
    cfg = load_config(FLAGS.config)
    merge_config(FLAGS.opt)
    main_arch = cfg.architecture
    place = fluid.CUDAPlace(0) if cfg.use_gpu else fluid.CPUPlace()
    exe = fluid.Executor(place)
    lr_builder, optim_builder = create('LearningRate'), create('OptimizerBuilder')
    print(dump_value(cfg['YOLOv3Head']['nms']), sorted(cfg.TrainReader)[:3])
    startup_prog, train_prog = fluid.Program(), fluid.Program()
    startup_prog.random_seed = train_prog.random_seed = seed
    fields = ['image', 'gt_bbox', 'gt_class', 'gt_score']
    with fluid.program_guard(train_prog, startup_prog):
        with fluid.unique_name.guard():
            model = create(main_arch)
            feed_vars, train_loader = model.build_inputs(fields=fields)
            train_fetches = model.train(feed_vars)
            loss = train_fetches['loss']
            lr = lr_builder()
            optim_builder(lr).minimize(loss)
            if cfg.use_ema:
                ema = ExponentialMovingAverage(cfg.ema_decay, thres_steps=fluid.layers.learning_rate_scheduler._decay_step_counter())
                ema.update()
    train_keys, train_values = list(train_fetches.keys()) + ['lr'], [v.name for v in train_fetches.values()] + [lr.name]
    eval_prog = fluid.Program()
    with fluid.program_guard(eval_prog, startup_prog):
        with fluid.unique_name.guard():
            model = create(main_arch)
            eval_vars, eval_loader = model.build_inputs(fields=['image', 'im_size', 'im_id'])
            fetches = model.eval(eval_vars)
    eval_prog = eval_prog.clone(True)
    build_strategy = fluid.BuildStrategy()
    build_strategy.fuse_all_optimizer_ops = False
    exec_strategy = fluid.ExecutionStrategy()
    exec_strategy.num_iteration_per_drop_scope = 1
    exe.run(startup_prog)
    compiled_train_prog = fluid.CompiledProgram(train_prog).with_data_parallel(loss_name=loss.name, build_strategy=build_strategy, exec_strategy=exec_strategy)
    compiled_eval_prog = fluid.CompiledProgram(eval_prog)
    start_iter = 0
    if FLAGS.resume_checkpoint:
        fluid.load(train_prog, FLAGS.resume_checkpoint, exe)
        start_iter = int(np.array(fluid.global_scope().find_var('@LR_DECAY_COUNTER@').get_tensor())[0]) // 2
    train_reader = create_reader(RoiDbSource(20, 1), fields, shuffle=True, max_iters=cfg.max_iters - start_iter, **cfg['TrainReader'])
    train_loader.set_sample_list_generator(train_reader, place)
    eval_reader = create_reader(RoiDbSource(7, 2), ['image', 'im_size', 'im_id'], **cfg['EvalReader'])
    eval_loader.set_sample_list_generator(eval_reader, place)
    stats = TrainingStats(3, train_keys)
    train_loader.start()
    for it in range(start_iter, cfg.max_iters):
        outs = exe.run(compiled_train_prog, fetch_list=train_values)
        stats.update({k: np.array(v).mean() for k, v in zip(train_keys, outs)})
        if it % cfg.log_iter == 0:
            print('iter: {}, {}, loss {:.5f}'.format(it, stats.log(), outs[0].mean()))
        if (it > 0 and (it + 1) % cfg.snapshot_iter == 0) or it == cfg.max_iters - 1:
            path = os.path.join(cfg.save_dir, str(it + 1) if it != cfg.max_iters - 1 else 'model_final')
            if not os.path.isdir(cfg.save_dir):
                os.makedirs(cfg.save_dir)
            fluid.save(train_prog, path)
            with ema.apply(exe):
                results = eval_run(exe, compiled_eval_prog, eval_loader, ['bbox'], [fetches['bbox'].name])
            for r in results:
                box, lens = r['bbox']
                print('eval', box.shape, lens, 'score %.5f box %.3f' % (box[:, 1].sum(), np.abs(box[:, 2:]).mean()) if box.shape[1] == 6 else 'none')
    train_loader.reset()
    print('params', load_params(exe, eval_prog, os.path.join(cfg.save_dir, 'model_final'), ['yolo_output']))
    test_prog = fluid.Program()
    with fluid.program_guard(test_prog, fluid.Program()):
        with fluid.unique_name.guard():
            feed_vars, _ = create(main_arch).build_inputs(fields=['image', 'im_size'], use_dataloader=False)
            test_fetches = create(main_arch).test(feed_vars)
    infer_prog = test_prog.clone(True)
    fluid.io.save_inference_model(os.path.join(cfg.save_dir, 'inference'), feeded_var_names=['image', 'im_size'], target_vars=list(test_fetches.values()), executor=exe, main_program=infer_prog, model_filename='__model__', params_filename='__params__')
    prog, feeds, targets = fluid.io.load_inference_model(os.path.join(cfg.save_dir, 'inference'), exe, '__model__', '__params__')
    x = next(eval_reader())
    out = exe.run(prog, feed={'image': np.stack([s[0] for s in x]), 'im_size': np.stack([s[1] for s in x])}, fetch_list=targets, return_numpy=False)[0]
    print('infer', out.recursive_sequence_lengths(), '%.5f' % np.array(out)[:, 1].sum())


if __name__ == '__main__':
    FLAGS = ArgsParser().parse_args()
    main()
