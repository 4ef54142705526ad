import sys
import paddle.fluid.incubate.data_generator as dg


class CriteoDataset(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def data_iter():
            features = line.rstrip('\n').split('\t')
            feat_idx = map(int, features[1].split(','))
            feat_value = [float(v) / 2 for v in features[2].split(',')]
            label = [int(features[0])]
            yield [('feat_idx', list(feat_idx)), ('feat_value', feat_value), ('label', label)]
        return data_iter


if __name__ == '__main__':
    criteo_dataset = CriteoDataset()
    criteo_dataset.run_from_stdin()
