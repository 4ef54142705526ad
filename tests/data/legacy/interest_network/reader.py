import random, pickle, multiprocessing
import numpy as np
import paddle
def raw(n, seed, items, cats):
    random.seed(seed)
    cat_of = [i % cats for i in range(items)]
    out = []
    for u in range(n):
        k = random.randint(2, 7); base = random.randrange(cats)
        hist = [random.choice([i for i in range(items) if cat_of[i] == base] * 3 + list(range(items))) for _ in range(k)]
        y = random.randint(0, 1)
        tgt = random.choice([i for i in range(items) if (cat_of[i] == base) == bool(y)])
        out.append((hist, [cat_of[h] for h in hist], tgt, cat_of[tgt], float(y)))
    return out
def mapper(s): return s + (len(s[0]),)
def creator(path):
    def reader():
        with open(path, 'rb') as f: data = pickle.load(f)
        for s in data: yield s
    return paddle.reader.xmap_readers(mapper, reader, 2, 10, order=True)
def batches(path, size, group=3):
    """sorts by length inside groups of batches, pads and builds masks, as the public DIN readers did"""
    def r():
        buf = []
        for s in creator(path)():
            buf.append(s)
            if len(buf) == size * group:
                for b in flush(buf): yield b
                buf = []
        for b in flush(buf): yield b
    def flush(buf):
        buf.sort(key=lambda s: s[-1], reverse=True)
        for i in range(0, len(buf), size): yield pad(buf[i:i + size])
    def pad(b):
        m = max(s[-1] for s in b)
        hi = np.array([s[0] + [0] * (m - s[-1]) for s in b], dtype=np.int64); hc = np.array([s[1] + [0] * (m - s[-1]) for s in b], 'int64')
        mask = np.array([[0] * s[-1] + [-1e9] * (m - s[-1]) for s in b], dtype=np.float).reshape(-1, m, 1)
        return hi, hc, np.array([s[2] for s in b]).reshape(-1), np.array([s[3] for s in b]), np.array([s[4] for s in b], 'float32').reshape(-1, 1), mask.astype('float32'), np.full((len(b), m), 1).cumsum(1).astype('int64') * 0 + np.array([s[2] for s in b])[:, None], np.array([[s[-1]] for s in b])
    return r
