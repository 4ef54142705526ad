"""PPO and A2C with continuous and discrete heads on toy environments; several programs over one scope, params synced by assign ops, GAE, threads as actors, running mean/std, save with a custom filename, py2/3 code."""
from __future__ import absolute_import, division, print_function
import os, sys, time, threading, random, copy, math, json
from collections import deque, namedtuple, OrderedDict
try: import Queue as queue
except ImportError: import queue
import numpy as np, six
import paddle.fluid as fluid
import paddle.fluid.layers as layers
Batch = namedtuple('Batch', 'obs act ret adv old')
class Env(object):
    def __init__(self, seed, discrete): self.rng = np.random.RandomState(seed); self.discrete = discrete
    def reset(self): self.x = self.rng.uniform(-1, 1, 3).astype('float32'); self.t = 0; return self.x
    def step(self, a):
        push = (float(a) - 1) * .4 if self.discrete else float(np.clip(a, -1, 1)) * .4
        self.x = np.float32(self.x * .9 + np.array([push, self.rng.normal(0, .05), 0])); self.t += 1
        return self.x, -abs(float(self.x[0] - self.x[2])), self.t >= 12, {}
class RunningStat:
    def __init__(self, shape): self._n, self._m, self._s = 0, np.zeros(shape), np.zeros(shape)
    def push(self, x):
        x = np.asarray(x); self._n += 1
        if self._n == 1: self._m[...] = x
        else: old = self._m.copy(); self._m[...] = old + (x - old) / self._n; self._s[...] = self._s + (x - old) * (x - self._m)
        return np.clip((x - self._m) / (np.sqrt(self._s / max(self._n - 1, 1)) + 1e-8), -5, 5).astype('float32')
class Agent(object):
    def __init__(self, discrete, prefix=''):
        self.discrete, self.p = discrete, prefix; self.act_prog, self.learn, self.sync, self.start = [fluid.Program() for _ in range(4)]; self.start.random_seed = 6
        with fluid.program_guard(self.act_prog, self.start): obs = layers.data('obs', [3]); self.dist = self.policy(obs, ''); self.val = self.value(obs)
        with fluid.program_guard(self.learn, self.start):
            obs, act, ret, adv, old = layers.data('obs', [3]), layers.data('act', [1], dtype='int64' if discrete else 'float32'), layers.data('ret', [1]), layers.data('adv', [1]), layers.data('old', [1])
            d, o = self.policy(obs, ''), self.policy(obs, 'old_')
            for v in o: v.stop_gradient = True
            lp, lo = self.logp(d, act), self.logp(o, act)
            ratio = layers.exp(lp - lo); s1, s2 = ratio * adv, layers.clip(ratio, .8, 1.2) * adv
            ent = self.entropy(d); self.pi_loss = -1.0 * layers.reduce_mean(layers.elementwise_min(s1, s2)) - .01 * ent
            self.v_loss = layers.reduce_mean(layers.square_error_cost(self.value(obs), ret)); self.kl = layers.reduce_mean(lo - lp)
            names = [p.name for p in self.learn.all_parameters()]
            fluid.optimizer.AdamOptimizer(.01, epsilon=1e-5).minimize(self.pi_loss, parameter_list=[n for n in names if n.startswith('pi_')]); fluid.optimizer.SGDOptimizer(.01).minimize(self.v_loss, parameter_list=[n for n in names if n.startswith('v_')])
        with fluid.program_guard(self.sync, self.start):
            b = self.sync.global_block()
            for n in names:
                if n.startswith('old_'):
                    src, dst = [b.create_parameter(name=k, shape=self.learn.global_block().var(n).shape, dtype='float32') if False else b.create_var(name=k, shape=self.learn.global_block().var(n).shape, dtype='float32', persistable=True) for k in (n[4:], n)]
                    layers.assign(src, dst)
        self.exe = fluid.Executor(fluid.CPUPlace()); self.exe.run(self.start); self.exe.run(self.sync)
    def policy(self, obs, pre):
        a = lambda n: dict(param_attr=fluid.ParamAttr(name='%spi_%s_w' % (pre, n), initializer=fluid.initializer.Normal(0., .1, seed=4)), bias_attr='%spi_%s_b' % (pre, n))
        h = layers.fc(obs, 16, act='tanh', **a('h'))
        if self.discrete: return [layers.softmax(layers.fc(h, 3, **a('o')))]
        mean = layers.fc(h, 1, **a('m')); std = layers.create_parameter([1], 'float32', name=pre + 'pi_logstd', default_initializer=fluid.initializer.Constant(-.5))
        return [mean, std]
    def value(self, obs):
        h = layers.fc(obs, 16, act='relu', param_attr=fluid.ParamAttr('v_w1', initializer=fluid.initializer.Xavier(seed=2)), bias_attr='v_b1'); return layers.fc(h, 1, param_attr=fluid.ParamAttr('v_w2', initializer=fluid.initializer.Xavier(False, seed=2)), bias_attr='v_b2')
    def logp(self, d, act):
        if self.discrete: return layers.log(layers.reduce_sum(d[0] * layers.cast(layers.one_hot(act, 3), 'float32'), dim=1, keep_dim=True) + 1e-8)
        mean, ls = d; return -0.5 * layers.square((act - mean) / layers.exp(ls)) - ls - .5 * math.log(2 * math.pi)
    def entropy(self, d):
        if self.discrete: return layers.reduce_mean(-1. * layers.reduce_sum(d[0] * layers.log(d[0] + 1e-8), dim=1))
        return layers.reduce_sum(d[1]) + .5 * math.log(2 * math.pi * math.e)
    def act(self, obs, rng):
        o = self.exe.run(self.act_prog, feed={'obs': obs[None]}, fetch_list=self.dist + [self.val])
        if self.discrete: return int((np.cumsum(o[0][0]) < rng.rand()).sum()), float(o[-1])
        return float(o[0] + np.exp(o[1]) * rng.normal()), float(o[-1])
    def train(self, b, epochs=2, size=12):
        out = []
        for e in six.moves.range(epochs):
            for i in range(0, len(b.obs), size):
                f = {k: getattr(b, k)[i:i + size] for k in Batch._fields}
                out.append(self.exe.run(self.learn, feed=f, fetch_list=[self.pi_loss, self.v_loss, self.kl]))
        self.exe.run(self.sync); return np.array(out).reshape(-1, 3)
