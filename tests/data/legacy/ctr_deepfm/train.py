from args import parse_args
import os
import paddle.fluid as fluid
import sys
from network_conf import ctr_deepfm_model
import time
import numpy
import pickle


def write_data(folder, parts, rows):
    if not os.path.isdir(folder):
        os.makedirs(folder)
    rng = numpy.random.RandomState(21)
    for part in range(parts):
        with open(os.path.join(folder, 'part-%d' % part), 'w') as f:
            for _ in range(rows):
                idx = [rng.randint(i * 12, (i + 1) * 12) for i in range(5)]
                value = [1.0] * 3 + list(numpy.round(rng.rand(2), 3))
                label = int((sum(idx) + rng.randint(20)) % 3 == 0)
                f.write('%d\t%s\t%s\n' % (label, ','.join(map(str, idx)), ','.join(map(str, value))))


def train():
    args = parse_args()
    print(sorted(vars(args).items()))
    write_data(args.train_data_dir, 2, 72)
    fluid.default_startup_program().random_seed = 8
    fluid.default_main_program().random_seed = 8
    loss, auc, data_list, predict, auc_states = ctr_deepfm_model(
        args.embedding_size, args.num_field, args.num_feat, args.layer_sizes_dnn, args.act, args.reg)
    test_program = fluid.default_main_program().clone(for_test=True)
    optimizer = fluid.optimizer.SGD(learning_rate=args.lr, regularization=fluid.regularizer.L2DecayRegularizer(args.reg))
    optimizer.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    dataset = fluid.DatasetFactory().create_dataset()
    dataset.set_use_var(data_list)
    pipe_command = 'python criteo_reader.py'
    dataset.set_pipe_command(pipe_command)
    dataset.set_batch_size(args.batch_size)
    dataset.set_thread(args.num_thread)
    train_filelist = [os.path.join(args.train_data_dir, x) for x in sorted(os.listdir(args.train_data_dir))]
    dataset.set_filelist(train_filelist)
    for epoch_id in range(args.num_epoch):
        start = time.time()
        exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset, fetch_list=[loss],
                               fetch_info=['epoch {} batch loss'.format(epoch_id + 1)], print_period=1, debug=False)
        model_dir = os.path.join(args.model_output_dir, 'epoch_' + str(epoch_id + 1))
        fluid.io.save_persistables(executor=exe, dirname=model_dir, main_program=fluid.default_main_program())
        weights = [numpy.abs(numpy.array(fluid.global_scope().find_var(p.name).get_tensor())).sum()
                   for p in fluid.default_main_program().all_parameters()]
        print('epoch %d weights: %s' % (epoch_id + 1, ' '.join('%.5f' % w for w in weights)))
    memory = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    memory.set_use_var(data_list)
    memory.set_pipe_command('python criteo_reader.py')
    memory.set_batch_size(args.batch_size)
    memory.set_thread(1)
    memory.set_filelist(train_filelist[:1])
    memory.load_into_memory()
    print('in memory', memory.get_memory_data_size())
    exe.train_from_dataset(program=fluid.default_main_program(), dataset=memory)
    # Evaluation: reset the statistics, then count over all data.
    for var in auc_states:
        t = fluid.global_scope().find_var(var.name).get_tensor()
        t.set(numpy.zeros(numpy.array(t).shape, 'int64'), fluid.CPUPlace())
    rows = [line.rstrip('\n').split('\t') for path in train_filelist for line in open(path)]
    for start in range(0, len(rows), 8):
        part = rows[start:start + 8]
        feed = {'feat_idx': numpy.array([list(map(int, r[1].split(','))) for r in part]).astype('int64'),
                'feat_value': numpy.array([[float(v) / 2 for v in r[2].split(',')] for r in part]).astype('float32'),
                'label': numpy.array([[int(r[0])] for r in part]).astype('float32')}
        loss_v, auc_v = exe.run(test_program, feed=feed, fetch_list=[loss.name, auc.name])
        print('batch %d loss: %.6f auc: %.6f' % (start // 8, loss_v, auc_v))
    fluid.io.save_inference_model('infer', ['feat_idx', 'feat_value'], [predict], exe, main_program=test_program)


if __name__ == '__main__':
    train()
