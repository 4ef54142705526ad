"""An encoder and a decoder over ragged sentences as Fluid's book had it, with an evaluation after each pass."""
from __future__ import print_function

import json
import os
import sys

import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.fluid.layers as pd

out = sys.argv[1]
dict_size, word_dim, hidden_dim, batch_size = 40, 6, 10, 4
trainer_id = int(os.getenv("PADDLE_TRAINER_ID", "0"))


def encoder():
    src = pd.data(name="src_word_id", shape=[1], dtype="int64", lod_level=1)
    embedding = pd.embedding(input=src, size=[dict_size, word_dim], param_attr=fluid.ParamAttr(name="vemb"))
    fc1 = pd.fc(input=embedding, size=hidden_dim * 4, act="tanh")
    hidden, _ = pd.dynamic_lstm(input=fc1, size=hidden_dim * 4)
    return pd.sequence_last_step(input=hidden)


def train_decoder(context):
    trg = pd.data(name="target_language_word", shape=[1], dtype="int64", lod_level=1)
    embedding = pd.embedding(input=trg, size=[dict_size, word_dim], param_attr=fluid.ParamAttr(name="vemb"))
    rnn = pd.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(embedding)
        state = rnn.memory(init=context)
        current = pd.fc(input=[word, state], size=hidden_dim, act="tanh")
        rnn.update_memory(state, current)
        rnn.output(pd.fc(input=current, size=dict_size, act="softmax"))
    return rnn()


def sentences(seed, count):
    def reader():
        rng = np.random.RandomState(seed)
        for _ in range(count):
            source = rng.randint(0, dict_size, rng.randint(2, 6)).tolist()
            target = rng.randint(0, dict_size, rng.randint(2, 5)).tolist()
            yield source, target, target[1:] + [1]

    return paddle.batch(reader, batch_size)


fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 7
scores = train_decoder(encoder())
label = pd.data(name="target_language_next_word", shape=[1], dtype="int64", lod_level=1)
avg_cost = pd.mean(pd.cross_entropy(input=scores, label=label))
test_program = fluid.default_main_program().clone(for_test=True)
fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(0.5))
fluid.optimizer.Adagrad(0.1, regularization=fluid.regularizer.L2DecayRegularizer(0.01)).minimize(avg_cost)

port = os.getenv("PADDLE_PSERVER_PORT", "6174")
endpoints = os.getenv("PADDLE_PSERVER_ENDPOINTS")
config = fluid.DistributeTranspilerConfig()
config.slice_var_up = False
t = fluid.DistributeTranspiler(config=config)
t.transpile(trainer_id, pservers=endpoints, trainers=int(os.getenv("PADDLE_TRAINERS")))
exe = fluid.Executor(fluid.CPUPlace())
if os.getenv("PADDLE_TRAINING_ROLE") == "PSERVER":
    program, startup = t.get_pserver_programs(os.getenv("CURRENT_ENDPOINT"))
    exe.run(startup)
    exe.run(program)
else:
    main = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    names = ["src_word_id", "target_language_word", "target_language_next_word"]
    feeder = fluid.DataFeeder([main.global_block().var(name) for name in names], fluid.CPUPlace())
    losses = []
    for pass_id in range(2):
        for data in sentences(3 + trainer_id, 24)():
            losses.append(float(exe.run(main, feed=feeder.feed(data), fetch_list=[avg_cost])[0]))
        costs = [exe.run(test_program, feed=feeder.feed(data), fetch_list=[avg_cost])[0] for data in sentences(50, 8)()]
        losses.append(float(np.mean(costs)))
    scope = fluid.global_scope()
    params = {p.name: np.array(scope.find_var(p.name).get_tensor()).ravel()[:16].tolist() for p in main.all_parameters()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))
    exe.close()
