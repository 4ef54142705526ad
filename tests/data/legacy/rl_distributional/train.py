"""Policy learning on a tiny grid: distributional DQN, soft Q with sampling, trust region by KL of Gaussians."""

import random, collections, copy
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.layers as layers
from paddle.fluid.layers import Normal, Uniform, Categorical, MultivariateNormalDiag


class Grid(object):
    def __init__(self, n=5, seed=0):
        self.n, self.rng = n, np.random.RandomState(seed)

    def reset(self):
        self.p = [0, 0]
        self.t = 0
        return self.obs()

    def obs(self):
        o = np.zeros(2 * self.n, "float32")
        o[self.p[0]] = 1
        o[self.n + self.p[1]] = 1
        return o

    def step(self, a):
        d = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.p = [min(self.n - 1, max(0, self.p[i] + d[i])) for i in (0, 1)]
        self.t += 1
        done = self.p == [self.n - 1] * 2 or self.t >= 20
        return self.obs(), (1.0 if self.p == [self.n - 1] * 2 else -0.05), done


ATOMS, VMIN, VMAX = 11, -1.0, 1.0


class C51(object):
    def __init__(self, obs_dim, act_dim):
        self.obs_dim, self.act_dim = obs_dim, act_dim
        self.predict_prog, self.learn_prog, self.startup = fluid.Program(), fluid.Program(), fluid.Program()
        for p in (self.predict_prog, self.learn_prog, self.startup):
            p.random_seed = 5
        with fluid.program_guard(self.predict_prog, self.startup):
            obs = layers.data("obs", [obs_dim])
            p = self.dist(obs, "q")
            z = layers.assign(np.linspace(VMIN, VMAX, ATOMS).astype("float32"))
            self.q = layers.reduce_sum(p * layers.reshape(z, [1, 1, ATOMS]), -1)
            self.best = layers.argmax(self.q, 1)
            self.worst = layers.argmin(self.q, 1)
        with fluid.program_guard(self.learn_prog, self.startup):
            obs, nxt = layers.data("obs", [obs_dim]), layers.data("next", [obs_dim])
            act = layers.data("act", [1], dtype="int64")
            rew = layers.data("rew", [1])
            done = layers.data("done", [1])
            z = layers.assign(np.linspace(VMIN, VMAX, ATOMS).astype("float32"))
            delta = (VMAX - VMIN) / (ATOMS - 1)
            pn = self.dist(nxt, "target")
            pn.stop_gradient = True
            greedy = layers.argmax(
                layers.reduce_sum(self.dist(nxt, "q") * layers.reshape(z, [1, 1, ATOMS]), -1), 1
            )
            pick = layers.reduce_sum(
                pn * layers.unsqueeze(layers.one_hot(layers.reshape(greedy, [-1, 1]), act_dim), [2]), 1
            )
            tz = layers.clip(
                layers.elementwise_add(
                    layers.elementwise_mul(
                        layers.expand(layers.reshape(z, [1, ATOMS]), [32, 1]), (1.0 - done) * 0.95, axis=0
                    ),
                    rew,
                    axis=0,
                ),
                VMIN,
                VMAX,
            )
            diff = layers.abs(layers.unsqueeze(tz, [2]) - layers.reshape(z, [1, 1, ATOMS])) / delta
            w = layers.clip(1.0 - diff, 0.0, 1.0)
            target = layers.reduce_sum(layers.unsqueeze(pick, [2]) * w, 1)
            target.stop_gradient = True
            p = layers.reduce_sum(
                self.dist(obs, "q") * layers.unsqueeze(layers.one_hot(act, act_dim), [2]), 1
            )
            ce = 0.0 - layers.reduce_sum(target * layers.log(p + 1e-6), 1, keep_dim=True)
            isw = layers.data("isw", [1])
            self.td = ce
            self.loss = layers.mean(ce * isw)
            params = [v for v in self.learn_prog.all_parameters() if v.name.startswith("q")]
            fluid.optimizer.RMSPropOptimizer(0.002, rho=0.95, momentum=0.5, centered=True).minimize(
                self.loss, parameter_list=[v.name for v in params]
            )
        self.sync = self.predict_prog.clone()
        with fluid.program_guard(self.sync):
            blk = self.sync.global_block()
            for v in params:
                t = blk.create_var(
                    name=v.name.replace("q", "target", 1), shape=v.shape, dtype="float32", persistable=True
                )
                s = blk.create_var(name=v.name, shape=v.shape, dtype="float32", persistable=True)
                layers.assign(layers.elementwise_add(layers.scale(t, 0.7), layers.scale(s, 0.3)), t)

    def dist(self, obs, n):
        h = layers.fc(
            obs,
            24,
            act="relu",
            param_attr=fluid.ParamAttr(name=n + "1.w"),
            bias_attr=fluid.ParamAttr(name=n + "1.b"),
        )
        v = layers.fc(
            h, ATOMS, param_attr=fluid.ParamAttr(name=n + "v.w"), bias_attr=fluid.ParamAttr(name=n + "v.b")
        )
        a = layers.reshape(
            layers.fc(
                h,
                self.act_dim * ATOMS,
                param_attr=fluid.ParamAttr(name=n + "a.w"),
                bias_attr=fluid.ParamAttr(name=n + "a.b"),
            ),
            [-1, self.act_dim, ATOMS],
        )
        return layers.softmax(layers.unsqueeze(v, [1]) + a - layers.reduce_mean(a, 1, keep_dim=True))


