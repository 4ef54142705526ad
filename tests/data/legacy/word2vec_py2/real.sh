# The original Fluid needs Python 3.7 here: 2to3, and what it leaves to the eye.
"$FLUID_PYTHON" -m lib2to3 -w -n --no-diffs train.py > /dev/null 2>&1
sed -i -e "s/^reload(sys)//; s/^sys.setdefaultencoding.*//; s/importlib.reload(sys)//; s/imp.reload(sys)//" \
    -e "s#32 / 4, 64 / 4#32 // 4, 64 // 4#; s#100 / 20#100 // 20#; s#state / 4#state // 4#g; s#(20 / 4)#(20 // 4)#; s#len(outs) / 2#len(outs) // 2#" \
    -e "s/'wb')$/'w')/; s/open(path, 'rb')/open(path)/; s/open('dict.pkl', 'w')/open('dict.pkl', 'wb')/; s/open('dict.pkl'))/open('dict.pkl', 'rb'))/" \
    -e "s/string.lowercase/string.ascii_lowercase/; s/\.encode('utf-8')//" \
    -e "s/freq.sort(lambda a, b: cmp(b\[1\], a\[1\]) or cmp(a\[0\], b\[0\]))/freq.sort(key=lambda x: (-x[1], x[0]))/" train.py
