"""OCR lines drawn with a tiny font, kept in one packed file"""
import struct, zlib, os, glob, Queue, threading, sys, array, itertools
from types import StringType, ListType
import numpy as np

FONT = {'0': '757', '1': '262', '2': '617', '3': '717', '4': '551', '5': '746'}
MAGIC = '\x89OCR\r\n'

class BadFile(Exception): pass

def glyph(ch):
    rows = []
    for c in FONT[ch]:
        n = int(c)
        rows.append([(n >> k) & 1 for k in (2, 1, 0)])
    return np.array(rows, 'f')

def draw(text, h=12):
    g = np.concatenate([np.pad(np.kron(glyph(t), np.ones((h / 3, 4))), ((0, 0), (0, 2)), 'constant') for t in text], 1)
    return (g * 200).astype(np.uint8)

def pack(fn, n, rnd):
    f = file(fn, 'wb')
    try:
        f.write(MAGIC)
        for i in xrange(n):
            text = ''.join(rnd.choice(sorted(FONT)) for _ in range(rnd.randint(2, 4)))
            img = draw(text)
            noise = array.array('B', [rnd.randint(0, 50) for _ in xrange(img.size)])
            img = img + np.frombuffer(noise.tostring(), np.uint8).reshape(img.shape)
            raw = zlib.compress(img.tostring(), 6)
            f.write(struct.pack('<HHHI', img.shape[0], img.shape[1], len(text), len(raw)) + text + raw)
            f.write(struct.pack('!i', zlib.crc32(raw)))
    finally:
        f.close()

def unpack(fn):
    f = open(fn, 'rb')
    if f.read(len(MAGIC)) <> MAGIC:
        raise BadFile, 'not ours: %s' % fn
    size = struct.calcsize('<HHHI')
    while 1:
        head = f.read(size)
        if not head: break
        h, w, n, z = struct.unpack('<HHHI', head)
        text = f.read(n); raw = f.read(z)
        crc, = struct.unpack('!i', f.read(4))
        if crc != zlib.crc32(raw):
            raise BadFile('crc %08x' % (crc & 0xffffffffL))
        yield np.fromstring(zlib.decompress(raw), 'uint8').reshape(h, w), text
    f.close()

class Loader(threading.Thread):
    def __init__(self, files, queue):
        threading.Thread.__init__(self)
        self.files, self.queue = files, queue
        self.setDaemon(True)
    def run(self):
        try:
            for fn in self.files:
                for s in unpack(fn):
                    self.queue.put(s)
        except:
            et, ev, tb = sys.exc_info()
            self.queue.put((et, ev, tb))
            return
        self.queue.put(StopIteration)

def reader(pattern):
    def _r():
        q = Queue.Queue(maxsize=8)
        files = glob.glob(pattern); files.sort()
        Loader(files, q).start()
        while True:
            x = q.get()
            if x is StopIteration:
                return
            if len(x) == 3:
                raise x[0], x[1], x[2]
            img, text = x
            lab = [ord(c) - ord('0') for c in text]
            assert type(text) is StringType and isinstance(lab, ListType)
            yield [((img.astype('float32') - 127.5) / 127.5)[np.newaxis], lab]
    return _r
