"""Personalised recommendation, after the book: features of users and movies, cosine, square error."""
from __future__ import print_function
import argparse
import math
import os
import sys
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as layers
import paddle.fluid.nets as nets
import paddle.dataset.movielens
from paddle.reader import shuffle, compose, firstn

IS_SPARSE = True
BATCH_SIZE = 8
MAX_USER, MAX_JOB, MAX_AGE, MAX_MOVIE, CATEGORIES, TITLES = 20, 8, len(paddle.dataset.movielens.age_table), 30, 6, 50


def get_usr_combined_features():
    uid = layers.data(name='user_id', shape=[1], dtype='int64')
    usr_emb = layers.embedding(input=uid, dtype='float32', size=[MAX_USER + 1, 8], param_attr='user_table',
                               is_sparse=IS_SPARSE)
    usr_fc = layers.fc(input=usr_emb, size=8)
    usr_gender_id = layers.data(name='gender_id', shape=[1], dtype='int64')
    usr_gender_emb = layers.embedding(input=usr_gender_id, size=[2, 4], param_attr='gender_table',
                                      is_sparse=IS_SPARSE)
    usr_gender_fc = layers.fc(input=usr_gender_emb, size=4)
    usr_age_id = layers.data(name='age_id', shape=[1], dtype="int64")
    usr_age_emb = layers.embedding(input=usr_age_id, size=[MAX_AGE, 4], is_sparse=IS_SPARSE, param_attr='age_table')
    usr_age_fc = layers.fc(input=usr_age_emb, size=4)
    usr_job_id = layers.data(name='job_id', shape=[1], dtype="int64")
    usr_job_emb = layers.embedding(input=usr_job_id, size=[MAX_JOB, 4], param_attr='job_table', is_sparse=IS_SPARSE)
    usr_job_fc = layers.fc(input=usr_job_emb, size=4)
    concat_embed = layers.concat(input=[usr_fc, usr_gender_fc, usr_age_fc, usr_job_fc], axis=1)
    return layers.fc(input=concat_embed, size=16, act="tanh")


def get_mov_combined_features():
    mov_id = layers.data(name='movie_id', shape=[1], dtype='int64')
    mov_emb = layers.embedding(input=mov_id, dtype='float32', size=[MAX_MOVIE + 1, 8], param_attr='movie_table',
                               is_sparse=IS_SPARSE)
    mov_fc = layers.fc(input=mov_emb, size=8)
    category_id = layers.data(name='category_id', shape=[1], dtype='int64', lod_level=1)
    mov_categories_emb = layers.embedding(input=category_id, size=[CATEGORIES, 8], is_sparse=IS_SPARSE)
    mov_categories_hidden = layers.sequence_pool(input=mov_categories_emb, pool_type="sum")
    mov_title_id = layers.data(name='movie_title', shape=[1], dtype='int64', lod_level=1)
    mov_title_emb = layers.embedding(input=mov_title_id, size=[TITLES, 8], is_sparse=IS_SPARSE)
    mov_title_conv = nets.sequence_conv_pool(input=mov_title_emb, num_filters=8, filter_size=3, act="tanh",
                                             pool_type="sum")
    concat_embed = layers.concat(input=[mov_fc, mov_categories_hidden, mov_title_conv], axis=1)
    return layers.fc(input=concat_embed, size=16, act="tanh")


def inference_program():
    inference = layers.cos_sim(X=get_usr_combined_features(), Y=get_mov_combined_features())
    return layers.scale(x=inference, scale=5.0)


def samples(seed, count):
    def reader():
        rng = np.random.RandomState(seed)
        for _ in range(count):
            uid, mid = rng.randint(1, MAX_USER + 1), rng.randint(1, MAX_MOVIE + 1)
            yield [uid, uid % 2, uid % MAX_AGE, uid % MAX_JOB, mid,
                   rng.randint(0, CATEGORIES, rng.randint(1, 4)).tolist(),
                   rng.randint(0, TITLES, rng.randint(3, 7)).tolist(), [float((uid * mid) % 5 + 1)]]
    return reader


def main(args):
    place = fluid.CPUPlace()
    fluid.default_startup_program().random_seed = 19
    scale_infer = inference_program()
    label = layers.data(name='score', shape=[1], dtype='float32')
    square_cost = layers.square_error_cost(input=scale_infer, label=label)
    avg_cost = layers.mean(square_cost)
    test_program = fluid.default_main_program().clone(for_test=True)
    optimizer = fluid.optimizer.SGD(learning_rate=0.05)
    optimizer.minimize(avg_cost)
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    if args.load:
        fluid.io.load_params(exe, args.load)
    feed_order = ['user_id', 'gender_id', 'age_id', 'job_id', 'movie_id', 'category_id', 'movie_title', 'score']
    feed_list = [fluid.default_main_program().global_block().var(name) for name in feed_order]
    feeder = fluid.DataFeeder(feed_list, place)
    train_reader = paddle.batch(firstn(samples(1, 400), 80), batch_size=BATCH_SIZE)
    test_reader = paddle.batch(samples(2, 24), batch_size=BATCH_SIZE)
    average = fluid.average.WeightedAverage()
    for pass_id in range(5):
        for batch_id, data in enumerate(train_reader()):
            outs = exe.run(program=fluid.default_main_program(), feed=feeder.feed(data), fetch_list=[avg_cost])
            average.add(value=outs[0], weight=len(data))
            print("pass %d batch %d cost %.6f average %.6f" % (pass_id, batch_id, float(outs[0]), average.eval()))
            if math.isnan(float(outs[0])):
                sys.exit("got NaN loss, training failed.")
        costs = [exe.run(test_program, feed=feeder.feed(data), fetch_list=[avg_cost.name])[0]
                 for data in test_reader()]
        print("test", "%.5f" % np.array(costs).mean())
    fluid.io.save_params(exe, 'params')
    fluid.io.save_inference_model('model', feed_order[:-1], [scale_infer], exe)
    with fluid.scope_guard(fluid.core.Scope()):
        [inferencer, feed_target_names, fetch_targets] = fluid.io.load_inference_model('model', exe)
        values = [[[1]], [[1]], [[0]], [[5]], [[7]], [[0, 3, 2]], [[10, 9, 8, 7]]]
        feed = {}
        for name, value in zip(feed_target_names, values):
            feed[name] = fluid.create_lod_tensor([list(value[0])] if name in ('category_id', 'movie_title') else
                                                 np.array(value).astype('int64'),
                                                 [[len(value[0])]] if name in ('category_id', 'movie_title') else [],
                                                 place)
        results = exe.run(inferencer, feed=feed, fetch_list=fetch_targets, return_numpy=False)
        print("Predict Rating %.5f" % np.array(results[0])[0])


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--load', default=None)
    main(parser.parse_args())
