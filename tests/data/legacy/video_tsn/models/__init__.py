from .tsn import TSN
_models = {"TSN": TSN}


def get_model(name, cfg, mode='train'):
    return _models[name](name, cfg, mode)
