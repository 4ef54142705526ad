from __future__ import absolute_import, division, print_function
import copy
import importlib
import inspect
import os
import sys
try:
    from collections.abc import Mapping
except ImportError:
    from collections import Mapping
import yaml
from collections import OrderedDict

__all__ = ['global_config', 'load_config', 'merge_config', 'register', 'serializable', 'create', 'dump_value']


def _make_constructor(cls):
    def construct(loader, node):
        kwargs = loader.construct_mapping(node, deep=True)
        return cls(**kwargs)
    return construct


def _make_representer(cls):
    if hasattr(inspect, 'getfullargspec'):
        argspec = inspect.getfullargspec(cls.__init__)
    else:
        argspec = inspect.getargspec(cls.__init__)
    argnames = [arg for arg in argspec.args if arg != 'self']

    def represent(dumper, obj):
        return dumper.represent_mapping(u'!{}'.format(cls.__name__), {name: getattr(obj, name) for name in argnames})
    return represent


def serializable(cls):
    yaml.add_constructor(u'!{}'.format(cls.__name__), _make_constructor(cls))
    yaml.add_representer(cls, _make_representer(cls))
    return cls


class SchemaDict(dict):
    def __init__(self, **kwargs):
        super(SchemaDict, self).__init__()
        self.schema = {}
        self.update(kwargs)

    def __missing__(self, key):
        if key in self.schema:
            return self.schema[key]
        raise KeyError(key)

    def find_missing_keys(self):
        return [k for k in self.schema if k not in self and self.schema[k] is inspect.Parameter.empty]


class AttrDict(dict):
    def __getattr__(self, key):
        if key in self:
            return self[key]
        raise AttributeError("object has no attribute '{}'".format(key))


global_config = AttrDict()


def register(cls):
    if cls.__name__ in global_config:
        raise ValueError('Module class already registered: {}'.format(cls.__name__))
    entry = SchemaDict()
    entry.name = cls.__name__
    entry.pymodule = importlib.import_module(cls.__module__)
    entry.inject = getattr(cls, '__inject__', [])
    entry.shared = getattr(cls, '__shared__', [])
    signature = inspect.signature(cls.__init__)
    for name, par in list(signature.parameters.items())[1:]:
        entry.schema[name] = par.default
    global_config[cls.__name__] = entry
    return cls


def create(cls_or_name, **kwargs):
    name = cls_or_name if type(cls_or_name) == str else cls_or_name.__name__
    config = global_config[name]
    config.update(kwargs)
    missing = config.find_missing_keys()
    if missing:
        raise ValueError('Missing values in {}: {}'.format(name, missing))
    cls = getattr(config.pymodule, name)
    values = {k: config[k] for k in config.schema}
    for k in config.shared:
        values[k] = global_config.get(k, values.get(k))
    for k in config.inject:
        target = values.get(k)
        if isinstance(target, str) and target in global_config:
            values[k] = create(target)
        elif isinstance(target, Mapping):
            inner = cls.__init__.__globals__.get(k)
            values[k] = inner(**target) if inner else target
    return cls(**values)


def merge(dct, other):
    for k, v in other.items():
        if k in dct and isinstance(dct[k], dict) and isinstance(v, Mapping):
            merge(dct[k], v)
        else:
            dct[k] = v
    return dct


def load_config(path):
    with open(path) as f:
        cfg = yaml.load(f, Loader=yaml.Loader)
    if '_READER_' in cfg:
        reader = cfg.pop('_READER_')
        if not os.path.isabs(reader):
            reader = os.path.join(os.path.dirname(path), reader)
        with open(reader) as f:
            merge(cfg, yaml.load(f, Loader=yaml.Loader))
    return merge_config(cfg)


def merge_config(cfg):
    return merge(global_config, cfg)


def dump_value(value):
    if hasattr(value, '__dict__') or isinstance(value, (dict, tuple, list)):
        value = yaml.dump(value, default_flow_style=True).replace('\n', '').replace('...', '')
    return value
