import functools
import math
import random
import numpy as np
import paddle

THREAD = 2
BUF_SIZE = 16
DATA_DIM = 16
img_mean = np.array([0.485, 0.456, 0.406]).reshape((3, 1, 1))
img_std = np.array([0.229, 0.224, 0.225]).reshape((3, 1, 1))


def make_samples(count, seed):
    rng = np.random.RandomState(seed)
    samples = []
    for i in range(count):
        label = i % 5
        img = rng.randint(0, 256, (DATA_DIM + 4, DATA_DIM + 4, 3)).astype('uint8')
        img[:, :, label % 3] //= (label + 1)
        samples.append((img, label))
    return samples


def crop_image(img, size, center):
    height, width = img.shape[:2]
    if center:
        w_start = (width - size) // 2
        h_start = (height - size) // 2
    else:
        w_start = int(img[0, 0, 0]) % (width - size + 1)
        h_start = int(img[0, 0, 1]) % (height - size + 1)
    return img[h_start:h_start + size, w_start:w_start + size, :]


def process_image(sample, mode, flip):
    img, label = sample
    img = crop_image(img, DATA_DIM, center=(mode != 'train'))
    if flip and img[0, 0, 2] > 128:
        img = img[:, ::-1, :]
    img = img.astype('float32').transpose((2, 0, 1)) / 255
    img -= img_mean
    img /= img_std
    return img, label


def _reader_creator(samples, mode, flip=False):
    def reader():
        for sample in samples:
            yield sample

    mapper = functools.partial(process_image, mode=mode, flip=flip)
    return paddle.reader.xmap_readers(mapper, reader, THREAD, BUF_SIZE, order=True)


def train(count):
    return _reader_creator(make_samples(count, 3), 'train', flip=True)


def val(count):
    return _reader_creator(make_samples(count, 4), 'val')
