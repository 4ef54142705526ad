#!/usr/bin/python
import sys, hashlib, zlib
class G(object):
    dim = 101
    def lines(self, fh):
        for i, l in enumerate(fh):
            f = l.rstrip('\n').split('\t')
            dense = [(float(x) if x else 0.) / 10 for x in f[1:4]]
            cats = [zlib.adler32(str(j) + x) % self.dim for j, x in enumerate(f[4:])]
            yield dense, cats, int(f[0])
if __name__ == '__main__':
    out = sys.stdout
    for d, c, y in G().lines(sys.stdin):
        s = '%d %s' % (len(d), ' '.join(map(str, d)))
        for v in c: s += ' 1 ' + `v`
        print >> out, s + ' 1 %d' % y
