import sys
from paddle.fluid.incubate.data_generator import MultiSlotDataGenerator as Base

class Gen(Base):
    def _cfg(self, k):
        self.k = k
    def generate_sample(self, line):
        def it():
            p = line.strip().split('\t')
            yield ('show', [float(p[0])]), ('click', [int(p[1])]), ('dense', [float(v) for v in p[2].split(',')]), ('slot0', [int(x) for x in p[3].split(',')]), ('slot1', [int(x) for x in p[4].split(',')])
        return it
    def generate_batch(self, samples):
        def local_iter():
            for s in samples:
                yield s
        return local_iter

if __name__ == "__main__":
    g = Gen()
    g._cfg(2)
    g.run_from_stdin()