def rollout(agent, env, rng, stat, n=2):
    obs, act, rew, val, done = [[] for _ in range(5)]
    for _ in range(n):
        o, d = stat.push(env.reset()), False
        while not d:
            a, v = agent.act(o, rng); o2, r, d, _ = env.step(min(a, 2) if env.discrete else a)
            for l, x in zip((obs, act, rew, val, done), (o, min(a, 2) if env.discrete else a, r, v, d)): l.append(x)
            o = stat.push(o2)
    adv, last = np.zeros(len(rew)), 0.
    for t in reversed(range(len(rew))):
        nv = 0 if done[t] else val[t + 1]; delta = rew[t] + .95 * nv - val[t]; last = delta + .95 * .9 * last * (1 - done[t]); adv[t] = last
    ret = adv + val; adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    c = lambda v, t='float32': np.array(v, t).reshape(-1, 1)
    return Batch(np.array(obs), c(act, 'int64' if env.discrete else 'float32'), c(ret), c(adv), c(val)), sum(rew) / n
def main(discrete):
    with fluid.scope_guard(fluid.Scope()):
        ag = Agent(discrete); rng = np.random.RandomState(1); stat = RunningStat(3); env = Env(9, discrete)
        if discrete:
            box = queue.Queue(1)
            def actor():
                for _ in range(9): box.put(rollout(ag, env, rng, stat)); gate.acquire()
            gate = threading.Semaphore(0); t = threading.Thread(target=actor); t.daemon = True
            scope = fluid.global_scope()
        for it in range(9):
            b, r = rollout(ag, env, rng, stat)
            o = ag.train(b); print('%s %d reward %.4f' % ('discrete' if discrete else 'continuous', it, r)); [print('  pi %.5f v %.5f kl %.6f' % tuple(x)) for x in o]
        fluid.io.save_params(ag.exe, 'rl', ag.learn, filename='agent_%d' % discrete); before = ag.exe.run(ag.act_prog, feed={'obs': np.ones((2, 3), 'f')}, fetch_list=ag.dist)
        new = Agent(discrete); fluid.io.load_params(new.exe, 'rl', new.learn, filename='agent_%d' % discrete)
        after = new.exe.run(new.act_prog, feed={'obs': np.ones((2, 3), 'f')}, fetch_list=new.dist); print(all((x == y).all() for x, y in zip(before, after)), '%.6f' % before[0].sum(), os.path.getsize('rl/agent_%d' % discrete))
for d in (True, False): main(d)
