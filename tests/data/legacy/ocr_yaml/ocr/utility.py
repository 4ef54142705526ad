from __future__ import absolute_import, division, print_function
import importlib
import logging
import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
import yaml
import numpy as np
import paddle.fluid as fluid


def initial_logger():
    logging.basicConfig(format='%(asctime)s-%(levelname)s: %(message)s', stream=sys.stderr)
    logger = logging.getLogger(__name__)
    logger.setLevel(logging.INFO)
    return logger


def create_module(module_str):
    tmpss = module_str.split(",")
    assert len(tmpss) == 2, "Wrong the module path: {}".format(module_str)
    module_name, function_name = tmpss[0], tmpss[1]
    somemodule = importlib.import_module(module_name, __package__)
    return getattr(somemodule, function_name)


class AttrDict(dict):
    def __init__(self, **kwargs):
        super(AttrDict, self).__init__()
        super(AttrDict, self).update(kwargs)

    def __getattr__(self, key):
        if key in self:
            return self[key]
        raise AttributeError("object has no attribute '{}'".format(key))


def merge_config(dst, config):
    for key, value in config.items():
        if "." not in key:
            if isinstance(value, dict) and key in dst:
                dst[key].update(value)
            else:
                dst[key] = value
        else:
            sub_keys = key.split('.')
            cur = dst[sub_keys[0]]
            for idx, sub_key in enumerate(sub_keys[1:]):
                if idx == len(sub_keys) - 2:
                    cur[sub_key] = value
                else:
                    cur = cur[sub_key]
    return dst


def load_config(file_path):
    _, ext = os.path.splitext(file_path)
    assert ext in ['.yml', '.yaml'], "only support yaml files for now"
    config = AttrDict(Global={'debug': False})
    with open(file_path) as f:
        merge_config(config, yaml.load(f, Loader=yaml.Loader))
    return config


def init_model(config, program, exe, ignore=()):
    path = config['Global'].get('checkpoints') or config['Global'].get('pretrain_weights')
    if config['Global'].get('checkpoints'):
        fluid.load(program, path, exe)
    elif path:
        assert os.path.exists(path + '.pdparams'), "Model pretrain path {} does not exists.".format(path)
        state = fluid.io.load_program_state(path)
        for name in [n for n in state if any(i in n for i in ignore)]:
            state.pop(name)
        mismatched = [p.name for p in program.all_parameters() if p.name in state and tuple(p.shape) != state[p.name].shape]
        for name in mismatched:
            state.pop(name)
        fluid.io.set_program_state(program, state)


def dump_char(config):
    chars = list(str(config['Global'].get('character_list', '')))
    return {c: i for i, c in enumerate(chars)}, len(chars)
