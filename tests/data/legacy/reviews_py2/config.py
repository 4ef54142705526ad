# -*- coding: utf8 -*-
import ConfigParser, os, types
class Config:
    """old style class, attributes by exec"""
    defaults = dict(emb=12, hid=0x10, lr='2e-2', passes=017 - 12)
    def __init__(self, path=None):
        for k in self.defaults.keys():
            exec 'self.%s = self.defaults[k]' % k
        if path and os.path.exists(path):
            cp = ConfigParser.ConfigParser()
            cp.read(path)
            for sec in cp.sections():
                for k, v in cp.items(sec):
                    try:
                        v = int(v)
                    except ValueError, e:
                        print 'keep as text: %s' % e.__class__.__name__, k
                    setattr(self, k, v)
    def __getitem__(self, k):
        if not self.__dict__.has_key(k):
            raise KeyError, k
        return self.__dict__[k]
    def __repr__(self):
        return '<Config %s>' % ', '.join(map(lambda k: '%s=%r' % (k, self.__dict__[k]), sorted(self.__dict__)))
