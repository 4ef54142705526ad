# -*- coding: utf-8 -*-
import gzip, struct, numpy as np
def to_str(s):
    if isinstance(s, unicode): return s.encode('utf-8')
    elif isinstance(s, str): return s
    return str(s)
class Dataset:
    def __init__(self): pass
class CriteoDataset(Dataset):
    def __init__(self, sparse_feature_dim):
        self.cont_min_ = [0, -3, 0]; self.cont_max_ = [20, 600, 100]; self.cont_diff_ = map(lambda (a, b): b - a, zip(self.cont_min_, self.cont_max_)); self.hash_dim_ = sparse_feature_dim; self.continuous_range_ = range(1, 4); self.categorical_range_ = range(4, 8)
    def _reader_creator(self, file_list, is_train, trainer_num, trainer_id):
        def reader():
            for file in file_list:
                with open(file, 'r') as f:
                    line_idx = 0
                    for line in f:
                        line_idx += 1
                        if line_idx % trainer_num != trainer_id: continue
                        features = line.rstrip('\n').split('\t'); dense_feature = []; sparse_feature = []
                        for idx in self.continuous_range_:
                            if features[idx] == '': dense_feature.append(0.0)
                            else: dense_feature.append((float(features[idx]) - self.cont_min_[idx - 1]) / self.cont_diff_[idx - 1])
                        for idx in self.categorical_range_: sparse_feature.append(hash(str(idx) + features[idx]) % self.hash_dim_)
                        yield [dense_feature, sparse_feature, int(features[0])]
        return reader
    def train(self, file_list, trainer_num, trainer_id): return self._reader_creator(file_list, True, trainer_num, trainer_id)
class ImageReader(object):
    def __init__(self, path):
        with gzip.open(path, 'rb') as f:
            magic, n, r, c = struct.unpack('>IIII', f.read(16)); assert magic == 0x803, 'bad magic %d' % magic
            self.data = np.fromstring(f.read(n * r * c), dtype=np.uint8).reshape(n, 1, r, c)
    def images(self): return (self.data / 255.0 * 2.0 - 1.0).astype('float32')
