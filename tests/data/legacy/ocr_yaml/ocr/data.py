import cv2
import numpy as np


def det_reader(config, seed=3):
    c, h, w = config['Global']['image_shape']

    def reader():
        rng = np.random.RandomState(seed)
        batch = []
        for _ in range(8):
            im = rng.randint(0, 80, (h, w, 3)).astype(np.uint8)
            shrink, mask = np.zeros((h, w), np.float32), np.ones((h, w), np.float32)
            thr, thr_mask = np.zeros((h, w), np.float32), np.zeros((h, w), np.float32)
            for _ in range(2):
                x, y = rng.randint(4, 36, 2)
                poly = np.array([[x, y], [x + 20, y + 2], [x + 20, y + 12], [x, y + 10]], np.int32)
                cv2.fillPoly(im, [poly], (220, 220, 220))
                cv2.fillPoly(shrink, [poly + np.array([[3, 2], [-3, 2], [-3, -2], [3, -2]], np.int32)], 1.0)
                cv2.fillPoly(thr_mask, [poly], 1.0)
            mask[:2] = 0
            thr = np.clip(thr_mask - shrink, 0, 1) * 0.4 + 0.3
            im = (im.astype(np.float32) * (1. / 255.) - np.array([0.485, 0.456, 0.406], np.float32)) / np.array([0.229, 0.224, 0.225], np.float32)
            batch.append((im.transpose((2, 0, 1)).astype('float32'), shrink[np.newaxis], mask[np.newaxis], thr[np.newaxis].astype('float32'), thr_mask[np.newaxis]))
            if len(batch) == config['Global']['train_batch_size_per_card']:
                yield batch
                batch = []
    return reader


def rec_reader(config, seed=4):
    c, h, w = config['Global']['image_shape']
    n = config['Global']['char_num']

    def reader():
        rng = np.random.RandomState(seed)
        batch = []
        for _ in range(16):
            text = rng.randint(0, n, rng.randint(2, config['Global']['max_text_length']))
            im = np.zeros((h, w, 3), np.uint8)
            for i, t in enumerate(text):
                im[2 + t % 4 * 3:5 + t % 4 * 3, 2 + i * 8:8 + i * 8, t // 6] = 250
            im = im.astype('float32').transpose((2, 0, 1)) / 255
            im -= 0.5
            im /= 0.5
            batch.append((im, (np.append([0], text + 2)).astype('int32').reshape(-1, 1), np.append(text + 2, [1]).astype('int32').reshape(-1, 1)))
            if len(batch) == config['Global']['train_batch_size_per_card']:
                yield batch
                batch = []
    return reader
