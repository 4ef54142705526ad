import argparse
import numpy as np
import paddle
import paddle.fluid as fluid
from nets import tagspace_net, vocab_size, tag_size
import utils

parser = argparse.ArgumentParser("tags of texts")
parser.add_argument('--epochs', type=int, default=3)
parser.add_argument('--neg_size', type=int, default=3)
parser.add_argument('--base_lr', type=float, default=0.05)
args = parser.parse_args()
SEED = 102


def train(args):
    fluid.default_startup_program().random_seed = SEED
    np.random.seed(SEED)
    avg_cost, correct, cos_pos = tagspace_net(vocab_size, tag_size, emb_dim=8, neg_size=args.neg_size)
    sgd_optimizer = fluid.optimizer.Adagrad(learning_rate=fluid.layers.exponential_decay(args.base_lr, 4, 0.8, True))
    fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByNorm(0.5), param_list=['text_emb'])
    sgd_optimizer.minimize(avg_cost)
    ema = fluid.optimizer.ExponentialMovingAverage(0.9, thres_steps=fluid.default_main_program().global_block().var('@LR_DECAY_COUNTER@'))
    ema.update()
    inference = fluid.default_main_program().clone(for_test=True)._prune([cos_pos])
    print(len(inference.global_block().ops), [o.type for o in inference.global_block().ops])
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(fluid.default_startup_program())
    reader = fluid.io.xmap_readers(utils.mapper, utils.train_reader(args.neg_size), 2, 8, order=True)
    reader = paddle.batch(paddle.reader.cache(reader), 8, drop_last=True)
    for epoch in range(args.epochs):
        total, n = 0.0, 0
        for data in reader():
            text = utils.lod([d[0] for d in data], place)
            pos = utils.lod([d[1] for d in data], place)
            neg = np.array([d[2] for d in data]).reshape(len(data), args.neg_size, 1)
            loss, c = exe.run(feed={'text': text, 'pos_tag': pos, 'neg_tag': neg}, fetch_list=[avg_cost.name, correct.name])
            total += loss; n += 1
            print('epoch %d loss %.6f correct %s' % (epoch, loss, c))
        print('mean', '%.6f' % (total / n))
        with ema.apply(exe):
            fluid.io.save_persistables(exe, 'model/epoch_%d' % epoch, inference)
            r = exe.run(inference, feed={'text': text, 'pos_tag': pos}, fetch_list=[cos_pos], return_numpy=False)
            print('ema %.6f' % np.array(r[0]).sum(), r[0].lod())
    names = sorted(v.name for v in fluid.default_main_program().list_vars() if v.persistable and 'ema' in v.name)
    print(names)


train(args)
