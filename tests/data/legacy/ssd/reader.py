import numpy as np


class Settings(object):
    def __init__(self, resize_h=32, resize_w=32, mean_value=127.5):
        self.resize_height, self.resize_width = resize_h, resize_w
        self.img_mean = np.array([mean_value] * 3)[:, np.newaxis, np.newaxis].astype('float32')


def train(settings, count, batch_size, shuffle=True, seed=5):
    def reader():
        rng = np.random.RandomState(seed)
        batch_out = []
        for _ in range(count):
            img = rng.randint(0, 255, (3, settings.resize_height, settings.resize_width)).astype('float32')
            boxes, lbls, difficults = [], [], []
            for _ in range(rng.randint(1, 4)):
                x, y = rng.uniform(0, 0.6, 2)
                w, h = rng.uniform(0.2, 0.4, 2)
                c = rng.randint(1, 4)
                boxes.append([x, y, x + w, y + h])
                lbls.append(c)
                difficults.append(int(rng.rand() < 0.2))
                img[c - 1, int(y * 32):int((y + h) * 32), int(x * 32):int((x + w) * 32)] = 255
            img = (img - settings.img_mean) * 0.007843
            batch_out.append((img, np.array(boxes).astype('float32'), np.array(lbls).astype('int32'),
                              np.array(difficults).astype('int32')))
            if len(batch_out) == batch_size:
                yield batch_out
                batch_out = []
    return reader
