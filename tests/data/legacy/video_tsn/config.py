try:
    from configparser import ConfigParser
except:
    from ConfigParser import ConfigParser

import ast


class AttrDict(dict):
    def __getattr__(self, key):
        return self[key]

    def __setattr__(self, key, value):
        if key in self.__dict__:
            self.__dict__[key] = value
        else:
            self[key] = value


def parse_config(cfg_file):
    parser = ConfigParser()
    cfg = AttrDict()
    parser.read(cfg_file)
    for sec in parser.sections():
        sec_dict = AttrDict()
        for k, v in parser.items(sec):
            try:
                v = eval(v)
            except:
                pass
            setattr(sec_dict, k, v)
        setattr(cfg, sec.upper(), sec_dict)
    return cfg


def merge_configs(cfg, sec, args_dict):
    assert sec in ['train', 'valid'], "Config should be train or valid"
    sec_dict = getattr(cfg, sec.upper())
    for k, v in args_dict.items():
        if v is None:
            continue
        if hasattr(sec_dict, k) if k in sec_dict else False:
            setattr(sec_dict, k, v)
    return cfg
