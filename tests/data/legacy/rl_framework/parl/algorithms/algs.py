import copy
import numpy as np
import parl
from parl.core.fluid import layers
import paddle.fluid as fluid
from paddle.fluid.framework import default_main_program


class DDQN(parl.Algorithm):
    def __init__(self, model, act_dim=None, gamma=None, lr=None):
        self.model = model
        self.target_model = copy.deepcopy(model)
        # distinct parameter names for the copy
        for layer in vars(self.target_model).values():
            for k in layer.attr_holder._sorted_keys:
                attr = getattr(layer.attr_holder, k)
                if attr:
                    attr.name = 'PARL_target_' + attr.name
        self.act_dim, self.gamma, self.lr = act_dim, gamma, lr

    def define_predict(self, obs):
        return self.model.value(obs)

    def define_learn(self, obs, action, reward, next_obs, terminal, learning_rate=None):
        pred_value = self.model.value(obs)
        action_onehot = layers.one_hot(action, self.act_dim)
        action_onehot = layers.cast(action_onehot, dtype='float32')
        pred_action_value = layers.reduce_sum(layers.elementwise_mul(action_onehot, pred_value), dim=1)

        # choose acc. to behavior network
        next_action_value = self.model.value(next_obs)
        greedy_action = layers.argmax(next_action_value, axis=-1)
        # calculate the target q value with target network
        batch_size = layers.cast(layers.shape(greedy_action)[0], dtype='int32')
        range_tmp = layers.range(start=0, end=batch_size, step=1, dtype='int64') * self.act_dim
        a_indices = range_tmp + greedy_action
        a_indices = layers.cast(a_indices, dtype='int32')
        next_pred_value = self.target_model.value(next_obs)
        next_pred_value = layers.reshape(next_pred_value, shape=[-1, ])
        max_v = layers.gather(next_pred_value, a_indices)
        max_v = layers.reshape(max_v, shape=[-1, ])
        max_v.stop_gradient = True

        target = reward + (1.0 - layers.cast(terminal, dtype='float32')) * self.gamma * max_v
        cost = layers.square_error_cost(pred_action_value, target)
        cost = layers.reduce_mean(cost)
        optimizer = fluid.optimizer.Adam(learning_rate=self.lr, epsilon=1e-3)
        optimizer.minimize(cost)
        return cost

    def sync_target(self):
        self.model.sync_weights_to(self.target_model)


class SAC(parl.Algorithm):
    def __init__(self, actor, critic, gamma=0.99, tau=0.005, alpha=0.2, lr=1e-3):
        self.actor, self.critic = actor, critic
        self.target_critic = copy.deepcopy(critic)
        for layer in vars(self.target_critic).values():
            for k in layer.attr_holder._sorted_keys:
                attr = getattr(layer.attr_holder, k)
                if attr:
                    attr.name = 'target_' + attr.name
        self.gamma, self.tau, self.alpha, self.lr = gamma, tau, alpha, lr

    def sample(self, obs):
        mean, log_std = self.actor.policy(obs)
        std = layers.exp(log_std)
        normal = fluid.layers.distributions.Normal(mean, std) if hasattr(fluid.layers, 'distributions') else layers.Normal(mean, std)
        x_t = layers.elementwise_add(mean, layers.elementwise_mul(std, layers.gaussian_random_batch_size_like(mean, [-1, 2], seed=5)))
        y_t = layers.tanh(x_t)
        action = y_t * 1.0
        log_prob = normal.log_prob(x_t)
        log_prob -= layers.log(1.0 * (1 - layers.pow(y_t, 2)) + 1e-6)
        log_prob = layers.reduce_sum(log_prob, dim=1, keep_dim=True)
        log_prob = layers.squeeze(log_prob, axes=[1])
        return action, log_prob, normal.entropy()

    def critic_learn(self, obs, action, reward, next_obs, terminal):
        next_action, next_log_prob, _ = self.sample(next_obs)
        qf1, qf2 = self.target_critic.value(next_obs, next_action)
        min_qf = layers.elementwise_min(qf1, qf2) - self.alpha * next_log_prob
        terminal = layers.cast(terminal, dtype='float32')
        target_Q = reward + (1.0 - terminal) * self.gamma * min_qf
        target_Q.stop_gradient = True
        q1, q2 = self.critic.value(obs, action)
        cost = layers.square_error_cost(q1, target_Q) + layers.square_error_cost(q2, target_Q)
        cost = layers.reduce_mean(cost)
        fluid.optimizer.AdamOptimizer(self.lr).minimize(cost)
        return cost

    def actor_learn(self, obs):
        action, log_pi, ent = self.sample(obs)
        qf1, qf2 = self.critic.value(obs, action)
        min_qf = layers.elementwise_min(qf1, qf2)
        cost = log_pi * self.alpha - min_qf
        cost = layers.reduce_mean(cost)
        optimizer = fluid.optimizer.AdamOptimizer(self.lr)
        optimizer.minimize(cost, parameter_list=self.actor.parameters())
        return cost, layers.reduce_mean(ent)


def vtrace(behaviour_logp, target_logp, discounts, rewards, values, bootstrap_value, clip_rho_threshold=1.0, clip_pg_rho_threshold=1.0):
    """V-trace from importance weights, time major, with StaticRNN-free unrolled arrays."""
    log_rhos = target_logp - behaviour_logp
    rhos = layers.exp(log_rhos)
    clipped_rhos = layers.elementwise_min(rhos, layers.fill_constant([1], 'float32', clip_rho_threshold))
    cs = layers.clip(rhos, 0.0, 1.0)
    values_1_t = layers.slice(values, axes=[0], starts=[1], ends=[1000])
    values_t_plus_1 = layers.concat([values_1_t, layers.unsqueeze(bootstrap_value, [0])], axis=0)
    deltas = clipped_rhos * (rewards + discounts * values_t_plus_1 - values)

    rnn = layers.StaticRNN()
    rev = lambda x: layers.reverse(x, axis=[0])
    rd, rc, rdelta = rev(discounts), rev(cs), rev(deltas)
    zero = layers.fill_constant_batch_size_like(bootstrap_value, [-1], 'float32', 0.0)
    with rnn.step():
        d = rnn.step_input(rd)
        c = rnn.step_input(rc)
        delta = rnn.step_input(rdelta)
        acc = rnn.memory(init=zero)
        new = delta + d * c * acc
        rnn.update_memory(acc, new)
        rnn.output(new)
    vs_minus_v_xs = layers.reverse(rnn(), axis=[0])
    vs = vs_minus_v_xs + values
    vs_t_plus_1 = layers.concat([layers.slice(vs, axes=[0], starts=[1], ends=[1000]), layers.unsqueeze(bootstrap_value, [0])], axis=0)
    pg_adv = layers.elementwise_min(rhos, layers.fill_constant([1], 'float32', clip_pg_rho_threshold)) * (rewards + discounts * vs_t_plus_1 - values)
    vs.stop_gradient = True
    pg_adv.stop_gradient = True
    return vs, pg_adv
