"""Speech synthesis: a small Tacotron (attention decoder unrolled through StaticRNN, zoneout, postnet), guided attention, griffin-lim in NumPy, and a WaveFlow-like flow; data from wave files written with the wave module, multiprocess reader."""
import wave, struct, io, os, sys, json, math, multiprocessing, random, contextlib, glob, collections
import numpy as np
import paddle, paddle.fluid as fluid
import paddle.fluid.layers as F
RATE, N, HOP, MEL = 2000, 64, 32, 10
CH = ' abcdef'
def tone(text, seed):
    r = random.Random(seed); t = np.arange(160) / RATE
    return np.concatenate([np.sin(2 * np.pi * (150 + 90 * CH.index(c)) * t) * .5 + np.array([r.gauss(0, .01) for _ in t]) for c in text])
def write(folder, n):
    meta = []
    for i in range(n):
        r = random.Random(i); text = ''.join(r.choice(CH) for _ in range(r.randint(2, 4)))
        with contextlib.closing(wave.open(os.path.join(folder, '%02d.wav' % i), 'wb')) as w:
            w.setnchannels(1); w.setsampwidth(2); w.setframerate(RATE); s = tone(text, i); w.writeframes(struct.pack('<%dh' % len(s), *[int(max(-1, min(1, v)) * 32767) for v in s]))
        meta.append('%02d|%s' % (i, text))
    with io.open(os.path.join(folder, 'metadata.csv'), 'w', encoding='utf-8') as f: f.write(u'\n'.join(meta))
