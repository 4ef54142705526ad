from __future__ import absolute_import
from __future__ import division
from __future__ import print_function
import argparse
import io
import os
import random
import six
import sys
import numpy as np
import paddle
import paddle.fluid as fluid


def str2bool(v):
    return v.lower() in ("true", "t", "1")


class ArgumentGroup(object):
    def __init__(self, parser, title, des):
        self._group = parser.add_argument_group(title=title, description=des)

    def add_arg(self, name, type, default, help, **kwargs):
        type = str2bool if type == bool else type
        self._group.add_argument("--" + name, default=default, type=type, help=help + ' Default: %(default)s.',
                                 **kwargs)


def init_checkpoint(exe, init_checkpoint_path, main_program):
    assert os.path.exists(init_checkpoint_path), "[%s] cann't be found." % init_checkpoint_path

    def existed_persitables(var):
        if not fluid.io.is_persistable(var):
            return False
        return os.path.exists(os.path.join(init_checkpoint_path, var.name))

    fluid.io.load_vars(exe, init_checkpoint_path, main_program=main_program, predicate=existed_persitables)
    print("Load model from {}".format(init_checkpoint_path))


def write_corpus(path, count, vocab, seed):
    rng = np.random.RandomState(seed)
    with io.open(path, 'w', encoding='utf8') as fout:
        for i in range(count):
            label = int(rng.randint(2))
            words = rng.randint(label * vocab // 4, vocab // 2 + label * vocab // 2, rng.randint(3, 12))
            fout.write(u' '.join(u'w%d' % w for w in words) + u'\t' + six.text_type(label) + u'\n')


def load_vocab(file_path):
    vocab = {}
    with io.open(file_path, 'r', encoding='utf8') as f:
        wid = 0
        for line in f:
            if line.strip() not in vocab:
                vocab[line.strip()] = wid
                wid += 1
    vocab["<unk>"] = len(vocab)
    return vocab


def data_reader(file_path, vocab, phrase, epoch):
    unk_id = len(vocab) - 1
    all_data = []
    with io.open(file_path, "r", encoding='utf8') as fin:
        for line in fin:
            cols = line.strip().split("\t")
            if len(cols) != 2:
                sys.stderr.write("[NOTICE] Error Format Line!")
                continue
            label = int(cols[1])
            wids = [vocab[x] if x in vocab else unk_id for x in cols[0].split(" ")]
            all_data.append((wids, label))
    if phrase == "train":
        random.shuffle(all_data)

    def reader():
        for epoch_index in range(epoch):
            for doc, label in all_data:
                yield doc, label
    return reader
