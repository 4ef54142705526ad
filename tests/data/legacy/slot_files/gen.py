import sys, random
import paddle.fluid.incubate.data_generator as dg

class Dataset(dg.MultiSlotStringDataGenerator):
    def generate_sample(self, line):
        def iter():
            parts = line.strip().split('\t')
            show, click = parts[0], parts[1]
            dense = [str(float(x)) for x in parts[2].split(',')]
            out = [("show", [show]), ("click", [click]), ("dense", dense)]
            for i, s in enumerate(parts[3:]):
                out.append(("slot%d" % i, s.split(',')))
            yield out
        return iter

d = Dataset()
d.set_batch(3)
d.run_from_stdin()
