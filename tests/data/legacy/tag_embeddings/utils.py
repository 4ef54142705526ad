import numpy as np
import paddle.fluid as fluid


def train_reader(neg):
    def reader():
        r = np.random.RandomState(2)
        for i in range(40):
            n = r.randint(2, 7)
            text = r.randint(0, 60, n)
            yield text, int(text.sum() % 9), i, neg
    return reader


def mapper(sample):
    text, pos, i, neg = sample
    r = np.random.RandomState(i)
    return [int(t) for t in text], [pos], [int(x) for x in r.choice([t for t in range(9) if t != pos], neg, replace=False)]


def lod(data, place):
    lod = [0]
    for d in data:
        lod.append(lod[-1] + len(d))
    res = fluid.LoDTensor()
    res.set(np.concatenate(data, axis=0).astype("int64").reshape([-1, 1]), place)
    res.set_lod([lod])
    return res
