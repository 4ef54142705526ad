"""Scripts of Python 2 and what they bound to `a` under Python 2.7."""

from __future__ import annotations

from typing import Any

OLD = "exec 'b = 1'\n"  # Python 2 syntax makes a text Python 2
HERE = "import os, tempfile\nos_path = tempfile.mkdtemp() + '/'\n"
COMPARED = """
class C:
    def __init__(self, x): self.x = x
    def __cmp__(self, other): return cmp(self.x, other.x)
class D(C): pass
class E(object):
    def __cmp__(self, other): return 0
"""
TAR = """
import tarfile, string
f = open(os_path + 'x', 'w'); f.write('Hello, World!\\n'); f.close()
t = tarfile.open(os_path + 't.tgz', 'w:gz'); t.add(os_path + 'x', 'p/x'); t.close()
t = tarfile.open(os_path + 't.tgz')
"""
ZIP = """
import zipfile
z = zipfile.ZipFile(os_path + 'z', 'w'); z.writestr('m', '1::Toy\\n'); z.close()
z = zipfile.ZipFile(os_path + 'z')
"""
INI = """
import ConfigParser
f = open(os_path + 'c', 'w')
f.write('[A]\\nx = 1 ; why\\nrate = 10%\\nfmt = %d of\\nx = 2\\np = %(x)s/z\\n'); f.close()
"""
# `{'\xe4\xb8\xad': 1}` and an array of two floats, pickled by Python 2.7 with protocols 0 and 2.
TEXT_PICKLE = "KGRwMApTJ1x4ZTRceGI4XHhhZCcKcDEKSTEKcy4="
ARRAY_PICKLE = (
    "gAJ9cQAoVQFhcQFjbnVtcHkuY29yZS5tdWx0aWFycmF5Cl9yZWNvbnN0cnVjdApxAmNudW1weQpuZGFycmF5CnEDSwCFcQRVAWJxBYdx"
    "BlJxByhLAUsDhXEIY251bXB5CmR0eXBlCnEJVQJmNHEKSwBLAYdxC1JxDChLA1UBPHENTk5OSv////9K/////0sAdHEOYolVDAAAgD8A"
    "AABAAABAQHEPdHEQYnUu"
)

