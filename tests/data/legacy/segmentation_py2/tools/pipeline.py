"""augmentation as closures; multiprocess reader"""
import random, copy, operator
import numpy as np
from multiprocessing import Process, Queue
__all__ = ['Compose', 'flip', 'crop', 'normalize', 'shapes', 'SegReader']
def Compose(*fs): return lambda s: reduce(lambda acc, f: f(*acc), fs, s)
def flip(rnd):
    def f(img, lab):
        if rnd.random() < .5: img, lab = img[:, :, ::-1], lab[:, ::-1]
        return img, lab
    return f
def crop(rnd, size):
    def f(img, lab):
        h, w = lab.shape
        t, l = rnd.randint(0, h - size), rnd.randrange(0, w - size + 1)
        return img[:, t:t + size, l:l + size], lab[t:t + size, l:l + size]
    return f
def normalize(mean, std): return lambda img, lab: ((img - np.array(mean, 'f').reshape(-1, 1, 1)) / np.array(std, 'f')[:, None, None], lab)
def shapes(n, seed, size=20):
    rnd = random.Random(seed); g = np.mgrid[0:size, 0:size]
    for _ in xrange(n):
        img = np.array([[[rnd.gauss(100, 10)] * size] * size for _ in range(3)], 'float32')
        lab = np.zeros((size, size), np.int)
        for c in 1, 2:
            y, x, r = rnd.randint(4, size - 5), rnd.randint(4, size - 5), rnd.uniform(2, 5)
            m = (abs(g[0] - y) < r) & (abs(g[1] - x) < r) if c == 1 else (g[0] - y) ** 2 + (g[1] - x) ** 2 < r * r
            lab[m] = c; img[c - 1][m] += 90
        lab[0, :] = 255
        yield img, lab
class SegReader:
    def __init__(self, n, seed, fn, workers=1): self.n, self.seed, self.fn, self.workers = n, seed, fn, workers
    def _work(self, q, k):
        for i, s in enumerate(shapes(self.n, self.seed)):
            if i % self.workers == k: q.put((i,) + self.fn(s))
        q.put(None)
    def __call__(self):
        q = Queue(4); ps = [Process(target=self._work, args=(q, k)) for k in range(self.workers)]
        map(lambda p: p.start(), ps)
        left, held, nxt = self.workers, {}, 0
        while left or held:
            if held.has_key(nxt):
                yield held.pop(nxt); nxt += 1
                continue
            got = q.get()
            if got is None: left -= 1
            else: held[got[0]] = got[1:]
        for p in ps: p.join()
