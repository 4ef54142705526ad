from __future__ import absolute_import, division, print_function
import os
import sys
__dir__ = os.path.dirname(os.path.abspath(__file__))
sys.path.append(__dir__)
import argparse
import numpy as np
os.environ["FLAGS_eager_delete_tensor_gb"] = '0'
import paddle.fluid as fluid
from ocr.utility import load_config, merge_config, create_module, init_model, dump_char, initial_logger
from ocr.data import det_reader, rec_reader
logger = initial_logger()


def build(config, main_prog, startup_prog, mode):
    with fluid.program_guard(main_prog, startup_prog):
        with fluid.unique_name.guard():
            model = create_module(config['Architecture']['function'])(params=config)
            loader, outputs, feeds = model(mode=mode)
            lr = None
            if mode == 'train':
                opt_loss = outputs['total_loss']
                optimizer = create_module(config['Optimizer']['function'])(config['Optimizer'])
                optimizer.minimize(opt_loss)
                lr = optimizer._global_learning_rate()
                lr.persistable = True
    return loader, outputs, feeds, lr


def run(config):
    g = config['Global']
    is_det = g['algorithm'] == 'DB'
    if not is_det:
        chars, g['char_num'] = dump_char(config)
    startup, train_prog, eval_prog = fluid.Program(), fluid.Program(), fluid.Program()
    startup.random_seed = train_prog.random_seed = 11
    loader, outputs, _, lr = build(config, train_prog, startup, 'train')
    _, eval_outputs, feeds, _ = build(config, eval_prog, fluid.Program(), 'eval')
    eval_prog = eval_prog.clone(for_test=True)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    init_model(config, train_prog, exe, ignore=['rnn_out_fc'])
    reader = (det_reader if is_det else rec_reader)(config)
    loader.set_sample_list_generator(reader, places=place)
    build_strategy = fluid.BuildStrategy()
    build_strategy.memory_optimize = True
    cp = fluid.CompiledProgram(train_prog).with_data_parallel(loss_name=outputs['total_loss'].name, build_strategy=build_strategy)
    names = ['lr'] + list(outputs)
    fetch = [lr.name] + [v.name for v in outputs.values()]
    for epoch in range(g['epoch_num']):
        loader.start()
        step = 0
        try:
            while True:
                outs = dict(zip(names, exe.run(program=cp, fetch_list=fetch, return_numpy=False)))
                words = ['%s: %.5f' % (k, np.mean(np.array(v))) for k, v in outs.items() if k not in ('predict', 'label')]
                if not is_det:
                    prob, lab = np.array(outs['predict']), np.array(outs['label']).ravel()
                    words.append('prob: %.5f %s' % (np.mean(prob[np.arange(len(lab)), lab]), outs['label'].lod()))
                print('epoch: %d, iter: %d, %s' % (epoch, step, ', '.join(words)))
                step += 1
        except fluid.core.EOFException:
            loader.reset()
        path = os.path.join(g['save_model_dir'], 'latest' if epoch else 'iter_epoch_%d' % epoch)
        if not os.path.isdir(g['save_model_dir']):
            os.makedirs(g['save_model_dir'])
        fluid.save(train_prog, path)
    images = np.stack([s[0] for s in next(reader())])
    out, = exe.run(eval_prog, feed={'image': images}, fetch_list=list(eval_outputs.values()))
    print('eval %.5f' % out.mean(), out.shape)
    target = os.path.join(g['save_model_dir'], 'inference')
    fluid.io.save_inference_model(target, feeds, list(eval_outputs.values()), exe, main_program=eval_prog, model_filename='model', params_filename='params')
    conf = fluid.core.AnalysisConfig(target + '/model', target + '/params')
    conf.disable_gpu()
    conf.switch_ir_optim(False)
    conf.switch_use_feed_fetch_ops(False)
    predictor = fluid.core.create_paddle_predictor(conf)
    inp = predictor.get_input_tensor(predictor.get_input_names()[0])
    inp.copy_from_cpu(images[:1].copy())
    predictor.zero_copy_run()
    got = predictor.get_output_tensor(predictor.get_output_names()[0]).copy_to_cpu()
    print('predictor %.5f' % got.mean(), got.shape)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-c', '--config', nargs='*', default=['configs/det_db.yml', 'configs/rec_attn.yml'])
    parser.add_argument('-o', '--opt', nargs='*', default=[])
    args = parser.parse_args()
    for path in args.config:
        config = load_config(path)
        merge_config(config, dict(o.split('=', 1) for o in args.opt))
        run(config)
        if 'rec' in path:
            merge_config(config, {'Global.pretrain_weights': 'output/rec_attn/latest', 'Global.epoch_num': 1})
            run(config)
            config['Global'].update(checkpoints='output/rec_attn/latest', pretrain_weights=None)
            run(config)
