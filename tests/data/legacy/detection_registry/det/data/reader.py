import functools
import traceback
import numpy as np
import paddle


class Compose(object):
    def __init__(self, transforms, ctx=None):
        self.transforms, self.ctx = transforms, ctx

    def __call__(self, data):
        for f in self.transforms:
            try:
                data = f(data, self.ctx)
            except Exception as e:
                print('fail to map op [{}] with error: {} and stack:\n{}'.format(f, e, traceback.format_exc()))
                raise e
        return data


def create_reader(source, fields, sample_transforms, batch_size, worker_num=1, mixup_epoch=-1, shuffle=False, max_iters=None, **kwargs):
    compose = Compose(sample_transforms)

    def _samples():
        epoch = 0
        while True:
            order = np.random.permutation(len(source)) if shuffle else np.arange(len(source))
            for i in order:
                sample = source[i]
                if epoch < mixup_epoch:
                    sample['mixup'] = source[np.random.randint(len(source))]
                yield sample
            epoch += 1
            if not shuffle:
                return

    def _batched():
        batch = []
        for s in map(compose, _samples()):
            batch.append(tuple(s[f] for f in fields))
            if len(batch) == batch_size:
                yield batch
                batch = []
        if batch and not shuffle:
            yield batch

    def _limited():
        for i, b in enumerate(_batched()):
            if max_iters is not None and i >= max_iters:
                return
            yield b
    return paddle.reader.buffered(_limited, 4)
