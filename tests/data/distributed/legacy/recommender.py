"""personalised recommendation, distributed"""
import argparse
import json
import os
import sys
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as layers
import paddle.fluid.nets as nets

IS_SPARSE = True
parser = argparse.ArgumentParser()
parser.add_argument("--role", required=True)
parser.add_argument("--endpoints")
parser.add_argument("--current_endpoint", default="")
parser.add_argument("--trainer_id", type=int, default=0)
parser.add_argument("--trainers", type=int, default=2)
parser.add_argument("--out")
args = parser.parse_args()


def get_usr_combined_features():
    uid = layers.data(name='user_id', shape=[1], dtype='int64')
    usr_emb = layers.embedding(input=uid, dtype='float32', size=[50, 8], param_attr='user_table', is_sparse=IS_SPARSE)
    usr_fc = layers.fc(input=usr_emb, size=8)
    usr_gender_id = layers.data(name='gender_id', shape=[1], dtype='int64')
    usr_gender_emb = layers.embedding(input=usr_gender_id, size=[2, 4], param_attr='gender_table', is_sparse=IS_SPARSE)
    usr_gender_fc = layers.fc(input=usr_gender_emb, size=4)
    concat_embed = layers.concat(input=[usr_fc, usr_gender_fc], axis=1)
    return layers.fc(input=concat_embed, size=16, act="tanh")


def get_mov_combined_features():
    mov_id = layers.data(name='movie_id', shape=[1], dtype='int64')
    mov_emb = layers.embedding(input=mov_id, dtype='float32', size=[70, 8], param_attr='movie_table', is_sparse=IS_SPARSE)
    mov_fc = layers.fc(input=mov_emb, size=8)
    category_id = layers.data(name='category_id', shape=[1], dtype='int64', lod_level=1)
    mov_categories_emb = layers.embedding(input=category_id, size=[18, 8], is_sparse=IS_SPARSE)
    mov_categories_hidden = layers.sequence_pool(input=mov_categories_emb, pool_type="sum")
    mov_title_id = layers.data(name='movie_title', shape=[1], dtype='int64', lod_level=1)
    mov_title_emb = layers.embedding(input=mov_title_id, size=[90, 8], is_sparse=IS_SPARSE)
    mov_title_conv = nets.sequence_conv_pool(input=mov_title_emb, num_filters=8, filter_size=3, act="tanh", pool_type="sum")
    concat_embed = layers.concat(input=[mov_fc, mov_categories_hidden, mov_title_conv], axis=1)
    return layers.fc(input=concat_embed, size=16, act="tanh")


def reader():
    rng = np.random.RandomState(31 * args.trainer_id + 1)
    for i in range(60):
        u, g, m = rng.randint(50), rng.randint(2), rng.randint(70)
        yield [u], [g], [m], rng.randint(0, 18, rng.randint(1, 4)).tolist(), rng.randint(0, 90, rng.randint(3, 7)).tolist(), [float((u + m) % 5 + 1)]


fluid.default_startup_program().random_seed = 11
usr, mov = get_usr_combined_features(), get_mov_combined_features()
inference = layers.cos_sim(X=usr, Y=mov)
scale_infer = layers.scale(x=inference, scale=5.0)
label = layers.data(name='score', shape=[1], dtype='float32')
avg_cost = layers.mean(layers.square_error_cost(input=scale_infer, label=label))
fluid.optimizer.SGD(learning_rate=layers.exponential_decay(0.2, 4, 0.7, staircase=True)).minimize(avg_cost)
place = fluid.CPUPlace()
exe = fluid.Executor(place)
t = fluid.DistributeTranspiler()
t.transpile(args.trainer_id, pservers=args.endpoints, trainers=args.trainers)
if args.role == "pserver":
    pserver_prog = t.get_pserver_program(args.current_endpoint)
    exe.run(t.get_startup_program(args.current_endpoint, pserver_prog))
    exe.run(pserver_prog)
else:
    main_program = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    feed_list = [main_program.global_block().var(n) for n in ('user_id', 'gender_id', 'movie_id', 'category_id', 'movie_title', 'score')]
    feeder = fluid.DataFeeder(feed_list, place)
    losses = []
    for pass_id in range(1):
        for data in paddle.batch(reader, batch_size=10, drop_last=True)():
            outs = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_cost.name])
            losses.append(float(np.array(outs[0])))
    scope = fluid.global_scope()
    names = [p.name for p in main_program.global_block().all_parameters() if 'table' not in p.name and 'embedding' not in p.name]
    json.dump({"losses": losses, "params": {n: np.array(scope.find_var(n).get_tensor()).tolist() for n in names}},
              open(os.path.join(args.out, "trainer-%d.json" % args.trainer_id), "w"))
    exe.close()
