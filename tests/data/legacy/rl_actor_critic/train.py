"""Actor and critic in several programs that share parameters by name, and a slowly following copy of the policy."""
from __future__ import print_function
import numpy as np
import paddle.fluid as fluid
from paddle.fluid import layers
from paddle.fluid.executor import _fetch_var


class Drift(object):
    """A point that drifts; two pushes, the reward falls with the distance."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.place = self.rng.uniform(-.1, .1, 4).astype('float32')
        self.time = 0
        return self.place

    def step(self, action):
        push = np.array([.1, -.05, .02, .07]) * (2 * action - 1)
        self.place = (self.place * .95 + push + self.rng.uniform(-.02, .02, 4)).astype('float32')
        self.time += 1
        return self.place, 1.0 - float(np.abs(self.place).sum()), self.time >= 20 or np.abs(self.place).max() > .8


class Net(object):
    def __init__(self, tag):
        self.attr = dict((n, fluid.ParamAttr(name='%s_%s' % (tag, n))) for n in ('w', 'b', 'pw', 'pb', 'vw', 'vb'))

    def hidden(self, obs):
        return layers.fc(obs, 16, act='tanh', param_attr=self.attr['w'], bias_attr=self.attr['b'])

    def policy(self, obs):
        return layers.fc(self.hidden(obs), 2, param_attr=self.attr['pw'], bias_attr=self.attr['pb'])

    def value(self, obs):
        found = layers.fc(self.hidden(obs), 1, param_attr=self.attr['vw'], bias_attr=self.attr['vb'])
        return layers.squeeze(found, axes=[1])


def log_of_chosen(logits, actions):
    shifted = logits - layers.reduce_max(logits, dim=1)
    odds = layers.exp(shifted)
    prob = odds / layers.reduce_sum(odds, dim=1)
    chosen = layers.cast(layers.one_hot(layers.unsqueeze(actions, axes=[1]), prob.shape[1]), dtype='float32')
    entropy = -1.0 * layers.reduce_sum(prob * layers.log(prob + 1e-6), dim=1)
    return layers.reduce_sum(layers.log(prob + 1e-6) * chosen, dim=-1), entropy


class Agent(object):
    def __init__(self):
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.startup = fluid.default_startup_program()
        self.startup.random_seed = 5
        self.act_program, self.learn_program, self.clip_program, self.follow_program = (fluid.Program() for _ in range(4))
        net, old = Net('now'), Net('old')
        with fluid.program_guard(self.act_program, self.startup):
            obs = layers.data(name='obs', shape=[4], dtype='float32')
            self.act_out = [layers.softmax(net.policy(obs)), net.value(obs), layers.argmax(net.policy(obs), axis=-1)]
        with fluid.program_guard(self.learn_program, self.startup):
            obs = layers.data(name='obs', shape=[4], dtype='float32')
            actions = layers.data(name='actions', shape=[], dtype='int64')
            gain = layers.data(name='gain', shape=[], dtype='float32')
            target = layers.data(name='target', shape=[], dtype='float32')
            rate = layers.data(name='rate', shape=[1], dtype='float32', append_batch_size=False)
            logp, entropy = log_of_chosen(net.policy(obs), actions)
            actor = -1.0 * layers.reduce_sum(logp * gain)
            critic = 0.5 * layers.reduce_sum(layers.square(net.value(obs) - target))
            total = actor + critic * 0.5 - 0.01 * layers.reduce_sum(entropy)
            fluid.clip.set_gradient_clip(clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=40.0))
            fluid.optimizer.AdamOptimizer(rate).minimize(total)
            self.learn_out = [total, actor, critic]
        with fluid.program_guard(self.clip_program, self.startup):
            obs = layers.data(name='obs', shape=[4], dtype='float32')
            actions = layers.data(name='actions', shape=[1], dtype='int64')
            gain = layers.data(name='gain', shape=[1], dtype='float32')
            new, kept = layers.softmax(net.policy(obs)), layers.softmax(old.policy(obs))
            kept.stop_gradient = True
            chosen = layers.one_hot(actions, depth=2)
            ratio = layers.reduce_sum(new * chosen, dim=-1, keep_dim=True) / layers.reduce_sum(kept * chosen, dim=-1,
                                                                                               keep_dim=True)
            bounded = layers.elementwise_min(ratio * gain, layers.clip(ratio, 0.8, 1.2) * gain)
            self.kl = layers.reduce_mean(layers.reduce_sum(kept * (layers.log(kept) - layers.log(new)), dim=1))
            beta = layers.create_global_var([1], 1.0, 'float32', persistable=True, name='beta')
            self.clip_loss = layers.mean(-1.0 * bounded) + beta * self.kl
            names = [p.name for p in self.clip_program.all_parameters() if p.name.startswith('now_')]
            fluid.optimizer.AdamOptimizer(learning_rate=1e-2, epsilon=1e-5).minimize(self.clip_loss, parameter_list=names)
        with fluid.program_guard(self.follow_program, self.startup):
            block = self.follow_program.global_block()
            for name in names:
                source = block._clone_variable(self.clip_program.global_block().var(name))
                twin = block._clone_variable(self.clip_program.global_block().var(name.replace('now_', 'old_')))
                layers.assign(source * 0.7 + twin * 0.3, twin)
        self.exe.run(self.startup)

    def weights(self):
        return dict((p.name, _fetch_var(p.name, return_numpy=True)) for p in self.learn_program.all_parameters())


def episode(agent, env):
    seen, actions, rewards, values = [], [], [], []
    obs, done = env.reset(), False
    while not done:
        prob, value, _ = agent.exe.run(agent.act_program, feed={'obs': obs[None]}, fetch_list=agent.act_out)
        prob = prob[0].astype('float64')
        seen.append(obs)
        actions.append(np.random.choice(2, p=prob / prob.sum()))
        values.append(float(value))
        obs, reward, done = env.step(actions[-1])
        rewards.append(reward)
    total, returns = 0.0, []
    for reward in reversed(rewards):
        total = reward + .9 * total
        returns.insert(0, total)
    returns = np.array(returns, 'float32')
    return np.array(seen), np.array(actions, 'int64'), returns, returns - np.array(values, 'float32')


def main():
    np.random.seed(4)
    agent, env = Agent(), Drift(1)
    for round_ in range(18):
        seen, actions, returns, gain = episode(agent, env)
        feed = {'obs': seen, 'actions': actions, 'gain': gain, 'target': returns,
                'rate': np.array([.01 * .9 ** round_], 'float32')}
        out = agent.exe.run(agent.learn_program, feed=feed, fetch_list=agent.learn_out)
        print('learn %d steps %d: %s' % (round_, len(seen), ' '.join('%.5f' % float(x) for x in out)))
        if round_ % 4 == 0:
            agent.exe.run(agent.follow_program)
        for _ in range(2):
            loss, kl = agent.exe.run(agent.clip_program, fetch_list=[agent.clip_loss, agent.kl],
                                     feed={'obs': seen, 'actions': actions[:, None], 'gain': gain[:, None]})
            print('clipped %.5f kl %.6f' % (float(loss), kl))
    before = agent.weights()
    fluid.io.save_params(agent.exe, 'saved', main_program=agent.learn_program, filename='all')
    for name, value in before.items():
        fluid.global_scope().find_var(name).get_tensor().set(value * 0, fluid.CPUPlace())
    fluid.io.load_params(agent.exe, 'saved', main_program=agent.learn_program, filename='all')
    print('weights ' + ' '.join('%s %.4f' % (n, np.abs(v).sum()) for n, v in sorted(agent.weights().items())))


if __name__ == '__main__':
    main()