def mel_basis():
    f = np.linspace(0, RATE / 2, N // 2 + 1); pts = np.linspace(0, RATE / 2, MEL + 2); b = np.zeros((MEL, len(f)))
    for i in range(MEL): b[i] = np.maximum(0, np.minimum((f - pts[i]) / (pts[i + 1] - pts[i]), (pts[i + 2] - f) / (pts[i + 2] - pts[i + 1])))
    return b
def spec(x):
    fr = np.stack([x[i:i + N] * np.hanning(N) for i in range(0, len(x) - N, HOP)]); return np.abs(np.fft.rfft(fr))
def load(path):
    w = wave.open(path); raw = w.readframes(w.getnframes()); w.close()
    return np.frombuffer(raw, dtype='<i2').astype(np.float) / 32768
def sample(folder):
    def r():
        for line in open(os.path.join(folder, 'metadata.csv')):
            k, text = line.rstrip().split('|') if line.strip()[-1] != '|' else (line.split('|')[0], '')
            m = np.log(np.dot(spec(load(os.path.join(folder, k + '.wav'))), mel_basis().T) + 1e-2)
            yield [CH.index(c) for c in line.rstrip('\n').split('|')[1]], m.astype('float32').tolist()
    return r
def pad(b):
    T, S = 20, 4; ids = np.zeros((len(b), S), 'int64'); mel = np.zeros((len(b), T, MEL), 'float32'); m = np.zeros((len(b), T), 'float32'); sm = np.full((len(b), S), -1e4, 'float32')
    for i, (t, s) in enumerate(b): ids[i, :len(t)] = t; s = np.array(s)[:T]; mel[i, :len(s)] = s; m[i, :len(s)] = 1; sm[i, :len(t)] = 0
    prev = np.concatenate([np.zeros((len(b), 1, MEL), 'f'), mel[:, :-1]], 1)
    g = np.stack([[[1 - math.exp(-((n / max(len(t), 1) - k / max(len(s), 1)) ** 2) / .08) for n in range(S)] for k in range(T)] for t, s in b])
    return {'ids': ids, 'mel': mel, 'mask': m, 'smask': sm, 'prev': prev, 'guide': g.astype('float32')}
def tacotron():
    H = 16; d = lambda n, s, t='float32': fluid.data(n, [-1] + s, t)
    ids, mel, mask, sm, prev, guide = d('ids', [4], 'int64'), d('mel', [20, MEL]), d('mask', [20]), d('smask', [4]), d('prev', [20, MEL]), d('guide', [20, 4]); sm.stop_gradient = False
    e = fluid.embedding(ids, [len(CH), 12]); e = F.transpose(e, [0, 2, 1]); e = F.unsqueeze(e, [2]); e = F.conv2d(e, 12, (1, 3), padding=(0, 1), act='relu'); e = F.transpose(F.squeeze(e, [2]), [0, 2, 1])
    mem = F.fc(e, H, num_flatten_dims=2, act='tanh')
    pre = F.dropout(F.fc(prev, 12, num_flatten_dims=2, act='relu'), .3, seed=7, dropout_implementation='upscale_in_train')
    pre = F.transpose(pre, [1, 0, 2])
    rnn = F.StaticRNN()
    with rnn.step():
        x = rnn.step_input(pre); h, c = [rnn.memory(shape=[-1, H], batch_ref=pre, ref_batch_dim_idx=1, init_value=0.) for _ in range(2)]; ctx = rnn.memory(shape=[-1, H], batch_ref=pre, ref_batch_dim_idx=1)
        o, nc = F.lstm_unit(F.concat([x, ctx], 1), h, c, forget_bias=.5, param_attr='dec_w', bias_attr='dec_b'); nh = o
        q = F.unsqueeze(F.fc(o, H, bias_attr=False, name='q'), [1]); a = F.softmax(F.squeeze(F.matmul(q, mem, transpose_y=True), [1]) * H ** -.5 + sm)
        n = F.squeeze(F.matmul(F.unsqueeze(a, [1]), mem), [1])
        for m_, v in ((h, .9 * nh + .1 * h), (c, nc), (ctx, n)): rnn.update_memory(m_, v)
        rnn.step_output(F.concat([o, n], 1)); rnn.step_output(a)
    out, att = rnn(); out, att = F.transpose(out, [1, 0, 2]), F.transpose(att, [1, 0, 2])
    y = F.fc(out, MEL, num_flatten_dims=2); stop = F.squeeze(F.fc(out, 1, num_flatten_dims=2), [2])
    p = F.transpose(y, [0, 2, 1]); p = F.unsqueeze(p, [3]); p = F.batch_norm(F.conv2d(p, 8, (5, 1), padding=(2, 0)), act='tanh'); p = F.conv2d(p, MEL, (5, 1), padding=(2, 0)); y2 = y + F.transpose(F.squeeze(p, [3]), [0, 2, 1])
    mk = F.unsqueeze(mask, [2]); l1 = F.reduce_sum(F.abs(y - mel) * mk) / (F.reduce_sum(mask) * MEL); l2 = F.reduce_sum(F.square(y2 - mel) * mk) / (F.reduce_sum(mask) * MEL)
    ls = F.reduce_mean(F.sigmoid_cross_entropy_with_logits(stop, 1. - mask)); ga = F.reduce_mean(att * guide * mk)
    return [F.sum([l1, l2, ls, ga]), l1, l2, ls, ga], y2, att
def flow():
    x = fluid.data('x', [None, 16]); z, det = x, []
    for i in range(3):
        a, b = F.split(z, 2, dim=1); h = F.fc(a, 12, act='tanh', name='fl%d' % i); s, t = F.split(F.fc(h, 16, name='st%d' % i, param_attr=fluid.initializer.Constant(0.02)), 2, dim=1); s = F.tanh(s) * .5
        b = (b + t) * F.exp(s); det.append(F.reduce_sum(s, dim=1)); z = F.concat([b, a], 1)
    return F.reduce_mean(.5 * F.reduce_sum(F.square(z), dim=1) - F.sums(det)) / 16.
def main():
    os.makedirs('wavs', exist_ok=True); write('wavs', 12); print(sorted(os.listdir('wavs'))[:2], '%.4f' % load('wavs/03.wav').std())
    reader = paddle.reader.multiprocess_reader([sample('wavs')], use_pipe=False, queue_size=4)
    data = sorted(reader(), key=lambda s: (len(s[1]), s[0]))
    m, s = fluid.Program(), fluid.Program(); s.random_seed = m.random_seed = 14
    with fluid.program_guard(m, s), fluid.unique_name.guard():
        losses, y, att = tacotron(); test = m.clone(for_test=True)
        fluid.optimizer.Adam(F.noam_decay(16, 10), epsilon=1e-6, grad_clip=fluid.clip.GradientClipByGlobalNorm(1.)).minimize(losses[0])
    exe = fluid.Executor(); exe.run(s)
    for i in range(30):
        o = exe.run(m, feed=pad([data[(i * 4 + k) % 12] for k in range(4)]), fetch_list=losses); print('tts %d %s' % (i, ' '.join('%.5f' % float(v) for v in o)))
    o, a = exe.run(test, feed=pad(data[:3]), fetch_list=[y, att]); lin = np.maximum(0, np.dot(np.exp(o[0]) - 1e-2, np.linalg.pinv(mel_basis()).T)); print('spec %.4f att %.4f' % (lin.sum(), a.max(2).sum()))
    fluid.save(m, 'tts/model'); st = fluid.load_program_state('tts/model'); print(len(st), sorted(st)[:2])
    m, s = fluid.Program(), fluid.Program(); s.random_seed = 2
    with fluid.program_guard(m, s), fluid.unique_name.guard(): l = flow(); fluid.optimizer.RMSProp(.01, centered=True).minimize(l)
    exe.run(s); wav = np.concatenate([load(f) for f in sorted(glob.glob('wavs/*.wav'))]).astype('f')
    for i in range(20): x = wav[i * 160:i * 160 + 160].reshape(10, 16); print('flow %d %.6f' % (i, float(exe.run(m, feed={'x': x}, fetch_list=[l])[0])))
if __name__ == '__main__': main()