CASES: dict[str, tuple[str, Any]] = {
    "map_longest with a function": (OLD + "a = map(lambda x, y: (x, y), [1, 2], [3])", [(1, 3), (2, None)]),
    "filter_of": (
        OLD + "a = [filter(str.isdigit, 'a1b2'), filter(None, (0, 1)), filter(None, [0, 2])]",
        ["12", (1,), [2]],
    ),
    "floor": (OLD + "import math\na = [math.floor(7.5) / 2, math.floor(3.9)]", [3.5, 3.0]),
    "ceil": (OLD + "from math import ceil\na = ceil(6.5) / 2", 3.5),
    "ceil through the module": (OLD + "import math\na = [math.ceil(7) / 2, int(math.ceil(7 / 2))]", [3.5, 3]),
    "chr_of": (
        OLD + HERE + "f = open(os_path + 'x', 'wb'); f.write(chr(200) + chr(10)); f.close()\n"
        "a = [len(open(os_path + 'x', 'rb').read()), ord(open(os_path + 'x', 'rb').read()[0])]",
        [2, 200],
    ),
    "unichr of wide letters, as texts in full width are made narrow": (
        OLD + "a = u''.join(unichr(ord(c) - 0xfee0) for c in u'\\uff21\\uff22') + unichr(20013)",
        "AB\u4e2d",
    ),
    "unicode of bytes, and backslashes that are no escapes": (
        OLD + "a = [unicode('\\xe4\\xb8\\xad', 'utf-8'), len('\\u4e2d'), len(ur'\\d')]",
        ["\u4e2d", 6, 2],
    ),
    "strings.maketrans": (
        OLD + "import string\nt = string.maketrans('abc', 'xyz')\na = [len(t), t[97:100], 'aabd'.translate(t, 'd')]",
        [256, "xyz", "xxy"],
    ),
    "max_of": (OLD + "a = [max(1, 2), max([1, 'a']), max(x for x in (1, None)), max('ab', key=ord)]", [2, "a", 1, "b"]),
    "min_of": (OLD + "a = [min(None, 3), min([(1, 'a'), (1, None)])]", [None, (1, None)]),
    "sorted_by of mixed values": (
        OLD + "a = sorted([3, 'a', 1.5, None, (1,), 'B'])",
        [None, 1.5, 3, "B", "a", (1,)],
    ),
    "sorted_by in place of mixed values": (OLD + "a = ['x', 2, None]\na.sort(reverse=True)", ["x", 2, None]),
    "cmp of mixed values": ("a = [cmp(None, 0), cmp('a', 5), cmp([1, None], [1, 2]), cmp(1, 1.0)]", [-1, 1, -1, 0]),
    "Compared": (
        OLD + COMPARED + "a = [C(1) < C(2), C(1) == C(1), max(C(1), D(3)).x, E() == E(), len(set([C(1), C(1)]))]",
        [True, True, 3, True, 2],
    ),
    "old_code": (
        OLD
        + "d = {}\nexec 'print 7 / 2; x = map(str, range(2))' in {}, d\na = [d, eval(' 5 / 2 '), eval('len(\"ab\")')]",
        [{"x": ["0", "1"]}, 2, 2],
    ),
    "old_code of the module's own names": (OLD + "n = 7\nexec 'a = n / 2'", 3),
    "compile_text": (OLD + "c = compile('a = 9 / 2', '<s>', 'exec')\nexec c", 4),
    "execfile leaves no names behind": (
        OLD + HERE + "f = open(os_path + 'c.py', 'w'); f.write('x = 9/2\\n'); f.close()\nd = {}\n"
        "execfile(os_path + 'c.py', d)\na = sorted((k, v) for k, v in d.items() if k[0] != '_')",
        [("x", 4)],
    ),
    "gzip_open to write": (
        OLD + HERE + "import gzip\nf = gzip.open(os_path + 'g', 'w'); f.write('a b\\n'); f.close()\n"
        "a = gzip.open(os_path + 'g').read().split()",
        ["a", "b"],
    ),
    "gzip_file": (
        OLD + HERE + "import gzip\nf = gzip.GzipFile(os_path + 'g', 'wb'); f.write('a b\\n'); f.close()\n"
        "a = [line.split(' ') for line in gzip.GzipFile(os_path + 'g')]",
        [["a", "b\n"]],
    ),
    "bz2_file": (
        OLD + HERE + "import bz2\nf = bz2.BZ2File(os_path + 'g', 'w'); f.write('a b\\n'); f.close()\n"
        "a = [line.split() for line in bz2.BZ2File(os_path + 'g')]",
        [["a", "b"]],
    ),
    "extractfile": (
        OLD
        + HERE
        + TAR
        + "a = t.extractfile('p/x').read().rstrip('\\n\\r').translate(None, string.punctuation).split()",
        ["Hello", "World"],
    ),
    "open_member": (OLD + HERE + ZIP + "a = [line.strip().split('::') for line in z.open('m')]", [["1", "Toy"]]),
    "read_member": (OLD + HERE + ZIP + "a = z.read('m').strip().split('::')", ["1", "Toy"]),
    "config_parser": (
        OLD + HERE + INI + "c = ConfigParser.ConfigParser(); c.read(os_path + 'c')\n"
        "a = [c.getint('A', 'x'), c.get('A', 'rate'), c.get('A', 'fmt'), c.get('A', 'p'), c.get('A', 'p', 1)]",
        [2, "10%", "%d of", "2/z", "%(x)s/z"],
    ),
    "config_parser that is written": (
        OLD + HERE + "import ConfigParser, StringIO\nr = ConfigParser.RawConfigParser({'d': '1'})\nr.add_section('S')\n"
        "r.set('S', 'k', 3)\ns = StringIO.StringIO()\nr.write(s)\na = [r.get('S', 'k'), r.get('S', 'd'), s.getvalue()]",
        [3, "1", "[DEFAULT]\nd = 1\n\n[S]\nk = 3\n\n"],
    ),
    "string_io that is read": (
        "import StringIO\ns = StringIO.StringIO()\ns.write('x y\\nz')\ns.seek(0)\n"
        "a = [s.readline(), s.read(), s.getvalue()]",
        ["x y\n", "z", "x y\nz"],
    ),
    "view_keys": ("a = sorted({1: 2, 3: 4}.viewkeys() & set([1]))", [1]),
    "view_items": ("a = sorted({1: 2, 3: 4}.viewitems() & set([(1, 2)]))", [(1, 2)]),
    "view_values": ("a = list({1: 2}.viewvalues())", [2]),
    "join of a thread": (
        OLD + "import threading\nt = threading.Thread(target=int)\nt.start()\nt.join()\nt.join(timeout=1)\n"
        "a = [t.is_alive(), ','.join(x for x in 'ab')]",
        [False, "a,b"],
    ),
    "has_key of what a module holds": (
        "import os, sys\na = [os.environ.has_key('NO_SUCH_THING'), sys.modules.has_key('os')]",
        [False, True],
    ),
    "functions.im_func of a class": (
        OLD + "class C(object):\n    def f(self): return 3\nf = C.f.im_func\na = f(None)",
        3,
    ),
    "pickles.loads of Python 2's text": (
        OLD + f"import cPickle, base64\nd = cPickle.loads(base64.b64decode('{TEXT_PICKLE}'))\n"
        "a = [d['中'], '中' in d, d.keys()[0].decode('utf8') == u'中']",
        [1, True, True],
    ),
    "pickles.loads of Python 2's array": (
        OLD + f"import cPickle, base64\na = cPickle.loads(base64.b64decode('{ARRAY_PICKLE}'))['a'].tolist()",
        [1.0, 2.0, 3.0],
    ),
    "a caught exception outlives its handler": (
        OLD + "def f():\n    e = 5\n    try: {}['k']\n    except KeyError, e: pass\n    return str(e)\na = f()",
        "'k'",
    ),
    "StopIteration ends a generator": (
        OLD
        + "def f(it):\n    while True:\n        x = it.next()\n        yield x, next(it)\na = list(f(iter(range(5))))",
        [(0, 1), (2, 3)],
    ),
    "StopIteration that is raised": ("def f():\n    'text'\n    yield 1\n    raise StopIteration\na = list(f())", [1]),
    "division by own methods": (
        OLD + "class V(object):\n    def __div__(self, o): return 'd'\n    def __rdiv__(self, o): return 'r'\n"
        "v = V()\na = [v / 2, 3 / v]",
        ["d", "r"],
    ),
    "error_parts": (
        OLD
        + (
            "a = []\n"
            "try: raise Exception('x', 2)\n"
            "except Exception, e: a.append(e[0]); a.append(e[1:]); kind, count = e; a.append([kind, count])\n"
            "class Items(Exception):\n"
            "    def __getitem__(self, i): return i * 2\n"
            "try: raise Items('x')\n"
            "except Items as e: a.append(e[3])\n"
            "try: open('/nowhere/x')\n"
            "except IOError, e: a.append(e[0])\n"
            "e = 'text'\n"
            "a.append(e[0])\n"
        ),
        ["x", (2,), ["x", 2], 6, 2, "t"],
    ),
    "StandardError standard_errors": (
        (
            "class Own(StandardError): pass\n"
            "class Other(Exception): pass\n"
            "def caught(error):\n"
            "    try:\n"
            "        try: raise error\n"
            "        except (StandardError, KeyboardInterrupt), e: return isinstance(e, StandardError)\n"
            "        except (Other, Warning), e: return [isinstance(e, StandardError)]\n"
            "    except StandardError: return 'inner'\n"
            "    except Exception: return 'no'\n"
            "a = [caught(e('m')) for e in (Own, ValueError, IOError, StopIteration, Other, Exception, StandardError)]\n"
            "a += [issubclass(e, StandardError) for e in (Own, KeyError, UserWarning, Other)]\n"
            "a.append(caught(KeyboardInterrupt()))\n"
        ),
        [True, True, True, "no", [False], "no", True, True, True, False, False, False],
    ),
    "names of `from string import *`": (
        (
            "from string import *\nfrom types import *\nimport string\n"
            "a = [letters == string.letters, lowercase[:3], join(['x', 'y'], '-'), atoi('7'), digits[:2], "
            "type([]) is ListType, isinstance({}, DictType)]\n"
        ),
        [True, "abc", "x-y", 7, "01", True, True],
    ),
    "divide of NumPy scalars": (
        OLD
        + (
            "import numpy as np\n"
            "x = np.float32(1) / 3\n"
            "y = np.ones(2, 'float32') / np.float64(3)\n"
            "z = np.float32(1); z /= 3\n"
            "w = np.ones(2, 'float32'); w /= np.float64(3)\n"
            "a = [x.dtype.name, y.dtype.name, z.dtype.name, w.dtype.name, (np.int32(7) / 2).dtype.name, '%.9f' % x]\n"
        ),
        ["float64", "float32", "float64", "float32", "int64", "0.333333333"],
    ),
    "functions.im_func that is called": (
        OLD + "class C(object):\n    def f(self): return 3\na = [C.f.im_func(None), C().f.im_func(None)]",
        [3, 3],
    ),
    "deque with an end": (
        OLD + "import collections\na = repr(collections.deque('ab', 3))",
        "deque(['a', 'b'], maxlen=3)",
    ),
}
