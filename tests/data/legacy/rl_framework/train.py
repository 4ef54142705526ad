import os
import pickle
import random
import argparse
import collections
import threading
import numpy as np
from six.moves import queue
import paddle.fluid as fluid
import parl
from parl.core.fluid import layers
from parl.core.fluid.layers.layer_wrappers import _param_layers
from parl.algorithms.algs import DDQN, SAC, vtrace
from parl.utils.utils import calc_gae, get_fluid_version, _HAS_FLUID


class CartModel(parl.Model):
    def __init__(self, act_dim):
        self.fc1 = layers.fc(size=16, act='relu')
        self.fc2 = layers.fc(size=16, act='relu')
        self.fc3 = layers.fc(size=act_dim)

    def value(self, obs):
        return self.fc3(self.fc2(self.fc1(obs)))


class CartAgent(parl.Agent):
    def __init__(self, algorithm, obs_dim, act_dim):
        self.obs_dim, self.act_dim = obs_dim, act_dim
        super(CartAgent, self).__init__(algorithm)
        self.global_step = 0
        self.alg.sync_target()

    def build_program(self):
        self.pred_program = fluid.Program()
        self.learn_program = fluid.Program()
        fluid.default_startup_program().random_seed = 11
        with fluid.program_guard(self.pred_program):
            obs = layers.data(name='obs', shape=[self.obs_dim], dtype='float32')
            self.value = self.alg.define_predict(obs)
        with fluid.program_guard(self.learn_program):
            obs = layers.data(name='obs', shape=[self.obs_dim], dtype='float32')
            action = layers.data(name='act', shape=[1], dtype='int32')
            reward = layers.data(name='reward', shape=[], dtype='float32')
            next_obs = layers.data(name='next_obs', shape=[self.obs_dim], dtype='float32')
            terminal = layers.data(name='terminal', shape=[], dtype='bool')
            self.cost = self.alg.define_learn(obs, action, reward, next_obs, terminal)
            self.lr_var = None

    def predict(self, obs):
        obs = np.expand_dims(obs, axis=0)
        pred_Q = self.fluid_executor.run(self.pred_program, feed={'obs': obs.astype('float32')}, fetch_list=[self.value])[0]
        pred_Q = np.squeeze(pred_Q, axis=0)
        return int(np.argmax(pred_Q))

    def learn(self, obs, act, reward, next_obs, terminal):
        if self.global_step % 8 == 0:
            self.alg.sync_target()
        self.global_step += 1
        act = np.expand_dims(act, -1)
        feed = {'obs': obs.astype('float32'), 'act': act.astype('int32'), 'reward': reward, 'next_obs': next_obs.astype('float32'), 'terminal': terminal}
        cost = self.fluid_executor.run(self.learn_program, feed=feed, fetch_list=[self.cost])[0]
        return cost


class ReplayMemory(object):
    def __init__(self, max_size):
        self.buffer = collections.deque(maxlen=max_size)

    def append(self, exp):
        self.buffer.append(exp)

    def sample(self, batch_size):
        mini_batch = random.sample(self.buffer, batch_size)
        obs, act, rew, nobs, done = zip(*mini_batch)
        return np.array(obs).astype('float32'), np.array(act), np.array(rew).astype('float32'), np.array(nobs).astype('float32'), np.array(done).astype('bool')


class ActorModel(parl.Model):
    def __init__(self):
        self.fc1 = layers.fc(size=12, act='relu', name='actor_fc1')
        self.mean = layers.fc(size=2, name='actor_mean')
        self.log_std = layers.fc(size=2, name='actor_std', param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.1, 0.1)))

    def policy(self, obs):
        hid = self.fc1(obs)
        means = self.mean(hid)
        log_std = self.log_std(hid)
        log_std = layers.clip(log_std, min=-20.0, max=2.0)
        return means, log_std


class CriticModel(parl.Model):
    def __init__(self):
        self.a1 = layers.fc(size=12, act='relu')
        self.a2 = layers.fc(size=1)
        self.b1 = layers.fc(size=12, act='relu')
        self.b2 = layers.fc(size=1, bias_attr=False)

    def value(self, obs, act):
        x = layers.concat([obs, act], axis=1)
        q1 = layers.squeeze(self.a2(self.a1(x)), axes=[1])
        q2 = layers.squeeze(self.b2(self.b1(x)), axes=[1])
        return q1, q2


