#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Pairwise matching: DSSM-like towers, hinge loss, multiprocess reader, JSON config."""
import argparse
import json
import multiprocessing
import os
import collections
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers.tensor as tensor_layers
import paddle.fluid.layers.control_flow as cf_layers

CONFIG = {"task_mode": "pairwise", "net": {"emb_dim": 16, "bow_dim": 12, "hidden_dim": 12, "filters": 12,
                                           "window_size_left": 3},
          "loss": {"margin": 0.1}, "optimizer": {"class_name": "AdamOptimizer", "learning_rate": 0.005,
                                                 "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}, "dict_size": 80}


class EmbeddingLayer(object):
    def __init__(self, dict_size, emb_dim, name="emb", padding_idx=None):
        self.dict_size, self.emb_dim, self.name, self.padding_idx = dict_size, emb_dim, name, padding_idx

    def ops(self, input):
        return fluid.layers.embedding(input=input, size=[self.dict_size, self.emb_dim], is_sparse=True,
                                      padding_idx=self.padding_idx,
                                      param_attr=fluid.ParamAttr(name=self.name,
                                                                 initializer=fluid.initializer.Xavier()))


class FCLayer(object):
    def __init__(self, fc_dim, act, name="fc"):
        self.fc_dim, self.act, self.name = fc_dim, act, name

    def ops(self, input):
        return fluid.layers.fc(input=input, size=self.fc_dim,
                               param_attr=fluid.ParamAttr(name="%s.w" % self.name),
                               bias_attr=fluid.ParamAttr(name="%s.b" % self.name), act=self.act, name=self.name)


class CosSimLayer(object):
    def ops(self, x, y):
        return fluid.layers.cos_sim(x, y)


class BOW(object):
    def __init__(self, conf):
        self.conf = conf

    def predict(self, left, right):
        emb = EmbeddingLayer(self.conf["dict_size"], self.conf["net"]["emb_dim"], "emb", padding_idx=0)
        outs = []
        for slot in (left, right):
            e = emb.ops(slot)
            pool = fluid.layers.softsign(fluid.layers.sequence_pool(e, 'sum'))
            conv = fluid.nets.sequence_conv_pool(e, self.conf["net"]["filters"],
                                                 self.conf["net"]["window_size_left"], act='relu', pool_type='max',
                                                 param_attr=fluid.ParamAttr(name="conv.w"),
                                                 bias_attr=fluid.ParamAttr(name='conv.b'))
            h = fluid.layers.concat([pool, conv], axis=1)
            outs.append(FCLayer(self.conf["net"]["bow_dim"], "relu", "fc").ops(h))
        return outs[0], CosSimLayer().ops(outs[0], outs[1])


class HingeLoss(object):
    def __init__(self, conf_dict):
        self.margin = conf_dict["margin"]

    def compute(self, pos, neg):
        loss_margin = tensor_layers.fill_constant_batch_size_like(
            input=pos, shape=[-1, 1], dtype='float32', value=self.margin)
        zero = fluid.layers.fill_constant_batch_size_like(input=pos, shape=[-1, 1], dtype='float32', value=0.0)
        return fluid.layers.reduce_mean(fluid.layers.elementwise_max(
            zero, fluid.layers.elementwise_add(fluid.layers.elementwise_sub(neg, pos), loss_margin)))


def data_creator(part, parts, count=48):
    def reader():
        rng = np.random.RandomState(31)
        for i in range(count):
            left = rng.randint(0, 40, rng.randint(2, 7))
            pos = np.concatenate([left[:3], rng.randint(0, 40, 2)])
            neg = rng.randint(40, 80, rng.randint(2, 7))
            if i % parts == part:
                yield left.tolist(), pos.tolist(), neg.tolist()
    return reader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--config', default='simnet.json')
    parser.add_argument('--epoch', type=int, default=5)
    parser.add_argument('--batch_size', type=int, default=4)
    parser.add_argument('--init_checkpoint', default='')
    args = parser.parse_args()
    if not os.path.exists(args.config):
        json.dump(CONFIG, open(args.config, 'w'), indent=2)
    conf_dict = json.loads(open(args.config).read(), object_pairs_hook=collections.OrderedDict)
    main_prog, startup = fluid.Program(), fluid.Program()
    startup.random_seed = main_prog.random_seed = 17
    net = BOW(conf_dict)
    with fluid.program_guard(main_prog, startup):
        with fluid.unique_name.guard():
            left = fluid.layers.data(name="left", shape=[1], dtype="int64", lod_level=1)
            pos_right = fluid.layers.data(name="pos_right", shape=[1], dtype="int64", lod_level=1)
            neg_right = fluid.layers.data(name="neg_right", shape=[1], dtype="int64", lod_level=1)
            left_feat, pos_score = net.predict(left, pos_right)
            pred = pos_score
            infer_prog = main_prog.clone(for_test=True)
            _, neg_score = net.predict(left, neg_right)
            avg_cost = HingeLoss(conf_dict["loss"]).compute(pos_score, neg_score)
            avg_cost.persistable = True
            correct = fluid.layers.reduce_sum(fluid.layers.cast(fluid.layers.greater_than(pos_score, neg_score),
                                                                'int32'))
            opt = conf_dict["optimizer"]
            fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=1.0))
            getattr(fluid.optimizer, opt["class_name"])(opt["learning_rate"], beta1=opt["beta1"],
                                                        beta2=opt["beta2"], epsilon=opt["epsilon"],
                                                        lazy_mode=False).minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup)
    if args.init_checkpoint:
        fluid.io.load_persistables(exe, args.init_checkpoint, main_prog)
    # One process reads; its samples are sorted so that the order does not depend on the pipe.
    both = paddle.reader.multiprocess_reader([data_creator(0, 2), data_creator(1, 2)], use_pipe=False)

    def ordered():
        for sample in sorted(tuple(map(tuple, s)) for s in both()):
            yield tuple(list(slot) for slot in sample)

    train_reader = paddle.batch(paddle.reader.cache(ordered), args.batch_size)
    feeder = fluid.DataFeeder(place=place, feed_list=[left, pos_right, neg_right], program=main_prog)
    global_step = 0
    for epoch in range(args.epoch):
        losses = []
        for data in train_reader():
            global_step += 1
            cost, hit = exe.run(main_prog, feed=feeder.feed(data), fetch_list=[avg_cost.name, correct])
            losses.append(np.mean(cost))
            print("epoch: %d, step: %d, loss: %.6f, correct: %d" % (epoch, global_step, cost, hit))
        print("epoch: %d, avg loss: %.6f" % (epoch, np.mean(losses)))
        fluid.io.save_persistables(exe, 'model/%d' % epoch, main_prog)
    fluid.io.save_inference_model('infer', ["left", "pos_right"], [left_feat, pred], exe, main_program=infer_prog)


if __name__ == "__main__":
    main()
