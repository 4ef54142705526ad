#-*- coding: utf-8 -*-
import numpy as np, copy, hashlib, inspect, six, functools
import paddle.fluid as fluid
from paddle.fluid import layers
from paddle.fluid.layer_helper import LayerHelper
from collections import deque, Iterable
from paddle.fluid.executor import _fetch_var
from abc import ABCMeta, abstractmethod


_names = {}
def unique(p):
    _names[p] = _names.get(p, -1) + 1
    return '%s_%d' % (p, _names[p])


def fc(size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
    """Return a function that creates a paddle.fluid.layers.fc with fixed parameter names."""
    default_name = "fc"
    w = unique((name or default_name) + '_w')
    b = unique((name or default_name) + '_b')
    param_attr = fluid.ParamAttr(name=w) if param_attr is None else param_attr
    bias_attr = fluid.ParamAttr(name=b) if bias_attr is None else bias_attr

    class FC_(object):
        def __init__(self):
            self.w, self.b = w, b
        def __call__(self, input):
            return layers.fc(input=input, size=size, num_flatten_dims=num_flatten_dims, param_attr=param_attr, bias_attr=bias_attr, act=act)
    return FC_()


def get_parameters_pair(src, target):
    return [(a, b) for s, t in zip(src.layers(), target.layers()) for a, b in ((s.w, t.w), (s.b, t.b))]


@six.add_metaclass(ABCMeta)
class Model(object):
    def layers(self):
        return [v for k, v in sorted(self.__dict__.items()) if hasattr(v, 'w')]
    def sync_weights_to(self, target, decay=0.0, share_vars_parallel_executor=None):
        if not hasattr(self, '_prog'):
            self._prog = fluid.Program()
            place = fluid.CPUPlace()
            self._exe = fluid.Executor(place)
            with fluid.program_guard(self._prog):
                for (src, tgt) in get_parameters_pair(self, target):
                    gb = fluid.default_main_program().global_block()
                    a = gb.create_var(name=src, shape=self._shape(src), dtype='float32', persistable=True)
                    b = gb.create_var(name=tgt, shape=self._shape(src), dtype='float32', persistable=True)
                    layers.assign(decay * b + (1 - decay) * a if decay else a, output=b)
        self._exe.run(self._prog, fetch_list=[])
    def _shape(self, name):
        return list(np.array(fluid.global_scope().find_var(name).get_tensor()).shape)
    def get_weights(self):
        return [_fetch_var(n, return_numpy=True) for l in self.layers() for n in (l.w, l.b)]
    def set_weights(self, ws):
        names = [n for l in self.layers() for n in (l.w, l.b)]
        for n, w in zip(names, ws):
            fluid.global_scope().find_var(n).get_tensor().set(w, fluid.CPUPlace())


class Actor(Model):
    def __init__(self, act_dim, hid=16):
        self.fc1 = fc(size=hid, act='relu', name='policy')
        self.fc2 = fc(size=act_dim, act='tanh', name='policy')
    def policy(self, obs):
        return self.fc2(self.fc1(obs))


class Critic(Model):
    def __init__(self, hid=16):
        self.fc1 = fc(size=hid, act='relu', name='value')
        self.fc2 = fc(size=1, name='value')
    def value(self, obs, act):
        concat = layers.concat([self.fc1(obs), act], axis=1)
        Q = self.fc2(concat)
        return layers.squeeze(Q, axes=[1])


class DDPG(object):
    def __init__(self, obs_dim, act_dim):
        self.actor, self.critic = Actor(act_dim), Critic()
        self.t_actor, self.t_critic = Actor(act_dim), Critic()
        self.obs_dim, self.act_dim = obs_dim, act_dim
        self.pred_program, self.learn_program, st = fluid.Program(), fluid.Program(), fluid.default_startup_program()
        st.random_seed = 12
        with fluid.program_guard(self.pred_program, st):
            obs = layers.data(name='obs', shape=[obs_dim], dtype='float32')
            self.pred_act = self.actor.policy(obs)
        with fluid.program_guard(self.learn_program, st):
            obs = layers.data(name='obs', shape=[obs_dim], dtype='float32')
            act = layers.data(name='act', shape=[act_dim], dtype='float32')
            reward = layers.data(name='reward', shape=[], dtype='float32')
            next_obs = layers.data(name='next_obs', shape=[obs_dim], dtype='float32')
            terminal = layers.data(name='terminal', shape=[], dtype='bool')
            next_action = self.t_actor.policy(next_obs)
            next_Q = self.t_critic.value(next_obs, next_action)
            terminal = layers.cast(terminal, dtype='float32')
            target_Q = reward + (1.0 - terminal) * 0.99 * next_Q
            target_Q.stop_gradient = True
            Q = self.critic.value(obs, act)
            cost = layers.square_error_cost(Q, target_Q)
            self.critic_cost = layers.reduce_mean(cost)
            action = self.actor.policy(obs)
            Qa = self.critic.value(obs, action)
            self.actor_cost = layers.reduce_mean(-1.0 * Qa)
            fluid.optimizer.AdamOptimizer(1e-2).minimize(self.actor_cost, parameter_list=[self.actor.fc1.w, self.actor.fc1.b, self.actor.fc2.w, self.actor.fc2.b])
            fluid.optimizer.AdamOptimizer(1e-2).minimize(self.critic_cost, parameter_list=[self.critic.fc1.w, self.critic.fc1.b, self.critic.fc2.w, self.critic.fc2.b])
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.exe.run(st)
        self.actor.sync_weights_to(self.t_actor)
        self.critic.sync_weights_to(self.t_critic)
        del self.actor._prog, self.critic._prog


class PolicyGradient(object):
    def build(self):
        st, prog = fluid.Program(), fluid.Program()
        st.random_seed = 3
        with fluid.program_guard(prog, st):
            obs = layers.data('obs', shape=[4], dtype='float32')
            acts = layers.data('acts', shape=[1], dtype='int64')
            vt = layers.data('vt', shape=[1], dtype='float32')
            fc1 = layers.fc(input=obs, size=10, act="tanh")
            all_act_prob = layers.fc(input=fc1, size=3, act="softmax")
            neg_log = layers.cross_entropy(input=all_act_prob, label=acts)
            oh = layers.one_hot(acts, 3)
            neg2 = layers.reduce_sum(-1.0 * layers.log(all_act_prob) * oh, dim=-1, keep_dim=True)
            loss = layers.reduce_mean(neg_log * vt) + 0 * layers.reduce_mean(neg2)
            ent = layers.reduce_sum(all_act_prob * layers.log(all_act_prob), dim=1)
            loss = loss + 0.01 * layers.reduce_mean(ent)
            opt = fluid.optimizer.RMSPropOptimizer(0.01, rho=0.95, epsilon=1e-6, momentum=0.1, centered=True, grad_clip=None)
            grads = opt.backward(loss)
            grads = [(p, layers.clip_by_norm(g, 0.5)) for p, g in grads]
            opt.apply_gradients(grads)
        return st, prog, loss, all_act_prob


def main():
    agent = DDPG(3, 2)
    rng = np.random.RandomState(0)
    for i in range(25):
        obs = rng.randn(8, 3).astype('float32')
        act = agent.exe.run(agent.pred_program, feed={'obs': obs}, fetch_list=[agent.pred_act])[0]
        act = np.clip(np.random.RandomState(i).normal(act, 0.1), -1.0, 1.0).astype('float32')
        r = -np.square(act - obs[:, :2]).sum(1).astype('float32')
        done = rng.rand(8) < .2
        c, a = agent.exe.run(agent.learn_program, feed={'obs': obs, 'act': act, 'reward': r, 'next_obs': obs[::-1].copy(), 'terminal': done}, fetch_list=[agent.critic_cost, agent.actor_cost])
        agent.actor.sync_weights_to(agent.t_actor, decay=0.9)
        agent.critic.sync_weights_to(agent.t_critic, decay=0.9)
        print('step %d critic %.5f actor %.5f' % (i, c, a))
    w = agent.actor.get_weights()
    agent.t_actor.set_weights(w)
    print('w %.5f' % sum(np.abs(x).sum() for x in w))
    st, prog, loss, prob = PolicyGradient().build()
    agent.exe.run(st)
    test = prog.clone(for_test=True)
    np.random.seed(4)
    for i in range(15):
        obs = rng.randn(4).astype('float32')
        p = agent.exe.run(prog.clone(for_test=True)._prune(prob), feed={'obs': obs[np.newaxis, :]}, fetch_list=[prob])[0]
        a = np.random.choice(3, p=p.flatten() / p.sum())
        l, = agent.exe.run(prog, feed={'obs': np.tile(obs, (5, 1)), 'acts': np.full((5, 1), a).astype('int64'), 'vt': rng.randn(5, 1).astype('float32')}, fetch_list=[loss])
        print('pg %d a=%d %.5f %s' % (i, a, l, np.round(p, 3).tolist()))


main()
