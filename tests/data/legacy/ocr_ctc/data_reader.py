import os
import numpy as np

NUM_CLASSES = 8
DATA_SHAPE = [1, 16, 32]


class DataGenerator(object):
    def __init__(self, model="crnn_ctc"):
        self.model = model

    def train_reader(self, count, batchsize, cycle, seed=7):
        def reader():
            rng = np.random.RandomState(seed)
            finished = False
            while not finished:
                ret = []
                for i in range(count):
                    label = rng.randint(0, NUM_CLASSES, rng.randint(1, 5)).tolist()
                    img = rng.rand(*DATA_SHAPE).astype('float32')
                    for k, c in enumerate(label):
                        img[0, c, k * 8:k * 8 + 6] += 2.
                    ret.append([img, label])
                    if len(ret) == batchsize:
                        yield ret
                        ret = []
                if not cycle:
                    finished = True
        return reader


def get_attention_or_ctc_feeder_data(data, place, need_label=True):
    pixel = np.stack([d[0] for d in data]).astype('float32')
    import paddle.fluid as fluid
    pixel_tensor = fluid.LoDTensor()
    pixel_tensor.set(pixel, place)
    lens = [len(d[1]) for d in data]
    flat = np.concatenate([d[1] for d in data], axis=0).astype('int32').reshape([-1, 1])
    label = fluid.create_lod_tensor(flat, [lens], place)
    return {"pixel": pixel_tensor, "label": label} if need_label else {"pixel": pixel_tensor}
