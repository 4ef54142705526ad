# -*- coding: utf-8 -*-
import os
import sys
import time
import json
import numpy
import paddle
import paddle.fluid as fluid
import paddle.fluid.profiler as profiler

BATCH_SIZE = 16


def conv_net(img, label):
    conv_pool_1 = fluid.nets.simple_img_conv_pool(input=img, filter_size=5, num_filters=6, pool_size=2, pool_stride=2, act="relu")
    conv_pool_2 = fluid.nets.simple_img_conv_pool(input=conv_pool_1, filter_size=3, num_filters=8, pool_size=2, pool_stride=2, act="relu")
    prediction = fluid.layers.fc(input=conv_pool_2, size=10, act='softmax')
    return prediction, fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))


def train_reader(trainer_id):
    def impl():
        rng = numpy.random.RandomState(5 + trainer_id)
        for i in xrange(64):
            yield rng.rand(256).astype('float32'), rng.randint(0, 10)
    return impl


def append_lr():
    boundaries, values = [3, 6], [0.1, 0.05, 0.01]
    return fluid.layers.piecewise_decay(boundaries=boundaries, values=values)


if __name__ == '__main__':
    out = sys.argv[1]
    fluid.default_startup_program().random_seed = 90
    img = fluid.layers.data(name='img', shape=[1, 16, 16], dtype='float32')
    label = fluid.layers.data(name='label', shape=[1], dtype='int64')
    prediction, avg_cost = conv_net(img, label)
    acc = fluid.layers.accuracy(input=prediction, label=label)
    inference_program = fluid.default_main_program().clone(for_test=True)
    opt = fluid.optimizer.Momentum(learning_rate=append_lr(), momentum=0.9, regularization=fluid.regularizer.L2Decay(1e-4))
    optimize_ops, params_grads = opt.minimize(avg_cost)
    env = dict(os.environ)
    trainer_id = int(env.get('PADDLE_TRAINER_ID', 0))
    if not env.has_key('PADDLE_PSERVER_ENDPOINTS'):
        print 'no endpoints'
        sys.exit(1)
    config = fluid.DistributeTranspilerConfig()
    config.split_method = fluid.transpiler.RoundRobin
    t = fluid.DistributeTranspiler(config=config)
    t.transpile(trainer_id=trainer_id, pservers=env['PADDLE_PSERVER_ENDPOINTS'], trainers=int(env['PADDLE_TRAINERS']))
    exe = fluid.Executor(fluid.CPUPlace())
    if env['PADDLE_TRAINING_ROLE'] == 'PSERVER':
        prog, startup = t.get_pserver_programs(env['CURRENT_ENDPOINT'])
        exe.run(startup)
        exe.run(prog)
        sys.exit(0)
    exe.run(fluid.default_startup_program())
    trainer_program = t.get_trainer_program()
    train_reader = paddle.batch(train_reader(trainer_id), batch_size=BATCH_SIZE)
    feeder = fluid.DataFeeder(feed_list=[img, label], place=fluid.CPUPlace())
    losses = []
    for pass_id in xrange(3):
        start = time.time()
        for batch_id, data in enumerate(train_reader()):
            outs = exe.run(trainer_program, feed=feeder.feed(data), fetch_list=[avg_cost, acc])
            losses.append(float(outs[0]))
            if batch_id % 2 == 0:
                print 'Pass %d, batch %d, loss %f' % (pass_id, batch_id, outs[0])
        print 'pass', pass_id, 'took', time.time() - start
    result = {}
    for p in params_grads:
        result[p[0].name] = numpy.array(fluid.global_scope().find_var(p[0].name).get_tensor()).tolist()
    for name, value in sorted(result.iteritems()):
        print >> sys.stderr, name, numpy.array(value).shape
    with open(os.path.join(out, 'trainer-%d.json' % trainer_id), 'w') as f:
        json.dump({'losses': losses, 'params': result}, f)
    exe.close()