def run_sac():
    rng = np.random.RandomState(4)
    fluid.default_startup_program().random_seed = 21
    actor, critic = ActorModel(), CriticModel()
    alg = SAC(actor, critic)
    c_prog, a_prog = fluid.Program(), fluid.Program()
    c_prog.random_seed = a_prog.random_seed = 8
    def io():
        return [layers.data('obs', [3]), layers.data('act', [2]), layers.data('reward', [], dtype='float32'), layers.data('next_obs', [3]), layers.data('terminal', [], dtype='bool')]
    with fluid.program_guard(c_prog):
        o, a, r, no, t = io()
        c_cost = alg.critic_learn(o, a, r, no, t)
    with fluid.program_guard(a_prog):
        o = layers.data('obs', [3])
        a_cost, ent = alg.actor_learn(o)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    critic.sync_weights_to(alg.target_critic)
    for step in range(20):
        obs = rng.randn(16, 3).astype('float32')
        act = np.tanh(rng.randn(16, 2)).astype('float32')
        rew = (obs[:, 0] * act[:, 0]).astype('float32')
        done = rng.rand(16) < 0.1
        c, = exe.run(c_prog, feed={'obs': obs, 'act': act, 'reward': rew, 'next_obs': obs + 0.1 * rng.randn(16, 3).astype('float32'), 'terminal': done}, fetch_list=[c_cost])
        a, e = exe.run(a_prog, feed={'obs': obs}, fetch_list=[a_cost, ent])
        critic.sync_weights_to(alg.target_critic, decay=0.995)
        print('sac {} critic {:.6f} actor {:.6f} entropy {:.6f}'.format(step, float(c), float(a), e[0]))
    w = alg.target_critic.get_weights()
    print([x.shape for x in w], 'sum %.6f' % sum(np.abs(x).sum() for x in w))
    return actor


