"""For each function of the capsule a script that needs it, and what the script bound to `a` in its day."""

from __future__ import annotations

from typing import Any

from tests.paddle.capsule import python2_cases, python2_file_cases, python2_meaning_cases, python2_text_cases

NP = "import numpy as np\n"
OLD = "exec 'b = 1'\n"  # Python 2 syntax makes a text Python 2
DRAW = """
class Draw(object):
    def textbbox(self, at, text):
        return (0, 1, 10, 8)
    def getbbox(self, text):
        return (0, 1, 10, 8)
"""
LOAD = """
import numpy as np, tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'x.npy')
np.save(path, np.array([{'k': np.arange(2)}, [1]], dtype=object))
a = np.load(path)[0]['k'].tolist()
"""
SAVED = """
import numpy as np, tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'x.npz')
"""
TEXT_FILE = """
import tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'x.txt')
f = open(path, 'wb'); f.write('one two\\nthree\\n'); f.close()
"""

CASE = """
import unittest
class C(unittest.TestCase):
    def check_it(self): pass
c = C('check_it')
"""
XML = """
import xml.etree.ElementTree as ET
tree = ET.fromstring('<a><b/><c><b/></c></a>')
"""
PLIST = """
import plistlib, tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'x.plist')
f = open(path, 'wb'); plistlib.dump({'k': 1}, f); f.close()
"""
TABLE = """
import numpy as np, tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'x.csv')
f = open(path, 'w'); f.write('x,y\\n1,2.5\\n3,4.5\\n'); f.close()
"""

