#-*- coding: utf-8 -*-
from dqn_agent import DQNModel
from collections import deque, namedtuple
import argparse
import numpy as np
import os
import paddle.fluid as fluid
try:
    from tqdm import tqdm
except ImportError:
    tqdm = None

Experience = namedtuple('Experience', ['state', 'action', 'reward', 'isOver'])


class ReplayMemory(object):
    def __init__(self, max_size, state_dim):
        self.max_size = int(max_size)
        self.state = np.zeros((self.max_size, state_dim), dtype='float32')
        self.action = np.zeros((self.max_size, ), dtype='int32')
        self.reward = np.zeros((self.max_size, ), dtype='float32')
        self.isOver = np.zeros((self.max_size, ), dtype='bool')
        self._curr_size = 0
        self._curr_pos = 0

    def append(self, exp):
        if self._curr_size < self.max_size:
            self._curr_size += 1
        self.state[self._curr_pos] = exp.state
        self.action[self._curr_pos] = exp.action
        self.reward[self._curr_pos] = exp.reward
        self.isOver[self._curr_pos] = exp.isOver
        self._curr_pos = (self._curr_pos + 1) % self.max_size

    def sample_batch(self, rng, batch_size):
        idx = rng.randint(self._curr_size - 1, size=batch_size)
        return self.state[idx], self.action[idx], self.reward[idx], self.state[idx + 1], self.isOver[idx]

    def __len__(self):
        return self._curr_size


class Corridor(object):
    """Walk to the end of a line; a push moves a mass with friction."""
    state_dim, action_dim = 3, 3

    def __init__(self):
        self.rng = np.random.RandomState(1)

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-0.2, 0.2), 0.0, 0
        return self.observe()

    def observe(self):
        return np.array([self.x, self.v, self.t / 20.])

    def step(self, action):
        self.v = 0.9 * self.v + 0.1 * (int(action) - 1)
        self.x += self.v
        self.t += 1
        done = abs(self.x) > 1 or self.t >= 20
        return self.observe(), float(self.x > 1) - 0.01, done, {}


class PolicyGradient(object):
    def __init__(self, n_actions, n_features, learning_rate=0.02):
        self.n_actions, self.n_features, self.lr = n_actions, n_features, learning_rate
        self.ep_obs, self.ep_as, self.ep_rs = [], [], []
        self.program, self.startup = fluid.Program(), fluid.Program()
        self.startup.random_seed = 5
        with fluid.program_guard(self.program, self.startup):
            obs = fluid.layers.data(name='obs', shape=[n_features], dtype='float32')
            acts = fluid.layers.data(name='acts', shape=[1], dtype='int64')
            vt = fluid.layers.data(name='vt', shape=[1], dtype='float32')
            fc1 = fluid.layers.fc(obs, size=10, act='tanh')
            self.all_act_prob = fluid.layers.fc(fc1, size=n_actions, act='softmax')
            self.inferece_program = fluid.default_main_program().clone()
            neg_log_prob = fluid.layers.cross_entropy(input=self.all_act_prob, label=acts)
            self.loss = fluid.layers.reduce_mean(neg_log_prob * vt)
            fluid.optimizer.SGD(learning_rate).minimize(self.loss)
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.exe.run(self.startup)

    def choose_action(self, observation, rng):
        prob_weights = self.exe.run(self.inferece_program, feed={"obs": observation[np.newaxis, :].astype('float32')},
                                    fetch_list=[self.all_act_prob])
        prob_weights = np.array(prob_weights[0]).astype('float64')
        return rng.choice(range(prob_weights.shape[1]), p=prob_weights.ravel() / prob_weights.sum())

    def learn(self):
        discounted = np.zeros_like(self.ep_rs)
        running_add = 0
        for t in reversed(range(0, len(self.ep_rs))):
            running_add = running_add * 0.95 + self.ep_rs[t]
            discounted[t] = running_add
        discounted -= np.mean(discounted)
        discounted /= np.std(discounted) + 1e-6
        loss = self.exe.run(self.program, feed={"obs": np.vstack(self.ep_obs).astype("float32"),
                                                "acts": np.array(self.ep_as).astype("int64").reshape([-1, 1]),
                                                "vt": discounted.astype("float32").reshape([-1, 1])},
                            fetch_list=[self.loss])[0]
        self.ep_obs, self.ep_as, self.ep_rs = [], [], []
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--alg', type=str, default='double')
    parser.add_argument('--model_dirname', default='saved_model')
    args = parser.parse_args()
    env = Corridor()
    agent = DQNModel(env.state_dim, env.action_dim, gamma=0.95, algo=args.alg)
    exp = ReplayMemory(1000, env.state_dim)
    rng = np.random.RandomState(3)
    losses = np.zeros(12)
    for episode in range(12):
        state = env.reset()
        total_reward, step, loss = 0, 0, np.zeros(1)
        while True:
            action = agent.act(state, 'train')
            next_state, reward, isOver, _ = env.step(action)
            exp.append(Experience(state, action, reward, isOver))
            total_reward += reward
            step += 1
            if len(exp) > 20:
                batch = exp.sample_batch(rng, 8)
                loss = agent.train(*batch)
                print("episode %d step %d loss %.6f" % (episode, step, loss))
            state = next_state
            if isOver:
                break
        losses[episode] = loss
        print("episode:{} reward:{:.3f} loss:{:.5f}".format(episode, total_reward, losses[episode]))
    fluid.io.save_inference_model(args.model_dirname, ['state'], [agent.pred_value], agent.exe,
                                  agent.predict_program)
    pg = PolicyGradient(3, 3)
    for episode in range(6):
        observation = env.reset()
        while True:
            action = pg.choose_action(observation, rng)
            next_observation, reward, done, _ = env.step(action)
            pg.ep_obs.append(observation)
            pg.ep_as.append(action)
            pg.ep_rs.append(reward)
            observation = next_observation
            if done:
                print("pg episode %d steps %d loss %.6f" % (episode, len(pg.ep_rs), pg.learn()))
                break


if __name__ == '__main__':
    main()