def run_impala():
    rng = np.random.RandomState(9)
    T, B, A = 5, 4, 3
    learn, startup = fluid.Program(), fluid.Program()
    learn.random_seed = startup.random_seed = 3
    conv = layers.conv2d(num_filters=4, filter_size=3, stride=2, act='relu', name='impala_conv')
    fc = layers.fc(size=16, act='relu', name='impala_fc')
    pfc, vfc = layers.fc(size=A), layers.fc(size=1)
    with fluid.program_guard(learn, startup):
        obs = layers.data('obs', shape=[2, 8, 8], dtype='uint8')
        actions = layers.data('actions', shape=[], dtype='int64')
        blogits = layers.data('behaviour_logits', shape=[A], dtype='float32')
        rewards = layers.data('rewards', shape=[], dtype='float32')
        dones = layers.data('dones', shape=[], dtype='bool')
        lr = layers.data('lr', shape=[1], dtype='float32', append_batch_size=False)
        entropy_coeff = layers.data('entropy_coeff', shape=[1], dtype='float32', append_batch_size=False)
        reader = fluid.io.PyReader(feed_list=[obs, actions, blogits, rewards, dones, lr, entropy_coeff], capacity=4, iterable=False)
        x = layers.cast(obs, 'float32') / 255.0
        h = fc(layers.flatten(conv(x), axis=1))
        logits = pfc(h)
        values = layers.squeeze(vfc(h), axes=[1])
        dist_t = layers.Categorical(logits) if hasattr(layers, 'Categorical') else fluid.layers.distributions.Categorical(logits)
        entropy = dist_t.entropy()
        one_hot = layers.one_hot(layers.unsqueeze(actions, [1]), A)
        def logp(lg):
            return -1.0 * layers.squeeze(layers.softmax_with_cross_entropy(logits=lg, label=layers.unsqueeze(actions, [1])), axes=[1])
        tl, bl = logp(logits), logp(blogits)
        def split_batches(tensor):
            t_major = layers.reshape(tensor, shape=[-1, T])
            return layers.transpose(t_major, perm=[1, 0])
        tl_s, bl_s, v_s, r_s, d_s = [split_batches(z) for z in (tl, bl, values, rewards, layers.cast(dones, 'float32'))]
        drop = lambda z: layers.slice(z, axes=[0], starts=[0], ends=[T - 1])
        boot = layers.squeeze(layers.slice(v_s, axes=[0], starts=[T - 1], ends=[T]), axes=[0])
        boot.stop_gradient = True
        vs, adv = vtrace(drop(bl_s), drop(tl_s), (1.0 - drop(d_s)) * 0.99, layers.clip(drop(r_s), -1., 1.), drop(v_s), boot)
        pi_loss = -1.0 * layers.reduce_sum(drop(tl_s) * adv)
        vf_loss = 0.5 * layers.reduce_sum(layers.square(drop(v_s) - vs))
        ent = layers.reduce_sum(entropy)
        total = pi_loss + 0.5 * vf_loss + ent * entropy_coeff
        fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=40.0))
        optimizer = fluid.optimizer.AdamOptimizer(lr)
        optimizer.minimize(total)
        kl = layers.reduce_mean(dist_t.kl_divergence(layers.Categorical(blogits) if hasattr(layers, 'Categorical') else fluid.layers.distributions.Categorical(blogits)))
    q = queue.Queue(maxsize=8)

    def provider():
        while True:
            item = q.get()
            if item is None:
                break
            yield item

    def actor():
        for i in range(12):
            n = T * B
            o = rng.randint(0, 255, (n, 2, 8, 8)).astype('uint8')
            q.put([o, rng.randint(0, A, n).astype('int64'), rng.randn(n, A).astype('float32'), rng.randn(n).astype('float32'),
                   (rng.rand(n) < .1), np.array([0.001 * (1 - i / 24.)], dtype='float32'), np.array([-0.01], dtype='float32')])
        q.put(None)
    reader.decorate_batch_generator(provider, places=fluid.cpu_places(1))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    th = threading.Thread(target=actor)
    th.setDaemon(True)
    th.start()
    reader.start()
    i = 0
    try:
        while True:
            t, p, v, e, k = exe.run(learn, fetch_list=[total.name, pi_loss.name, vf_loss.name, ent.name, kl.name])
            print("impala %d total %.5f pi %.5f vf %.5f ent %.5f kl %.5f" % (i, t, p, v, e, k))
            i += 1
    except fluid.core.EOFException:
        reader.reset()
    print('steps', i)


def main():
    print(_HAS_FLUID, get_fluid_version() >= 160, len(_param_layers) > 20, sorted(_param_layers)[:6])
    random.seed(1)
    rng = np.random.RandomState(0)
    alg = DDQN(CartModel(3), act_dim=3, gamma=0.97, lr=1e-2)
    agent = CartAgent(alg, 4, 3)
    rpm = ReplayMemory(200)
    obs = rng.randn(4)
    for i in range(90):
        act = agent.predict(obs) if rng.rand() > 0.2 else rng.randint(3)
        nobs = np.clip(obs * 0.9 + 0.3 * rng.randn(4) + 0.1 * (act - 1), -3, 3)
        rew = float(1.0 - abs(nobs[0]))
        rpm.append((obs, act, rew, nobs, abs(nobs[1]) > 2))
        obs = nobs
        if i >= 30 and i % 3 == 0:
            cost = agent.learn(*rpm.sample(16))
            print('ddqn %d cost %.6f' % (i, cost))
    agent.save('./model_dir/ddqn.ckpt')
    w0 = alg.model.get_weights()
    for _ in range(3):
        agent.learn(*rpm.sample(16))
    agent.restore('./model_dir/ddqn.ckpt')
    print('restored', all((a == b).all() for a, b in zip(w0, alg.model.get_weights())))
    with open('weights.pkl', 'wb') as f:
        pickle.dump(w0, f, protocol=2)
    alg.target_model.set_weights(w0)
    print(sorted(alg.model.parameters()), sorted(alg.target_model.parameters()))
    print('adv', ' '.join('%.5f' % a for a in calc_gae(np.arange(5.), np.ones(5), 0.5, 0.99, 0.95)))
    run_impala()


if __name__ == '__main__':
    import sys
    if len(sys.argv) > 1:
        run_sac()
    else:
        main()