CASES: dict[str, tuple[str, Any]] = {
    "message": (OLD + "try:\n    raise ValueError('x')\nexcept ValueError as e:\n    a = e.message", "x"),
    "message of the object's own": (OLD + "class E(Exception):\n    message = 'm'\na = E().message", "m"),
    "to_unicode": ("x = 'ab'\na = unicode(x, 'utf-8')", "ab"),
    "to_unicode in old syntax": (OLD + "x = 'ab'\na = unicode(x, 'utf-8') + unicode(3)", "ab3"),
    "translate": (OLD + "import string\na = 'a,b'.translate(None, string.punctuation)", "ab"),
    "map_longest": (OLD + "a = map(None, [1, 2], 'x')", [(1, "x"), (2, None)]),
    "coerce": ("a = coerce(1, 2.0)", (1.0, 2.0)),
    "functions.func_name": ("def f(): pass\na = f.func_name", "f"),
    "functions.func_code": ("def f(x): pass\na = f.func_code.co_argcount", 1),
    "functions.func_defaults": ("def f(x=3): pass\na = f.func_defaults", (3,)),
    "functions.func_dict": ("def f(): pass\nf.k = 1\na = f.func_dict", {"k": 1}),
    "functions.func_doc": ("def f(): 'd'\na = f.func_doc", "d"),
    "functions.func_globals": ("def f(): pass\na = f.func_globals is globals()", True),
    "functions.im_func": ("class C:\n    def f(self): return 3\nf = C().f.im_func\na = f(None)", 3),
    "functions.im_self": ("class C:\n    def f(self): pass\nc = C()\na = c.f.im_self is c", True),
    "functions.im_class": ("class C:\n    def f(self): pass\na = C().f.im_class.__name__", "C"),
    "isSequenceType": ("import operator\na = operator.isSequenceType([])", True),
    "isMappingType": ("import operator\na = operator.isMappingType({})", True),
    "isNumberType": ("import operator\na = operator.isNumberType('x')", False),
    "byte_functions.md5": (OLD + "import hashlib\na = hashlib.md5('abc').hexdigest()[:6]", "900150"),
    "byte_functions.md5 of a module": ("import md5\na = md5.new('abc').hexdigest()[:6]", "900150"),
    "byte_functions.sha1": ("import sha\nx = sha.new()\nx.update('abc')\na = x.hexdigest()[:6]", "a9993e"),
    "byte_functions.sha224": (OLD + "import hashlib\na = hashlib.sha224('abc').digest_size", 28),
    "byte_functions.sha256": (OLD + "import hashlib\na = hashlib.sha256('abc').hexdigest()[:6]", "ba7816"),
    "byte_functions.sha384": (OLD + "import hashlib\na = hashlib.sha384('abc').digest_size", 48),
    "byte_functions.sha512": (OLD + "import hashlib\na = hashlib.sha512('abc').digest_size", 64),
    "byte_functions.new": (OLD + "import hashlib\na = hashlib.new('md5', 'abc').hexdigest()[:6]", "900150"),
    "byte_functions.b64encode": (OLD + "import base64\na = 'x' + base64.b64encode('abc')", "xYWJj"),
    "byte_functions.encodestring": (OLD + "import base64\na = 'x' + base64.encodestring('abc')", "xYWJj\n"),
    "byte_functions.decodestring": (
        OLD + "import base64\nimport numpy as np\n"
        "a = np.frombuffer(base64.decodestring('AACAPwAAAEA='), dtype='float32').tolist()",
        [1.0, 2.0],
    ),
    "byte_functions.b64decode": (OLD + "import base64\na = base64.b64decode('YWJj') == 'abc'", True),
    "byte_functions.urlsafe_b64encode": (OLD + "import base64\na = '' + base64.urlsafe_b64encode('abc')", "YWJj"),
    "byte_functions.urlsafe_b64decode": (OLD + "import base64\na = '' + base64.urlsafe_b64decode('YWJj')", "abc"),
    "byte_functions.pack": (OLD + "import struct\na = '' + struct.pack('3s', 'abc')", "abc"),
    "byte_functions.unpack": (OLD + "import struct\na = '' + struct.unpack('3s', 'abc')[0]", "abc"),
    "byte_functions.compress": (OLD + "import zlib\na = len(zlib.compress('a' * 99)) < 99", True),
    "byte_functions.decompress": (OLD + "import zlib\na = '' + zlib.decompress(zlib.compress('abc'))", "abc"),
    "byte_functions.crc32": (OLD + "import zlib\na = zlib.crc32('hello')", 907060870),
    "byte_functions.crc32 with its sign": (OLD + "import zlib\na = zlib.crc32('a')", -390611389),
    "byte_functions.adler32": (OLD + "import zlib\na = zlib.adler32('abc')", 38600999),
    "byte_functions.hexlify": (OLD + "import binascii\na = '' + binascii.hexlify('abc')", "616263"),
    "byte_functions.unhexlify": (OLD + "import binascii\na = '' + binascii.unhexlify('616263')", "abc"),
    "byte_functions.Popen": (
        OLD + "import subprocess\np = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "a = p.communicate('hi there')[0].split(' ')",
        ["hi", "there"],
    ),
    "assertions.assertEquals": (CASE + "a = c.assertEquals(1, 1)", None),
    "assertions.assertNotEquals": (CASE + "a = c.assertNotEquals(1, 2)", None),
    "assertions.assertAlmostEquals": (CASE + "a = c.assertAlmostEquals(1.0, 1.0)", None),
    "assertions.assertItemsEqual": (CASE + "a = c.assertItemsEqual([1, 2], [2, 1])", None),
    "assertions.assertRegexpMatches": (CASE + "a = c.assertRegexpMatches('abc', 'b')", None),
    "assertions.assertRaisesRegexp": (CASE + "a = c.assertRaisesRegexp(ValueError, 'inv', int, 'x')", None),
    "getiterator": (XML + "a = [x.tag for x in tree.getiterator('b')]", ["b", "b"]),
    "unescape": ("from html.parser import HTMLParser\na = HTMLParser().unescape('&lt;')", "<"),
    "factorial": ("import math\nx = 3.0\na = math.factorial(x)", 6),
    "find_loader": ("import importlib\na = importlib.find_loader('no_such_module_here')", None),
    "get_event_loop": (
        "import asyncio\nloop = asyncio.get_event_loop()\na = loop.run_until_complete(asyncio.sleep(0, 3))\nloop.close()\n"
        "asyncio.set_event_loop(None)",
        3,
    ),
    "read_plist": (PLIST + "a = plistlib.readPlist(path)", {"k": 1}),
    "write_plist": (PLIST + "plistlib.writePlist({'j': 2}, path)\na = plistlib.readPlist(path)", {"j": 2}),
    "make_suite": (CASE + "a = unittest.makeSuite(C, 'check').countTestCases()", 1),
    "wrap_socket": (
        "import ssl, socket\ns = socket.socket()\nt = ssl.wrap_socket(s, server_side=True)\n"
        "a = isinstance(t, ssl.SSLSocket)\nt.close()",
        True,
    ),
    "issubsctype": (NP + "a = np.issubsctype(np.float32, np.floating)", True),
    "maximum_sctype": (NP + "a = np.maximum_sctype('int8').__name__", "int64"),
    "sctype2char": (NP + "a = np.sctype2char(np.float32)", "f"),
    "nbytes": (NP + "a = np.nbytes[np.float32]", 4),
    "recfromtxt": (TABLE + "a = np.recfromtxt(path, names=True, delimiter=',').y.tolist()", [2.5, 4.5]),
    "recfromcsv": (TABLE + "a = np.recfromcsv(path).x.tolist()", [1, 3]),
    "deprecate": (
        NP + "@np.deprecate\ndef f(): return 4\n@np.deprecate_with_doc('x')\ndef g(): return 1\na = f() + g()",
        5,
    ),
    "linspace": (NP + "a = np.linspace(0, 1, 3.0).tolist()", [0.0, 0.5, 1.0]),
    "reshape": (NP + "a = np.reshape([1, 2], newshape=(2, 1)).tolist()", [[1], [2]]),
    "to_float": (NP + "a = float(np.full((1, 1), 2.5))", 2.5),
    "to_float of text": ("x = '2.5'\na = float(x)", 2.5),
    "to_int": (NP + "a = int(np.array([3.7]))", 3),
    "percent": (NP + "x = np.array([0.5])\na = '%.2f %d %s' % (x, x, x)", "0.50 0 [0.5]"),
    "percent of one": (NP + "x = np.array([0.5])\na = 'loss %.2f' % x", "loss 0.50"),
    "percent of a dict": (NP + "x = np.array([0.5])\na = '%(l).1f' % {'l': x}", "0.5"),
    "percent in a name": (NP + "x = np.array([2])\ntext = '%03d'\na = text % x", "002"),
    "percent with a star": (NP + "x = np.array([2])\na = '%*d|%%|%s' % (3, x, x)", "  2|%|[2]"),
    "percent of joined tuples": (NP + "x = np.array([0.5])\na = '%s %.2f' % (('t',) + tuple([x]))", "t 0.50"),
    "percent of a made tuple": (NP + "x = np.array([0.5])\na = '%.1f' % tuple([x])", "0.5"),
    "percent of a made dict": (NP + "x = np.array([0.5])\na = '%(l).1f' % dict(l=x)", "0.5"),
    "format_text": (NP + "x = np.array([0.5])\na = '{:.2f} {}'.format(x, x)", "0.50 [0.5]"),
    "format_text with names": (NP + "x = np.array([0.5])\na = '{l:.1f} {0}'.format(7, l=x)", "0.5 7"),
    "scalar": (NP + "x = np.array([0.5])\na = f'{x:.2f} {x}'", "0.50 [0.5]"),
    "storable": (NP + "x = np.zeros(2)\nx[1] = np.ones(1)\nx[0] += np.ones((1, 1))\na = x.tolist()", [1.0, 1.0]),
    "storable in a list": (NP + "x = [0]\nx[0] = np.ones(1)\na = x[0].shape", (1,)),
    "scalar_math.exp": (NP + "import math\na = math.exp(np.zeros((1, 1)))", 1.0),
    "array": (NP + "x = [[1], [2, 3]]\na = np.array(x).tolist()", [[1], [2, 3]]),
    "array without a copy": (NP + "x = [1]\na = np.array(x, dtype='float32', copy=False).dtype.name", "float32"),
    "asarray": (NP + "x = [[1], [2, 3]]\na = np.asarray(x).dtype.name", "object"),
    "permutation": (NP + "a = sorted(np.random.permutation([[1], [2, 3]]).tolist())", [[1], [2, 3]]),
    "choice": (NP + "a = np.random.choice([[1, 2], [1, 2, 3]], 4).shape", (4,)),
    "load": (LOAD, [0, 1]),
    "fromstring": (NP + "a = np.fromstring(b'ab', 'uint8').tolist()", [97, 98]),
    "histogram": (NP + "a = np.histogram([1, 2], bins=2, normed=True)[0].tolist()", [1.0, 1.0]),
    "sum_of": (NP + "a = np.sum(i for i in [1, 2])", 3),
    "unique": (NP + "a = np.unique([[5], [7]], return_inverse=True)[1].tolist()", [0, 1]),
    "comparisons.equal": (NP + "a = np.equal(np.array([1, 2]), 1, dtype=np.int32).tolist()", [True, False]),
    "comparisons.greater": (NP + "a = np.greater(np.array([1, 2]), 1, dtype=np.int32).tolist()", [False, True]),
    "comparisons.greater_equal": (
        NP + "a = np.greater_equal(np.array([1, 2]), 1, dtype=np.int32).tolist()",
        [True, True],
    ),
    "comparisons.less": (NP + "a = np.less(np.array([1, 2]), 1, dtype=np.int32).tolist()", [False, False]),
    "comparisons.less_equal": (NP + "a = np.less_equal(np.array([1, 2]), 1, dtype=np.int32).tolist()", [True, False]),
    "comparisons.logical_and": (NP + "a = np.logical_and(np.array([1, 2]), 1, dtype=np.int32).tolist()", [True, True]),
    "comparisons.logical_or": (NP + "a = np.logical_or(np.array([1, 2]), 1, dtype=np.int32).tolist()", [True, True]),
    "comparisons.not_equal": (NP + "a = np.not_equal(np.array([1, 2]), 1, dtype=np.int32).tolist()", [False, True]),
    "ragged.shape": (NP + "a = np.shape([np.ones(2), np.ones(3)])", (2,)),
    "ragged.ndim": (NP + "a = np.ndim([[1], [2, 3]])", 1),
    "ragged.size": (NP + "a = np.size([[1], [2, 3]])", 2),
    "ragged.mean": (NP + "a = np.mean([np.ones(1), np.array([2.0, 4.0])]).tolist()", [1.5, 2.5]),
    "ragged.mean along axes": (NP + "a = np.mean([np.ones((2, 3))] * 2, axis=(0, 2)).tolist()", [1.0, 1.0]),
    "ragged.save": (
        SAVED + "path = path[:-1] + 'y'\nnp.save(path, [[1], [2, 3]])\na = np.load(path, allow_pickle=True).tolist()",
        [[1], [2, 3]],
    ),
    "ragged.savez": (SAVED + "np.savez(path, k=[[1], [2, 3]])\na = np.load(path, allow_pickle=True)['k'].shape", (2,)),
    "ragged.savez_compressed": (
        SAVED + "np.savez_compressed(path, [[1], [2, 3]])\na = np.load(path, allow_pickle=True)['arr_0'].shape",
        (2,),
    ),
    "stacking.hstack": (NP + "a = np.hstack(map(np.array, [[1], [2]])).tolist()", [1, 2]),
    "stacking.vstack": (NP + "a = np.vstack([i] for i in [1, 2]).tolist()", [[1], [2]]),
    "stacking.dstack": (NP + "a = np.dstack([i] for i in [1, 2]).tolist()", [[[1, 2]]]),
    "stacking.stack": (NP + "a = np.stack([i] for i in [1, 2]).tolist()", [[1], [2]]),
    "stacking.column_stack": (NP + "a = np.column_stack([i] for i in [1, 2]).tolist()", [[1, 2]]),
    "stacking.concatenate": (NP + "a = np.concatenate([i] for i in [1, 2]).tolist()", [1, 2]),
    "asscalar": (NP + "a = np.asscalar(np.ones(1))", 1.0),
    "random_integers": (NP + "a = set(np.random.random_integers(1, 2, 99).tolist())", {1, 2}),
    "msort": (NP + "a = np.msort(np.array([2, 1])).tolist()", [1, 2]),
    "asfarray": (NP + "a = np.asfarray([1]).dtype.name", "float64"),
    "find_common_type": (NP + "a = np.find_common_type(['f4', 'f8'], []).name", "float64"),
    "copy_transposed": (NP + "a = np.fastCopyAndTranspose(np.ones((2, 3))).shape", (3, 2)),
    "trapz": (NP + "a = float(np.trapz([1, 3]))", 2.0),
    "pickle_loads": (NP + "import pickle\na = np.loads(pickle.dumps([1]))", [1]),
    "nothing": ("import sys\nreload(sys)\nsys.setdefaultencoding('utf-8')\na = 1", 1),
    "issctype": (NP + "a = np.issctype(np.int32)", True),
    "obj2sctype": (NP + "a = np.obj2sctype('f4').__name__", "float32"),
    "sctypes": (NP + "a = len(np.sctypes['int'])", 4),
    "cast": (NP + "a = np.cast['int32'](1.5).tolist()", 1),
    "tostring": (NP + "a = np.array([97], 'uint8').tostring()", b"a"),
    "itemset": (NP + "x = np.zeros(2)\nx.itemset(1, 5)\nx.itemset((0,), 4)\na = x.tolist()", [4.0, 5.0]),
    "ptp": (NP + "a = int(np.array([1, 4]).ptp())", 3),
    "newbyteorder": (NP + "a = int(np.array([1], 'uint16').newbyteorder()[0])", 256),
    "images.imresize": (
        NP
        + "from PIL import Image\nfrom scipy.misc import imresize\na = imresize(np.zeros((4, 6), 'uint8'), 0.5).shape",
        (2, 3),
    ),
    "images.imread": (
        "import tempfile\nfrom PIL import Image\nfrom scipy.misc import imread, imsave, toimage\nimport numpy as np\np = tempfile.mkdtemp() + '/x.png'\nimsave(p, np.arange(6, dtype='uint8').reshape(2, 3))\na = imread(p).tolist()",
        [[0, 1, 2], [3, 4, 5]],
    ),
    "images.imsave": (
        NP
        + "from PIL import Image\nimport io, scipy.misc\nf = io.BytesIO()\nscipy.misc.imsave(f, np.zeros((2, 2)), 'png')\na = f.getvalue()[1:4]",
        b"PNG",
    ),
    "images.imrotate": (
        NP + "from PIL import Image\nimport scipy.misc\na = scipy.misc.imrotate(np.zeros((2, 2), 'uint8'), 90).shape",
        (2, 2),
    ),
    "images.toimage": (
        NP + "from PIL import Image\nimport scipy.misc\na = scipy.misc.toimage(np.zeros((3, 4, 5))).size",
        (5, 4),
    ),
    "images.fromimage": (
        NP
        + "from PIL import Image\nimport scipy.misc\na = scipy.misc.fromimage(Image.new('RGB', (2, 3)), flatten=True).shape",
        (3, 2),
    ),
    "images.bytescale": (
        NP + "from scipy.misc import bytescale\na = bytescale(np.array([0., .5, 1.])).tolist()",
        [0, 128, 255],
    ),
    "getsize": (DRAW + "a = Draw().getsize('x')", (10, 8)),
    "getsize of a file": ("import os.path\na = os.path.getsize(os.__file__) > 0", True),
    "textsize": (DRAW + "a = Draw().textsize('x')", (10, 8)),
    "yaml_load": ("import yaml\na = yaml.load('{x: [1, 2.5]}')", {"x": [1, 2.5]}),
    "yaml_load_all": ("import yaml\na = list(yaml.load_all('x: 1'))", [{"x": 1}]),
    "frames.read_csv": (
        "import io\nimport pandas as pd\na = len(pd.read_csv(io.StringIO(u'x\\n1\\n1,2\\n'), error_bad_lines=False, warn_bad_lines=False))",
        1,
    ),
    "frames.read_table": (
        "import io\nimport pandas as pd\na = len(pd.read_table(io.StringIO(u'x\\n1\\n1\\t2\\n'), error_bad_lines=False, warn_bad_lines=False))",
        1,
    ),
    "as_matrix": ("import pandas as pd\na = pd.DataFrame({'x': [1]}).as_matrix().tolist()", [[1]]),
    "get_value": ("import pandas as pd\na = int(pd.DataFrame({'x': [1]}).get_value(0, 'x'))", 1),
    "ix": (
        "import pandas as pd\nd = pd.DataFrame({'x': [1, 2], 'y': [3, 4]}, index=['p', 'q'])\na = [int(d.ix['q', 'y']), int(d.ix[0, 0]), d.ix[:, 1].tolist()]",
        [4, 1, [3, 4]],
    ),
    "append": (
        "import pandas as pd\nd = pd.DataFrame({'x': [1]})\nd = d.append({'x': 2}, ignore_index=True)\na = d['x'].tolist()",
        [1, 2],
    ),
    "append to a list": ("x = []\ny = x.append(1)\na = (x, y)", ([1], None)),
    "getargspec": ("import inspect\na = inspect.getargspec(lambda x, y=1: 0).args", ["x", "y"]),
    "linux_distribution": ("import platform\na = len(platform.linux_distribution())", 3),
    "cgi": ("import cgi\na = cgi.escape('<\"')", '&lt;"'),
    "jsons.load": ("import io, json\na = json.load(io.BytesIO(b'[1]'), encoding='utf-8')", [1]),
    "jsons.loads": ("import json\na = json.loads('[1]', encoding='utf-8')", [1]),
    "jsons.dump": ("import io, json\nf = io.StringIO()\njson.dump([1], f, encoding='utf-8')\na = f.getvalue()", "[1]"),
    "jsons.dumps": ("import json\na = json.dumps([1], encoding='utf-8')", "[1]"),
    "sample": ("import random\na = random.sample({5}, 1)", [5]),
    "shuffle": ("import random\na = [1, 2, 3]\nrandom.shuffle(a, lambda: 0.0)", [2, 3, 1]),
    "randint": ("import random\na = random.randint(3.0, 3)", 3),
    "randrange": ("import random\na = random.randrange(1.0)", 0),
    "open_file": (TEXT_FILE.replace("'wb'", "'w'") + "a = open(path, 'rU').readline()", "one two\n"),
    "is_alive": ("import threading\na = threading.Thread().isAlive()", False),
    "readfp": (
        "import io\nimport configparser\nc = configparser.ConfigParser()\nc.readfp(io.StringIO('[s]\\nk=1'))\na = c.get('s', 'k')",
        "1",
    ),
    "list": (
        "import xml.etree.ElementTree as ET\na = [e.tag for e in ET.fromstring('<x><y/></x>').getchildren()]",
        ["y"],
    ),
    "basestring": ("a = isinstance('x', basestring)", True),
    "cmp": ("a = cmp(1, 2)", -1),
    "apply": ("a = apply(max, (1, 2))", 2),
    "execfile": (TEXT_FILE + "f = open(path, 'wb'); f.write('b = 7'); f.close()\nexecfile(path)\na = b", 7),
    "reload": ("import string\na = reload(string) is string", True),
    "iteritems": ("a = sorted({'x': 1}.iteritems())", [("x", 1)]),
    "itervalues": ("a = list({'x': 1}.itervalues())", [1]),
    "iterkeys": ("a = list({'x': 1}.viewkeys())", ["x"]),
    "has_key": ("a = {'x': 1}.has_key('x')", True),
    "next_of": ("a = iter([4]).next()", 4),
    "sorted_by": ("a = sorted([1, 3, 2], lambda x, y: y - x)", [3, 2, 1]),
    "sorted_by in place": ("a = [1, 3, 2]\na.sort(cmp=lambda x, y: y - x)", [3, 2, 1]),
    "strings.join": ("import string\na = string.join(['x', 'y'], '-')", "x-y"),
    "string_io": ("from StringIO import StringIO\nf = StringIO()\nf.write('x')\na = f.getvalue()", "x"),
    "string_io of bytes": ("import cStringIO\na = cStringIO.StringIO(b'x\\xff').read() == b'x\\xff'", True),
    "divide": (OLD + "a = [7 / 2, 7 / 2., -7 / 2, (1 + 6) / (5 - 3)]", [3, 3.5, -4, 3]),
    "divide in place": (OLD + "a = 7\na /= 2", 3),
    "divide in place of arrays": (OLD + NP + "x = y = np.array([7.])\nx /= 2\na = y.tolist()", [3.5]),
    "divide from the future": ("from __future__ import division\n" + OLD + "a = 7 / 2", 3.5),
    "round_away": (OLD + "a = [round(2.5), round(-2.5), round(0.15, 1), round(2.4)]", [3.0, -3.0, 0.1, 2.0]),
    "__next__": (
        OLD
        + "class C(object):\n    def __iter__(self): return self\n    def next(self): raise StopIteration\na = list(C())",
        [],
    ),
    "__bool__": (OLD + "class C(object):\n    def __nonzero__(self): return False\na = bool(C())", False),
    "keys_of": (OLD + "d = {'x': 1}\nfor k in d.keys():\n    del d[k]\na = d", {}),
    "values_of": (OLD + "a = {'x': 1}.values()[0]", 1),
    "items_of": (OLD + "a = {'x': 1}.items() + []", [("x", 1)]),
    "decode": (OLD + "a = 'x'.decode('utf-8')", "x"),
    "encode": (OLD + "a = '%s' % u'x'.encode('utf-8')", "x"),
    "join": (OLD + "a = ','.join(['x', u'y'.encode('utf-8')])", "x,y"),
    "pickles.dump": (
        OLD + TEXT_FILE + "import cPickle\ncPickle.dump([1], open(path, 'w'))\na = cPickle.load(open(path))",
        [1],
    ),
    "pickles.load": (
        OLD + TEXT_FILE + "import pickle\npickle.dump([1], open(path, 'wb'), 0)\na = pickle.load(open(path, 'rb'))",
        [1],
    ),
    "pickles.loads": (OLD + "import pickle\na = pickle.loads(pickle.dumps([1]))", [1]),
    "gzip_open": (
        OLD
        + TEXT_FILE
        + "import gzip\nf = gzip.open(path, 'wb')\nf.write(b'x y\\n')\nf.close()\na = [line.split(' ') for line in gzip.open(path)]",
        [["x", "y\n"]],
    ),
    "check_output": (OLD + "import subprocess\na = subprocess.check_output(['echo', 'x y']).split(' ')", ["x", "y\n"]),
    "fdopen": (
        OLD
        + "import os\nr, w = os.pipe()\nf = os.fdopen(w, 'w', 0)\nf.write('x\\n')\na = os.read(r, 9) == b'x\\n'\nf.close()\nos.close(r)",
        True,
    ),
    "getwriter": (OLD + "import codecs, sys\na = codecs.getwriter('utf8')(sys.stdout) is sys.stdout", True),
    "open_file as binary": (
        OLD + TEXT_FILE + "a = [line.strip().split(' ') for line in open(path, 'rb')]",
        [["one", "two"], ["three"]],
    ),
    "open_file read": (
        OLD
        + TEXT_FILE
        + "x = open(path, 'rb').read()\na = [x[:3] == 'one', x.split('\\n')[1], x[0] == 'o', 'two' in x]",
        [True, "three", True, True],
    ),
    "open_file unpacked": (
        OLD + TEXT_FILE + "import struct\na = '' + struct.unpack('3s', open(path, 'rb').read(3))[0]",
        "one",
    ),
    "lists of map": (
        OLD + "a = [map(int, '12'), filter(None, [0, 1]), zip([1], [2]), range(2) + [5]]",
        [[1, 2], [1], [(1, 2)], [0, 1, 5]],
    ),
}
CASES |= python2_cases.CASES | python2_meaning_cases.CASES | python2_text_cases.CASES | python2_file_cases.CASES
