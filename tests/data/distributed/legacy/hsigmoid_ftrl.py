# language model with an hsigmoid head, FTRL, gradient clip by value
from __future__ import print_function
import json, os, sys
import numpy as np
import paddle
import paddle.fluid as fluid

def env(name, default=None):
    return os.environ.get(name, default)

fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 12
words = [fluid.layers.data(name='w%d' % i, shape=[1], dtype='int64') for i in range(4)]
embs = [fluid.layers.embedding(input=w, size=[20, 6], param_attr=fluid.ParamAttr(name='shared_w')) for w in words[:3]]
hidden = fluid.layers.fc(input=fluid.layers.concat(input=embs, axis=1), size=12, act='tanh')
hs = fluid.layers.hsigmoid(input=hidden, label=words[3], num_classes=20)
ce = fluid.layers.cross_entropy(fluid.layers.fc(hidden, 20, act='softmax'), words[3])
cost = fluid.layers.mean(fluid.layers.elementwise_add(hs, ce))
fluid.clip.set_gradient_clip(fluid.clip.GradientClipByValue(max=0.02, min=-0.03))
fluid.optimizer.Ftrl(learning_rate=0.1, l1=0.001, l2=0.01).minimize(cost)
tid = int(env('PADDLE_TRAINER_ID', 0))
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=tid, pservers=env('PADDLE_PSERVER_ENDPOINTS'), trainers=int(env('PADDLE_TRAINERS')))
exe = fluid.Executor(fluid.CPUPlace())
if env('PADDLE_TRAINING_ROLE') == 'PSERVER':
    prog = t.get_pserver_program(env('CURRENT_ENDPOINT'))
    exe.run(t.get_startup_program(env('CURRENT_ENDPOINT'), prog))
    exe.run(prog)
    sys.exit(0)
prog = t.get_trainer_program()
exe.run(fluid.default_startup_program())
rng, losses = np.random.RandomState(tid + 2), []
for i in range(5):
    data = rng.randint(0, 20, (7, 1)).astype('int64')
    feed = {'w%d' % k: (data * (k + 1) + k) % 20 for k in range(4)}
    losses.append(float(exe.run(prog, feed=feed, fetch_list=[cost])[0]))
names = [p.name for p in prog.global_block().all_parameters() if p.name != 'shared_w']
json.dump({'losses': losses, 'params': {n: np.array(fluid.global_scope().find_var(n).get_tensor()).tolist() for n in names}},
          open(os.path.join(sys.argv[1], 'trainer-%d.json' % tid), 'w'))
exe.close()
