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
}
