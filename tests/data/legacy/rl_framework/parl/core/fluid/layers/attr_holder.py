class AttrHolder(object):
    def __init__(self, **kwargs):
        self._sorted_keys = sorted(kwargs.keys())
        for k, v in kwargs.items():
            setattr(self, k, v)

    def tolist(self):
        return [getattr(self, k) for k in self._sorted_keys]

    def sorted(self):
        return [(k, getattr(self, k)) for k in self._sorted_keys]
