import math
from decimal import Decimal
from fractions import Fraction
class Registry(type):
    known = {}
    def __new__(mcs, name, bases, d):
        cls = type.__new__(mcs, name, bases, d)
        if name <> 'Meter': mcs.known[name.lower()] = cls
        return cls
class Meter(object):
    __metaclass__ = Registry
    fmt = '%.4f'
    def __init__(self, n=0): self.reset(); self.n = n
    def reset(self): self.hist = []
    def __call__(self, *a): self.hist.append(self.one(*a)); return self
    def __unicode__(self): return u'%s=%s' % (self.__class__.__name__, self.fmt % self.value())
    def __str__(self): return unicode(self).encode('utf8')
    def __cmp__(self, o): return cmp(self.value(), o.value())
    def __nonzero__(self): return len(self.hist) <> 0
    def __div__(self, k): return self.value() / k
    def value(self): return sum(self.hist) / len(self.hist) if self else None
class Mean(Meter):
    def one(self, v): return v
class Pixel(Meter):
    fmt = '%5.2f%%'
    def one(self, right, total): return Fraction(int(right), int(total)) * 100
    def value(self): return float(Meter.value(self))
class IoU(Meter):
    def one(self, hits, wrong): return [h / float(h + w) if h + w else 1. for h, w in map(None, hits, wrong)]
    def value(self): return sum(map(sum, self.hist)) / sum(map(len, self.hist))
def make(name, *a):
    try: return Registry.known[name](*a)
    except KeyError, name: raise ValueError, 'no meter %s of %s' % (name, sorted(Registry.known))