class Replay(object):
    def __init__(self, rng):
        self.buf, self.pri, self.rng = collections.deque(maxlen=400), collections.deque(maxlen=400), rng

    def add(self, t):
        self.buf.append(t)
        self.pri.append(max(self.pri or [1.0]))

    def sample(self, n):
        p = np.array(self.pri) ** 0.6
        p /= p.sum()
        idx = self.rng.choice(len(p), n, p=p)
        w = (len(p) * p[idx]) ** -0.4
        return idx, (w / w.max()).astype("float32")

    def update(self, idx, td):
        for i, v in zip(idx, td):
            self.pri[i] = float(round(v, 3)) + 1e-3


def c51():
    rng = np.random.RandomState(3)
    env = Grid()
    m = C51(10, 4)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(m.startup)
    rep = Replay(rng)
    steps = 0
    learned = 0
    while learned < 52:
        o = env.reset()
        done = False
        total = 0
        while not done:
            eps = max(0.2, 1 - steps / 150.0)
            a = (
                rng.randint(4)
                if rng.rand() < eps
                else int(exe.run(m.predict_prog, feed={"obs": o[None]}, fetch_list=[m.best])[0])
            )
            n, r, done = env.step(a)
            rep.add((o, a, r, n, float(done)))
            o = n
            total += r
            steps += 1
            if len(rep.buf) > 64 and steps % 4 == 0 and learned < 52:
                idx, w = rep.sample(32)
                b = [rep.buf[i] for i in idx]
                td, l = exe.run(
                    m.learn_prog,
                    feed={
                        "obs": np.stack([x[0] for x in b]),
                        "act": np.array([[x[1]] for x in b]),
                        "rew": np.array([[x[2]] for x in b], "float32"),
                        "next": np.stack([x[3] for x in b]),
                        "done": np.array([[x[4]] for x in b], "float32"),
                        "isw": w[:, None],
                    },
                    fetch_list=[m.td, m.loss],
                )
                rep.update(idx, td[:, 0])
                learned += 1
                if learned % 5 == 0:
                    exe.run(m.sync, feed={"obs": o[None]})
                print("c51 %d loss %.6f td %.5f" % (learned, l, td.mean()))
    q, wv = exe.run(m.predict_prog, feed={"obs": np.eye(10, dtype="float32")}, fetch_list=[m.q, m.worst])
    print("q", " ".join("%.4f" % v for v in q.mean(0)), wv.tolist())


def gaussian():
    prog, start = fluid.Program(), fluid.Program()
    prog.random_seed = start.random_seed = 8
    with fluid.program_guard(prog, start):
        obs = fluid.data("obs", [16, 3])
        act = fluid.data("act", [16, 2])
        adv = fluid.data("adv", [16, 1])
        old_m = fluid.data("om", [2])
        old_s = fluid.data("os", [2, 2])
        mean = layers.fc(layers.fc(obs, 8, act="tanh"), 2)
        logstd = layers.create_parameter(
            [2], "float32", name="logstd", default_initializer=fluid.initializer.Constant(-0.5)
        )
        d = Normal(layers.reduce_mean(mean, 0), layers.exp(logstd))
        lp = layers.reduce_sum(d.log_prob(act), 1, keep_dim=True)
        mv = MultivariateNormalDiag(layers.reduce_mean(mean, 0), layers.diag(layers.exp(logstd)))
        other = MultivariateNormalDiag(old_m, old_s)
        kl = mv.kl_divergence(other)
        ent = mv.entropy()
        cat = Categorical(layers.fc(obs, 4))
        cent = layers.reduce_mean(cat.entropy())
        u = Uniform([-1.0], [2.0])
        up = layers.reduce_mean(u.log_prob(layers.clip(layers.reduce_mean(act), -0.9, 1.9)))
        probs = layers.softmax(layers.fc(obs, 4))
        pick = layers.sampling_id(probs, min=0.0, max=1.0, seed=7)
        idx = layers.stack([layers.assign(np.arange(16)), layers.cast(pick, "int64")], 1)
        chosen = layers.gather_nd(probs, idx)
        loss = (
            0.0
            - layers.reduce_mean(lp * adv)
            + 0.5 * kl
            - 0.01 * ent
            - 0.02 * cent
            + 0.001 * layers.reduce_mean(layers.log(chosen))
            + 0.0 * up
        )
        fluid.optimizer.DecayedAdagrad(0.05, decay=0.95).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(start)
    r = np.random.RandomState(2)
    for i in range(20):
        f = {
            "obs": r.randn(16, 3),
            "act": r.randn(16, 2),
            "adv": r.randn(16, 1),
            "om": r.randn(2) * 0.1,
            "os": np.diag(r.rand(2) + 0.5),
        }
        f = {k: v.astype("float32") for k, v in f.items()}
        l, k, e, c, p, uu = exe.run(prog, feed=f, fetch_list=[loss, kl, ent, cent, chosen, up])
        print("gauss %d loss %.6f kl %.6f ent %.6f cat %.6f chosen %.6f %.5f" % (i, l, k, e, c, p.mean(), uu))


c51()
gaussian()
