"""Scripts of Python 2 about order, random numbers, classes and calls, and what they bound to `a` under Python 2.7."""

from __future__ import annotations

from typing import Any

OLD = "exec 'b = 1'\n"  # Python 2 syntax makes a text Python 2
HERE = (
    "import os, tempfile\nos_path = tempfile.mkdtemp() + '/'\n"
    "f = open(os_path + 'x', 'wb'); f.write('\\xff'); f.close()\n"
)

CASES: dict[str, tuple[str, Any]] = {
    "ordered": (
        OLD
        + (
            "best = None\n"
            "for x in [3, 1, 5]:\n"
            "    if x > best: best = x\n"
            "a = [best, None < 3, 'a' < 3, 3 < 'a', (1,) > [1], None <= None, 0 < None < 5, 1 < x < 'a', {} < "
            "[], {1: 2} < {1: 3}]"
        ),
        [5, True, False, True, True, True, False, True, True, True],
    ),
    "ordered leaves numbers alone": (OLD + ("n = 3\na = [i for i in range(5) if i < n and not i >= 4]"), [0, 1, 2]),
    "exception": (
        OLD
        + (
            "import sys\n"
            "def f(*x):\n"
            "    try:\n"
            "        if len(x) == 1: raise x[0]\n"
            "        if len(x) == 2: raise x[0], x[1]\n"
            "        raise x[0], x[1], x[2]\n"
            "    except Exception, e:\n"
            "        return type(e).__name__, e.args\n"
            "v = ValueError('v')\n"
            "try: 1 / 0\n"
            "except ZeroDivisionError: t = sys.exc_info()\n"
            "a = [f(ValueError, 'x'), f(ValueError, ('x', 1)), f(ValueError, None), f(ValueError, v), f(v, "
            "None), f(v, None, None), f(t[0], t[1], t[2])[0], f((KeyError, 1), 'k'), f(KeyError, {'a': 1})]"
        ),
        [
            ("ValueError", ("x",)),
            ("ValueError", ("x", 1)),
            ("ValueError", ()),
            ("ValueError", ("v",)),
            ("ValueError", ("v",)),
            ("ValueError", ("v",)),
            "ZeroDivisionError",
            ("KeyError", ("k",)),
            ("KeyError", ({"a": 1},)),
        ],
    ),
    "Exception of a class without a base": (
        OLD
        + (
            "class E: pass\n"
            "class F(E): pass\n"
            "try: raise E()\n"
            "except E: a = 1\n"
            "try: raise F\n"
            "except E, e: a += isinstance(e, F)"
        ),
        2,
    ),
    "OldMethods": (
        OLD
        + (
            "class C(object):\n"
            "    def __getitem__(self, i): return i\n"
            "    def __getslice__(self, i, j): return (i, j)\n"
            "    def __setslice__(self, i, j, v): self.got = (i, j, v)\n"
            "    def __delslice__(self, i, j): self.got = (i, j)\n"
            "    def __len__(self): return 9\n"
            "class L(list):\n"
            "    def __getslice__(self, i, j): return L(list.__getslice__(self, i, j))\n"
            "c = C()\n"
            "a = [c[1:3], c[:2], c[-2:8], c[5], c[1:2] == (1, 2), type(L('abc')[1:]).__name__, L('abc')[:2]]\n"
            "c[2:4] = 'x'\n"
            "a.append(c.got)\n"
            "del c[1:3]\n"
            "a.append(c.got)"
        ),
        [(1, 3), (0, 2), (7, 8), 5, True, "L", ["a", "b"], (2, 4, "x"), (1, 3)],
    ),
    "OldMethods for text that is encoded": (
        OLD
        + (
            "class C(object):\n"
            "    def __str__(self): return u'\\xe9'.encode('utf8')\n"
            "a = [len(str(C())), '%s' % C() == '\\xc3\\xa9']"
        ),
        [2, True],
    ),
    "getslice": (OLD + "a = [[1, 2, 3].__getslice__(0, 2), list.__getslice__([1, 2, 3], 1, 3)]", [[1, 2], [2, 3]]),
    "setslice": (OLD + ("a = [1, 2, 3]\na.__setslice__(0, 2, [7])"), [7, 3]),
    "delslice": (OLD + ("a = [1, 2, 3]\na.__delslice__(0, 2)"), [3]),
    "byte_functions.buffer": (
        OLD
        + (
            "a = [str(buffer('hello', 2)), len(buffer('hello', 1, 3)), buffer('abc')[0], buffer('ab\\xff')[2] "
            "== '\\xff']"
        ),
        ["llo", 3, "a", True],
    ),
    "byte_functions.Struct": (
        OLD
        + (
            "import struct\n"
            "s = struct.Struct('<2sH')\n"
            "a = [len(s.pack('a', 1)), s.unpack('ab\\x01\\xff'), s.size, s.unpack_from('.ab\\x01\\x00', 1)]"
        ),
        [4, ("ab", 65281), 4, ("ab", 1)],
    ),
    "byte_functions.unpack_from": (OLD + ("import struct\na = struct.unpack_from('<H', 'ab\\x01\\xff', 2)"), (65281,)),
    "map_list": (OLD + ("f = map\na = [f(str, [1]), apply(map, (None, [1], [2, 3]))]"), [["1"], [(1, 2), (None, 3)]]),
    "zip_list": (OLD + ("f = zip\na = f([1], 'a')"), [(1, "a")]),
    "range_list": (OLD + ("f = range\na = f(1, 4)"), [1, 2, 3]),
    "filter_of by another name": (
        OLD
        + (
            "f = filter\n"
            "a = [f(None, [0, 1]), filter(lambda c: c > 'a', '中b') == '中b', filter(lambda c: c != u'中', "
            "u'a中')]"
        ),
        [[1], True, "a"],
    ),
    "imap": (
        OLD + ("import itertools\na = [list(itertools.imap(None, [1], [2])), list(itertools.imap(len, ['a']))]"),
        [[(1, 2)], [1]],
    ),
    "io.IOBase": (OLD + HERE + "a = isinstance(open(os_path + 'x', 'rb'), file)", True),
    (
        "old_random.seed, old_random.randint, old_random.choice, old_random.randrange, old_random.sample, "
        "old_random.betavariate, old_random.gammavariate"
    ): (
        OLD
        + (
            "import random\n"
            "random.seed(1)\n"
            "a = [random.randint(0, 100), [random.randint(0, 9) for _ in range(5)], random.choice('abcdef'), "
            "random.randrange(5, 50, 5), random.sample(range(100), 5), random.sample(xrange(10 ** 6), 3), "
            "random.sample([1, 2, 3, 4], 4), random.randint(0, 2 ** 70), round(random.betavariate(1, 2), 9), "
            "round(random.gammavariate(1, 2), 9), round(random.uniform(1, 2), 9), random.randrange(3)]\n"
            "l = range(10)\n"
            "random.shuffle(l)\n"
            "a.append(l)"
        ),
        [
            13,
            [8, 7, 2, 4, 4],
            "d",
            40,
            [9, 2, 83, 43, 76],
            [2106, 445387, 721540],
            [1, 3, 2, 4],
            510725482038175373775,
            0.008882947,
            0.539157868,
            1.939167019,
            1,
            [1, 0, 4, 9, 2, 5, 7, 8, 6, 3],
        ],
    ),
    "old_random.seed of text": (
        OLD
        + (
            "import random\n"
            "a = []\n"
            "for s in ['hello', 3.7, (1, 2), -5, 10 ** 20, u'\\u4e2d', '中', 0.0, True]:\n"
            "    random.seed(s)\n"
            "    a.append(round(random.random(), 9))"
        ),
        [
            0.818039127,
            0.074304306,
            0.698218671,
            0.622901695,
            0.018195029,
            0.478170987,
            0.690228403,
            0.844421852,
            0.134364244,
        ],
    ),
    "old_random.Random": (
        OLD
        + (
            "import random\n"
            "r = random.Random(7)\n"
            "x = list('abcdefgh')\n"
            "r.shuffle(x)\n"
            "a = [r.randint(0, 1000), r.sample(range(50), 5), r.choice([1, 2, 3]), r.randrange(100), x, "
            "round(r.gauss(0, 1), 9), round(r.betavariate(2, 3), 9), round(r.gammavariate(1, 1), 9)]\n"
            "r.seed('x')\n"
            "a.append(r.randint(0, 99))"
        ),
        [
            507,
            [1, 21, 3, 4, 41],
            1,
            22,
            ["f", "e", "g", "h", "a", "d", "b", "c"],
            -1.691364552,
            0.638819167,
            1.176092354,
            53,
        ],
    ),
    "old_random.shuffle by another name": (
        OLD
        + (
            "from random import shuffle, seed\n"
            "import random as rnd\n"
            "seed(4)\n"
            "x = range(5)\n"
            "shuffle(x)\n"
            "f = rnd.randint\n"
            "a = [x, f(0, 99)]\n"
            "shuffle(x, rnd.random)\n"
            "a.append(x)"
        ),
        [[2, 3, 1, 0, 4], 6, [2, 3, 1, 0, 4]],
    ),
    (
        "heaps.heappush, heaps.heappop, heaps.heapify, heaps.nlargest, heaps.nsmallest, heaps.heappushpop, "
        "heaps.heapreplace"
    ): (
        OLD
        + (
            "import heapq\n"
            "h = []\n"
            "for x in [(1, 'a'), (1, None), (0, {})]: heapq.heappush(h, x)\n"
            "g = [3, None, 'b', 1]\n"
            "heapq.heapify(g)\n"
            "a = [heapq.heappop(h), heapq.heappop(h), heapq.nlargest(2, [None, 3, 'a']), heapq.nsmallest(1, "
            "[(2, None), (2, 1)]), g, heapq.heappushpop(g, 2), heapq.heapreplace(g, 5), g]"
        ),
        [(0, {}), (1, None), ["a", 3], [(2, None)], [2, 3, "b", 5], None, 1, [2, 3, "b", 5]],
    ),
    "heaps.bisect, heaps.bisect_left, heaps.insort, heaps.insort_left": (
        OLD
        + (
            "import bisect\n"
            "l = [None, 3]\n"
            "a = [bisect.bisect(l, 2), bisect.bisect_left([1, 'a'], 'a'), bisect.bisect_right([1, 1, 2], 1)]\n"
            "bisect.insort(l, 1)\n"
            "bisect.insort_left(l, 1)\n"
            "bisect.insort_right(l, 'a')\n"
            "a.append(l)"
        ),
        [1, 1, 2, [None, 1, 1, 3, "a"]],
    ),
    "divide_item": (
        OLD
        + (
            "import operator\n"
            "i = iter([0, 1])\n"
            "l = [10, 20]\n"
            "l[next(i)] /= 3\n"
            "d = {'a': 9}\n"
            "d['a'.strip()] /= 2\n"
            "a = [l, d, reduce(operator.div, [100, 3, 2]), operator.idiv(7, 2)]"
        ),
        [[3, 20], {"a": 4}, 16, 3],
    ),
    "names of list comprehensions stay": (
        OLD
        + (
            "l = [i for i in range(3)]\n"
            "def f():\n"
            "    [[x for x in range(k)] for k in (1, 3)]\n"
            "    return x, k\n"
            "a = [i, f(), [n for n in (y for y in range(2))]]\n"
            "x = 5\n"
            "[x for x in (1, 2)]\n"
            "a.append(x)"
        ),
        [2, (2, 3), [0, 1], 2],
    ),
    "tuples as parameters of lambda": (
        OLD
        + (
            "a = [(lambda (x, y), z: x + y + z)((1, 2), 3), map(lambda (k, (v, w)): k + w, [(1, (2, 3))]), "
            "sorted({'a': 2, 'b': 1}.items(), key=lambda (k, v): v)]"
        ),
        [6, [4], [("b", 1), ("a", 2)]],
    ),
    "urls.quote, urls.quote_plus, urls.unquote, urls.unquote_plus, urls.urlencode": (
        OLD
        + (
            "import urllib\n"
            "a = [urllib.quote('中 /a'), urllib.quote(u'中'.encode('gbk')), urllib.quote_plus('a b/'), "
            "len(urllib.unquote('%E4%B8%AD+')), urllib.unquote_plus('a+%41'), urllib.urlencode({'q': "
            "u'中'.encode('gbk')}), urllib.urlencode([('k', 1.5), ('v', '中')])]"
        ),
        ["%E4%B8%AD%20/a", "%D6%D0", "a+b%2F", 4, "a A", "q=%D6%D0", "k=1.5&v=%E4%B8%AD"],
    ),
    "messages of logging": (
        OLD
        + (
            "import logging, StringIO\n"
            "s = StringIO.StringIO()\n"
            "l = logging.getLogger('old')\n"
            "l.addHandler(logging.StreamHandler(s))\n"
            "l.warning('%s %d %s', 1.0 / 3, 2, [0.1])\n"
            "l.warning('%(k)s', {'k': 0.1 + 0.2})\n"
            "l.warning(5)\n"
            "a = s.getvalue()"
        ),
        "0.333333333333 2 [0.1]\n0.3\n5\n",
    ),
    "old_hash.hash_of": (
        OLD
        + (
            "f = hash\n"
            "a = [hash('a'), hash(''), hash(u'\\u70b9'), hash('点'), hash((1, 'a')), hash(1.5), hash(2 ** 70), "
            "hash(-1), hash(True), hash(float('inf')), hash(0.1), hash(-2.75), hash(()), hash('13' + 'abc') % "
            "1001, map(f, ['x', 3]), hash(None) == hash(None), hash(-10 ** 25)]"
        ),
        [
            12416037344,
            0,
            3693707085112,
            -1864662358350442593,
            3703129313087942906,
            1610645504,
            64,
            -2,
            1,
            314159,
            2576882278,
            -1476329472,
            3527539,
            173,
            [15360046201, 3],
            True,
            -1590897978359956885,
        ],
    ),
    "config_parser of strings that are bytes": (
        OLD
        + (
            "import ConfigParser, StringIO\n"
            "c = ConfigParser.ConfigParser()\n"
            "c.readfp(StringIO.StringIO('[s]\\nk = 中\\nr = %(k)s!\\nn = 5\\n'))\n"
            "a = [len(c.get('s', 'k')), len(c.get('s', 'r')), sorted(len(v) for _, v in c.items('s')), "
            "c.getint('s', 'n')]"
        ),
        [3, 4, [1, 3, 4], 5],
    ),
}
