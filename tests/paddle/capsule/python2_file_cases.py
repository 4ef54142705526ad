"""Scripts of Python 2 about archives, handlers and encodings of files, and what they bound to `a` under Python 2.7."""

from __future__ import annotations

from typing import Any

OLD = "exec 'b = 1'\n"  # Python 2 syntax makes a text Python 2

CASES: dict[str, tuple[str, Any]] = {
    "addfile, writestr": (
        OLD
        + (
            "import tarfile, zipfile, StringIO, tempfile\n"
            "d = tempfile.mkdtemp()\n"
            "text = '书\\xff\\n'\n"
            "info = tarfile.TarInfo('m'); info.size = len(text)\n"
            "t = tarfile.open(d + '/t.tgz', 'w:gz'); t.addfile(info, StringIO.StringIO(text))\n"
            "t.addfile(tarfile.TarInfo('empty')); t.close()\n"
            "z = zipfile.ZipFile(d + '/z.zip', 'w'); z.writestr('m', text); z.close()\n"
            "t = tarfile.open(d + '/t.tgz')\n"
            "a = [t.extractfile('m').read() == text, zipfile.ZipFile(d + '/z.zip').read('m') == text, t.getnames()]\n"
            "t.close()\n"
        ),
        [True, True, ["m", "empty"]],
    ),
    "byte_functions.tobytes": (
        OLD
        + (
            "import array, numpy as np\n"
            "a = ['P5 ' + array.array('B', [65, 66]).tostring(), 'x' + np.array([67], 'u1').tobytes(),\n"
            "     len('x' + np.array([255], 'u1').tostring()), np.fromstring(np.arange(3.).tostring()).tolist()]\n"
        ),
        ["P5 AB", "xC", 2, [0.0, 1.0, 2.0]],
    ),
    "handlers that take exceptions apart": (
        OLD
        + (
            "a = []\n"
            "try: raise ValueError, ('v', 1)\n"
            "except (KeyError, ValueError) as (x, y): a.append(x); a.append(y)\n"
            "try: {}['k']\n"
            "except KeyError, (x,): a.append(x)\n"
            "class C: pass\n"
            "c = C()\n"
            "try:\n"
            "    1 / 0\n"
            "except ZeroDivisionError as c.error:\n"
            "    a.append(type(c.error) is ZeroDivisionError)\n"
        ),
        ["v", 1, "k", True],
    ),
    "literals in the encoding of their file": (
        "# -*- coding: gbk -*-\n"
        + OLD
        + (
            "s, u = '排序', u'排序'\n"
            "a = [len(s), len(u), s.decode('gbk') == u, s == u.encode('gbk'), s + 'x' == '\\xc5\\xc5\\xd0\\xf2x',\n"
            "     len('\\n誠'), s[:2] == '排']\n"
        ),
        [4, 2, True, True, True, 3, True],
    ),
    "folders.reader, folders.DictReader of bytes": (
        OLD
        + (
            "import csv, StringIO\n"
            "text = u'\\u7532,1\\n\\u4e59,2\\n'.encode('utf8')\n"
            "rows = list(csv.reader(StringIO.StringIO(text)))\n"
            "named = list(csv.DictReader(StringIO.StringIO('k,v\\n' + text)))\n"
            "a = [[len(row[0]) for row in rows], rows[1][1], rows[0][0] == '甲', named[1]['k'] == '乙', len(named)]\n"
        ),
        [[3, 3], "2", True, True, 2],
    ),
    "config_parser of encoded unicode": (
        OLD
        + (
            "import ConfigParser, StringIO\n"
            "c = ConfigParser.RawConfigParser()\n"
            "c.readfp(StringIO.StringIO(u'[s]\\nk = \\u7532\\n'.encode('utf8')))\n"
            "a = [len(c.get('s', 'k')), len(c.get('s', 'k').decode('utf8'))]\n"
        ),
        [3, 1],
    ),
    "parse_xml": (
        OLD
        + (
            "import StringIO, tempfile, xml.etree.cElementTree as ET\n"
            "text = '<a><b k=\"书\">t</b></a>'\n"
            "path = tempfile.mkdtemp() + '/x.xml'\n"
            "f = open(path, 'w'); f.write(text); f.close()\n"
            "a = [ET.parse(x).getroot()[0].attrib['k'] == u'书' for x in (StringIO.StringIO(text), open(path), path)]\n"
        ),
        [True, True, True],
    ),
}
