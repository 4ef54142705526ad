"""The collective transpilers themselves, on programs of a script: GradAllReduce or LocalSGD."""
import json, os, sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.transpiler.collective import GradAllReduce, LocalSGD

out, kind = sys.argv[1], sys.argv[2]
main, startup = fluid.Program(), fluid.Program()
main.random_seed = startup.random_seed = 9
with fluid.program_guard(main, startup):
    x, y = fluid.layers.data("x", [5]), fluid.layers.data("y", [1])
    cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(fluid.layers.fc(x, 7, act="relu"), 1), y))
    fluid.optimizer.SGD(0.1).minimize(cost)
rank = int(os.environ["PADDLE_TRAINER_ID"])
endpoints = os.environ["PADDLE_TRAINER_ENDPOINTS"].split(",")
t = {"grad": GradAllReduce, "local": LocalSGD}[kind]()
t.transpile(startup_program=startup, main_program=main, rank=rank, endpoints=endpoints,
            current_endpoint=os.environ["PADDLE_CURRENT_ENDPOINT"], wait_port=True)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
rng, losses = np.random.RandomState(rank), []
for _ in range(5):
    data = rng.rand(8, 5).astype("float32")
    losses.append(float(np.mean(exe.run(main, feed={"x": data, "y": data.sum(1, keepdims=True)}, fetch_list=[cost])[0])))
params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in main.all_parameters()}
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % rank), "w"))
