import math
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.param_attr import ParamAttr


class DQNModel(object):
    def __init__(self, state_dim, action_dim, gamma, algo='double'):
        self.state_dim = state_dim
        self.action_dim = action_dim
        self.gamma = gamma
        self.exploration = 1.1
        self.algo = algo
        self.global_step = 0
        self.rng = np.random.RandomState(9)
        self._build_net()

    def _get_inputs(self):
        return fluid.layers.data(name='state', shape=[self.state_dim], dtype='float32'), \
            fluid.layers.data(name='action', shape=[1], dtype='int32'), \
            fluid.layers.data(name='reward', shape=[], dtype='float32'), \
            fluid.layers.data(name='next_s', shape=[self.state_dim], dtype='float32'), \
            fluid.layers.data(name='isOver', shape=[], dtype='bool')

    def _build_net(self):
        self.predict_program = fluid.Program()
        self.train_program = fluid.Program()
        self.startup = fluid.Program()
        self.startup.random_seed = 77
        with fluid.program_guard(self.predict_program, self.startup):
            state = fluid.layers.data(name='state', shape=[self.state_dim], dtype='float32')
            self.pred_value = self.get_DQN_prediction(state)
        self.predict_program = self.predict_program.clone(for_test=True)
        with fluid.program_guard(self.train_program, self.startup):
            state, action, reward, next_s, isOver = self._get_inputs()
            self.pred = self.get_DQN_prediction(state)
            reward = fluid.layers.clip(reward, min=-1.0, max=1.0)
            action_onehot = fluid.layers.one_hot(action, self.action_dim)
            action_onehot = fluid.layers.cast(action_onehot, dtype='float32')
            pred_action_value = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(action_onehot, self.pred), dim=1)
            targetQ_predict_value = self.get_DQN_prediction(next_s, target=True)
            if self.algo == 'double':
                next_s_predcit_value = self.get_DQN_prediction(next_s)
                greedy_action = fluid.layers.argmax(next_s_predcit_value, axis=1)
                predict_onehot = fluid.layers.one_hot(fluid.layers.unsqueeze(greedy_action, axes=[1]),
                                                      self.action_dim)
                best_v = fluid.layers.reduce_sum(fluid.layers.elementwise_mul(predict_onehot, targetQ_predict_value),
                                                 dim=1)
            else:
                best_v = fluid.layers.reduce_max(targetQ_predict_value, dim=1)
            best_v.stop_gradient = True
            target = reward + (1.0 - fluid.layers.cast(isOver, dtype='float32')) * self.gamma * best_v
            cost = fluid.layers.square_error_cost(pred_action_value, target)
            self.cost = fluid.layers.reduce_mean(cost)
            optimizer = fluid.optimizer.Adam(1e-3 * 5, epsilon=1e-3)
            optimizer.minimize(self.cost)
        vars = list(self.train_program.list_vars())
        target_vars = sorted(filter(lambda x: 'GRAD' not in x.name and 'target' in x.name, vars),
                             key=lambda v: v.name)
        policy_vars_name = [x.name.replace('target', 'policy') for x in target_vars]
        policy_vars = sorted(filter(lambda x: x.name in policy_vars_name and 'GRAD' not in x.name, vars),
                             key=lambda v: v.name)
        self._sync_program = self.train_program.clone()
        with fluid.program_guard(self._sync_program):
            sync_ops = []
            for i, var in enumerate(policy_vars):
                sync_op = fluid.layers.assign(policy_vars[i], target_vars[i])
                sync_ops.append(sync_op)
        place = fluid.CPUPlace()
        self.exe = fluid.Executor(place)
        self.exe.run(self.startup)
        self._sync_program = self._sync_program._prune(sync_ops)

    def get_DQN_prediction(self, state, target=False):
        variable_field = 'target' if target else 'policy'
        x = state
        for i, size in enumerate((16, 16)):
            x = fluid.layers.fc(input=x, size=size, act='relu',
                                param_attr=ParamAttr(name='{}_fc{}'.format(variable_field, i)),
                                bias_attr=ParamAttr(name='{}_fc{}_b'.format(variable_field, i)))
        if self.algo == 'dueling':
            value = fluid.layers.fc(input=x, size=1, param_attr=ParamAttr(name='{}_value_fc'.format(variable_field)),
                                    bias_attr=ParamAttr(name='{}_value_fc_b'.format(variable_field)))
            advantage = fluid.layers.fc(input=x, size=self.action_dim,
                                        param_attr=ParamAttr(name='{}_advantage_fc'.format(variable_field)),
                                        bias_attr=ParamAttr(name='{}_advantage_fc_b'.format(variable_field)))
            return advantage + (value - fluid.layers.reduce_mean(advantage, dim=1, keep_dim=True))
        return fluid.layers.fc(input=x, size=self.action_dim,
                               param_attr=ParamAttr(name='{}_fc2'.format(variable_field)),
                               bias_attr=ParamAttr(name='{}_fc2_b'.format(variable_field)))

    def act(self, state, train_or_test):
        sample = self.rng.rand()
        if train_or_test == 'train' and sample < self.exploration:
            act = self.rng.randint(self.action_dim)
        else:
            pred_Q = self.exe.run(self.predict_program, feed={'state': np.expand_dims(state, axis=0)
                                                              .astype('float32')}, fetch_list=[self.pred_value])[0]
            pred_Q = np.squeeze(pred_Q, axis=0)
            act = np.argmax(pred_Q)
        if train_or_test == 'train':
            self.exploration = max(0.1, self.exploration - 0.02)
        return act

    def train(self, state, action, reward, next_state, isOver):
        if self.global_step % 10 == 0:
            self.sync_target_network()
        self.global_step += 1
        action = np.expand_dims(action, -1)
        return self.exe.run(self.train_program,
                            feed={'state': state.astype('float32'), 'action': action.astype('int32'),
                                  'reward': reward, 'next_s': next_state.astype('float32'), 'isOver': isOver},
                            fetch_list=[self.cost])[0]

    def sync_target_network(self):
        self.exe.run(self._sync_program)
