# coding: utf-8
import codecs, re, string, random
from collections import Counter, OrderedDict
PUNC = u'，。！？、；：“”'
_split = re.compile(ur'[%s\s]+' % PUNC)
table = string.maketrans('0123456789', 'NNNNNNNNNN')
def tokenize(line):
    if not isinstance(line, unicode):
        line = line.decode('utf-8', 'ignore')
    return [w for w in _split.split(line) if w]
def chars(u):
    return [c.encode('utf-8') for c in u]
def build_dict(fn, cutoff=1):
    cnt = Counter()
    with codecs.open(fn, 'r', 'utf-8') as f:
        for ln in f:
            lab, txt = ln.rstrip('\n').split('\t', 1)
            cnt.update(tokenize(txt))
    items = [(w, c) for w, c in cnt.items() if c >= cutoff]
    items.sort(cmp=lambda a, b: cmp((b[1], a[0]), (a[1], b[0])))
    d = OrderedDict()
    d[u'<pad>'] = 0; d[u'<unk>'] = 1
    for w, _ in items: d[w] = len(d)
    return d
def save_dict(d, fn):
    out = codecs.open(fn, 'w', encoding='gb18030')
    for w, i in d.iteritems():
        print >>out, u'%s\t%d' % (w, i)
    out.close()
def load_dict(fn):
    res = {}
    for ln in open(fn, 'rb'):
        w, i = unicode(ln, 'gb18030').strip().split(u'\t')
        res[w] = long(i)
    return res
