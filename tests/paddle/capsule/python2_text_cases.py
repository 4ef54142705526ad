"""Scripts of Python 2 about strings, files and what is shown, and what they bound to `a` under Python 2.7."""

from __future__ import annotations

from typing import Any

OLD = "exec 'b = 1'\n"  # Python 2 syntax makes a text Python 2
HERE = (
    "import os, tempfile\nos_path = tempfile.mkdtemp() + '/'\n"
    "f = open(os_path + 'x', 'wb'); f.write('\\xff'); f.close()\n"
)

CASES: dict[str, tuple[str, Any]] = {
    "print_line": (
        OLD
        + (
            "import sys, StringIO\n"
            "sys.stdout, out = StringIO.StringIO(), sys.stdout\n"
            "x = 1.0 / 3\n"
            "print 'a',\n"
            "print x, [x], 5,\n"
            "print\n"
            "print 'tab\\t',\n"
            "print 'z', 2 ** 63, {2 ** 63: None}\n"
            "print >> sys.stdout, 'w', set([1])\n"
            "sys.stdout, a = out, sys.stdout.getvalue()\n"
        ),
        "a 0.333333333333 [0.3333333333333333] 5\ntab\tz 9223372036854775808 {9223372036854775808L: None}\n"
        "w set([1])\n",
    ),
    "print_line of a module without statements": (
        (
            "import cPickle\n"
            "import sys, StringIO\n"
            "sys.stdout, out = StringIO.StringIO(), sys.stdout\n"
            "print('a', 1.0 / 3)\n"
            "print(1.0 / 3)\n"
            "sys.stdout, a = out, sys.stdout.getvalue()\n"
        ),
        "('a', 0.3333333333333333)\n0.333333333333\n",
    ),
    "write_out": (
        OLD
        + HERE
        + (
            "import sys, StringIO\n"
            "sys.stdout, out = StringIO.StringIO(), sys.stdout\n"
            "sys.stdout = open(os_path + 'y', 'w')\n"
            "print 'a',\n"
            "sys.stdout.write('b')\n"
            "print 'c'\n"
            "sys.stdout.write('\\xc3\\xa9')\n"
            "sys.stdout.close()\n"
            "sys.stdout, a = out, open(os_path + 'y').read() == 'abc\\n\\xc3\\xa9'\n"
        ),
        True,
    ),
    "encoded": (
        OLD
        + (
            "s = 'caf\\xc3\\xa9'\n"
            "t = '中a'\n"
            "a = [len(s), s[3] == '\\xc3', ord(s[4]), s.decode('utf8') == u'caf\\xe9', len(t), t[3:], "
            "t.find('a'), s.upper(), t.split('a')[0] == '中', '%5s|' % t[3:], len('%6s' % '中'), [len(c) for c "
            "in t], 'x' + t + 'y' == 'x中ay', '\\xb8' in t, len(t * 2), t.center(6, '*')[:1]]"
        ),
        [5, True, 169, True, 4, "a", 3, "CAFé", True, "    a|", 6, [1, 1, 1, 1], True, True, 8, "*"],
    ),
    "encoded that is mixed with unicode": (
        OLD
        + (
            "a = [len(u'中' + '中'.decode('utf8')), u'%s' % '中'.decode('utf8') == u'中', {'中': 1}['中'], "
            "hash('中') == hash('中'), '中'.decode('utf8').encode('gbk') == '\\xd6\\xd0', "
            "len('中'.decode('utf8').encode('utf8'))]"
        ),
        [2, True, 1, True, True, 3],
    ),
    "encoded by libraries is read as text": (
        OLD + ("import json\na = [json.loads('\"中\"') == u'中', len(json.loads('[\"中文\"]')[0]), json.dumps('中')]"),
        [True, 2, '"\\u4e2d"'],
    ),
    "ByteText": (
        OLD
        + (
            "a = [b'abc' + 'd', b'a' == 'a', 'x%s' % b'y', b'abc'[0], '-'.join([b'a', 'b']), len(b'\\xff' + "
            "'\\xfe'), ord(b'\\xff'[0])]"
        ),
        ["abcd", True, "xy", "a", "a-b", 2, 255],
    ),
    "old_percent": (
        OLD
        + (
            "x = 1.0 / 3\n"
            "f = 'v %s'\n"
            "a = ['%s' % x, '%r' % x, '%s %s' % (x, [x]), '%(k)s' % {'k': x}, f % x, '%d %s %5.1f' % (3, None, "
            "x), '%r' % 'a', '%s' % (1e16,), '%s' % 123456789012.5, '%-6s|' % 1.5, 7 % 4, '%r' % '中', '%s' % "
            "1e11]"
        ),
        [
            "0.333333333333",
            "0.3333333333333333",
            "0.333333333333 [0.3333333333333333]",
            "0.333333333333",
            "v 0.333333333333",
            "3 None   0.3",
            "'a'",
            "1e+16",
            "1.23456789012e+11",
            "1.5   |",
            3,
            "'\\xe4\\xb8\\xad'",
            "1e+11",
        ],
    ),
    "old_format": (
        OLD
        + (
            "x = 1.0 / 3\n"
            "a = ['{}'.format(x), '{!r} {!s} {:.2f}'.format(x, x, x), '{0} {k}'.format(1, k=x), "
            "len('{:6}'.format('中')), '{}'.format([x])]"
        ),
        ["0.333333333333", "0.3333333333333333 0.333333333333 0.33", "1 0.333333333333", 6, "[0.3333333333333333]"],
    ),
    "format_value": (OLD + "a = [format(1.0 / 3), format(1.0 / 3, '.2f'), format(5)]", ["0.333333333333", "0.33", "5"]),
    "to_text": (
        OLD
        + (
            "a = [str(1.0 / 3), str(0.1 + 0.2), str(1e12), str(-0.0), str(float('nan')), str(1j / 3), str([0.1 "
            "+ 0.2]), str(5L), str(2 ** 70), str(), str(bytearray('ab')), str(int), str(ValueError), "
            "str(ValueError('a', 1)), map(str, [1.0 / 3]), str(set(['a'])), bytes(5), str(xrange(3))]"
        ),
        [
            "0.333333333333",
            "0.3",
            "1e+12",
            "-0.0",
            "nan",
            "0.333333333333j",
            "[0.30000000000000004]",
            "5",
            "1180591620717411303424",
            "",
            "ab",
            "<type 'int'>",
            "<type 'exceptions.ValueError'>",
            "('a', 1)",
            ["0.333333333333"],
            "set(['a'])",
            "5",
            "xrange(3)",
        ],
    ),
    "to_repr": (
        OLD
        + (
            "a = [repr(1.0 / 3), repr('é'), repr(u'é\\u4e2d'), repr([2 ** 63, 'é']), repr({'a': (1.0 / "
            "3,)}), repr(frozenset([1])), repr(KeyError('k')), `0.1`, repr((1,)), repr([[], {}, ()]), "
            "repr(True)]"
        ),
        [
            "0.3333333333333333",
            "'\\xc3\\xa9'",
            "u'\\xe9\\u4e2d'",
            "[9223372036854775808L, '\\xc3\\xa9']",
            "{'a': (0.3333333333333333,)}",
            "frozenset([1])",
            "KeyError('k',)",
            "0.1",
            "(1,)",
            "[[], {}, ()]",
            "True",
        ],
    ),
    "oct_of": (
        OLD + "a = [oct(8), oct(0), oct(-9), oct(10 ** 20), '%o' % 8]",
        ["010", "0", "-011", "012657072742654304000000L", "10"],
    ),
    "hex_of": (OLD + "a = [hex(255), hex(-1), hex(2 ** 64)]", ["0xff", "-0x1", "0x10000000000000000L"]),
    "ord_of": (
        OLD + HERE + "a = [map(ord, 'é'), ord('a'), ord(u'\\u4e2d'), ord(open(os_path + 'x', 'rb').read()[0])]",
        [[195, 169], 97, 20013, 255],
    ),
    "type_of": (
        OLD
        + (
            "a = [type('a') == str, type('é') is str, type(u'é') is unicode, type('é'.decode('utf8')) == "
            "unicode, type(u'é'.encode('utf8')) is str, type(1) == int, type([]) in (list, tuple), "
            "type('é').__name__]"
        ),
        [True, True, True, True, True, True, True, "str"],
    ),
    "Str": (
        OLD
        + (
            "a = [isinstance('é', str), isinstance(u'é', str), isinstance(u'é'.encode('utf8'), str), "
            "isinstance('a', (str, int)), isinstance('a', bytes), isinstance(5, str), str is str]"
        ),
        [True, False, True, True, True, False, True],
    ),
    "Unicode": (
        OLD
        + (
            "a = [isinstance(u'é', unicode), isinstance('é', unicode), isinstance('é', (str, unicode)), "
            "unicode(5) + unicode('é', 'utf8') == u'5é', unicode(1.0 / 3) == u'0.333333333333', map(unicode, "
            "['a'])]"
        ),
        [True, False, True, True, True, ["a"]],
    ),
    "byte_array": (
        OLD + "a = [list(bytearray('ab\\xff')), len(bytearray(3)), list(bytearray([1, 2]))]",
        [[97, 98, 255], 3, [1, 2]],
    ),
    "strings.zfill": (OLD + ("import string\na = [string.zfill(5, 3), string.zfill('x', 2)]"), ["005", "0x"]),
    "strings.WHITESPACE": (OLD + ("import string\na = string.whitespace"), "\t\n\x0b\x0c\r "),
    "replace": (
        OLD
        + (
            "a = ['a,b'.replace(',', '，') == 'a，b', len('a,b'.replace(',', '，')), '中b'.replace('中', 'x'), "
            "'a'.replace('a', 'b'), u'中b'.replace(u'中', u'') == u'b']"
        ),
        [True, 5, "xb", "b", True],
    ),
    "popen": (
        OLD + ("import os\na = [os.popen('echo hi').read(), [len(x) for x in os.popen('printf \"\\303\\251\\n\"')]]"),
        ["hi\n", [3]],
    ),
    "getoutput": (OLD + ("import commands\na = commands.getoutput('echo hi')"), "hi"),
    "raw_input, input_of": (
        OLD
        + ("import sys, StringIO\nsys.stdin = StringIO.StringIO('x y\\n3\\n')\na = [raw_input().split(), input() + 1]"),
        [["x", "y"], 4],
    ),
    "stdin": (OLD + ("import sys\na = callable(sys.stdin.readline)"), True),
    "BOM_UTF8": (
        OLD + ("import codecs\na = ['\\xef\\xbb\\xbfx'.startswith(codecs.BOM_UTF8), len(codecs.BOM_UTF8 + 'a')]"),
        [True, 4],
    ),
    "encode through codecs": (
        OLD + ("import codecs\na = [codecs.encode('ab', 'hex'), len(codecs.encode(u'é', 'utf8'))]"),
        ["6162", 2],
    ),
    "decode through codecs": (
        OLD + ("import codecs\na = [codecs.decode('6162', 'hex'), codecs.decode('\\xc3\\xa9', 'utf8') == u'é']"),
        ["ab", True],
    ),
    ("paths.join, paths.splitext, paths.basename, paths.dirname, paths.split, paths.normpath, paths.abspath"): (
        OLD
        + (
            "import os\n"
            "a = [len(os.path.join('中', 'a')), os.path.join('a', u'b'), map(len, os.path.splitext('中.txt')), "
            "len(os.path.basename('x/中')), len(os.path.dirname('中/x')), map(len, os.path.split('中/é')), "
            "len(os.path.normpath('中//a')), os.path.abspath('/中') == '/中', os.path.join('a', 'b')]"
        ),
        [5, "a/b", [3, 4], 3, 3, [3, 2], 5, True, "a/b"],
    ),
    "folders.listdir, folders.glob, folders.walk": (
        OLD
        + HERE
        + (
            "import os, glob\n"
            "os.mkdir(os_path + 'd')\n"
            "open(os_path + 'd/中.txt', 'w').close()\n"
            "a = [map(len, os.listdir(os_path + 'd')), [len(os.path.basename(n)) for n in glob.glob(os_path + "
            "'d/*')], [len(n) for r, d, f in os.walk(os_path + 'd') for n in f]]"
        ),
        [[7], [7], [7]],
    ),
    "folders.reader, folders.DictReader": (
        OLD
        + HERE
        + (
            "import csv\n"
            "f = open(os_path + 'c', 'wb'); csv.writer(f).writerow(['中', 1, 1.5]); f.close()\n"
            "a = [[map(len, row) for row in csv.reader(open(os_path + 'c', 'rb'))], csv.reader(open(os_path + "
            "'c')).next()[1:], [len(r['x']) for r in csv.DictReader(open(os_path + 'c'), ['x', 'y'])]]"
        ),
        [[[3, 1, 3]], ["1", "1.5"], [3]],
    ),
    ("regex.compile, regex.findall, regex.match, regex.search, regex.split, regex.sub, regex.subn, regex.finditer"): (
        OLD
        + (
            "import re\n"
            "p = re.compile('([\\x80-\\xff]+)')\n"
            "a = [len(p.findall('a中b')[0]), p.sub('', '中x'), re.findall('.', '中') == ['\\xe4', '\\xb8', "
            "'\\xad'], re.match(r'\\w', u'é'), re.match(r'(?u)\\w', u'é') is not None, re.search('文', "
            "'中文').start(), re.split('，', 'a，b'), re.sub('b', '中', 'abc') == 'a中c', "
            "re.findall(u'[\\u4e00-\\u9fa5]', u'a中') == [u'中'], re.match(r'(?P<k>\\d+)', '12').groupdict(), "
            "[m.group() for m in re.finditer(r'\\d', '1a2')], re.subn('a', 'b', 'aa'), "
            "re.compile('a').sub(lambda m: m.group() + '中', 'a') == 'a中', re.split('x*', 'axb'), "
            "len(re.match('(.)(.)', '中').group(1, 2)), re.sub('(.)中', r'\\1-', 'a中')]"
        ),
        [
            3,
            "x",
            True,
            None,
            True,
            3,
            ["a", "b"],
            True,
            True,
            {"k": "12"},
            ["1", "2"],
            ("bb", 2),
            True,
            ["a", "b"],
            2,
            "a-",
        ],
    ),
    "jsons.dumps": (
        OLD
        + (
            "import json\n"
            "a = [json.dumps([1], indent=1), json.dumps({'k': u'中'.encode('utf8')}), json.dumps('中', "
            "ensure_ascii=False) == '\"中\"', len(json.dumps('中', ensure_ascii=False))]"
        ),
        ["[\n 1\n]", '{"k": "\\u4e2d"}', True, 5],
    ),
    "pickles.dumps, pickles.Pickler, pickles.Unpickler": (
        OLD
        + HERE
        + (
            "import cPickle, pickle, StringIO\n"
            "d = {'a': '中', 'b': u'中', 'c': [1, 2L, None]}\n"
            "b = StringIO.StringIO(); pickle.Pickler(b, 2).dump('é'); pickle.dump('x', open(os_path + 'p', "
            "'w'))\n"
            "a = [cPickle.loads(cPickle.dumps(d)) == d, len(pickle.loads(pickle.dumps(d, 2))['a']), "
            "len(pickle.loads(cPickle.dumps(d, -1))['b']), type(pickle.dumps(1)) is str, pickle.dumps(1), "
            "len(pickle.Unpickler(StringIO.StringIO(b.getvalue())).load()), cPickle.load(open(os_path + 'p'))]"
        ),
        [True, 3, 1, True, "I1\n.", 2, "x"],
    ),
    "files count bytes": (
        OLD
        + HERE
        + (
            "f = open(os_path + 'y', 'w'); f.write('中文\\n'); print >> f, 'x', 1.0 / 3; "
            "f.write('\\xff\\r\\n'); f.close()\n"
            "f = open(os_path + 'y')\n"
            "a = [map(len, open(os_path + 'y')), len(f.readline()), f.tell(), f.read(2), len(f.read()), "
            "open(os_path + 'y').read()[:3] == '中', len(open(os_path + 'y', 'rU').read()), open(os_path + 'y', "
            "'rb').read()[-3:] == '\\xff\\r\\n']"
        ),
        [[7, 17, 3], 7, 7, "x ", 18, True, 26, True],
    ),
    "literals that are evaluated as bytes": (
        OLD
        + (
            "a = [len('\\u4e2d'), len('é\\xe9\\n'), len(r'é\\n'), len('é' 'a' '\\xff'), len('\\N{DASH}'), "
            "len(ur'\\u4e2d\\n'), len(u'\\u4e2d'), '''é\n"
            "'''[2:], len(\"\"\"\\\n"
            '中""")]'
        ),
        [6, 4, 4, 4, 8, 3, 1, "\n", 3],
    ),
    "print_values": (
        (
            "from __future__ import print_function\n"
            "import sys, StringIO\n"
            "sys.stdout, out = StringIO.StringIO(), sys.stdout\n"
            "print('a', 1.0 / 3, sep='-', end='!')\n"
            "sys.stdout, a = out, sys.stdout.getvalue()\n"
        ),
        "a-0.333333333333!",
    ),
}
