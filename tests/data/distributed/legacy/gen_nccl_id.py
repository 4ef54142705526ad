"""The benchmark scripts' own way to nccl2: a gen_nccl_id op in the startup program, addresses from PADDLE_TRAINER_IPS."""
import json, os, sys
import numpy as np
import paddle.fluid as fluid
import paddle.fluid.core as core

out = sys.argv[1]


def append_nccl2_prepare(trainer_id, startup_prog):
    port = os.getenv("PADDLE_PSERVER_PORT")
    worker_endpoints = ["%s:%s" % (ip, port) if ":" not in ip else ip for ip in os.getenv("PADDLE_TRAINER_IPS").split(",")]
    current_endpoint = worker_endpoints[trainer_id]
    num_trainers = len(worker_endpoints)
    worker_endpoints.remove(current_endpoint)
    nccl_id_var = startup_prog.global_block().create_var(name="NCCLID", persistable=True, type=core.VarDesc.VarType.RAW)
    startup_prog.global_block().append_op(
        type="gen_nccl_id", inputs={}, outputs={"NCCLID": nccl_id_var},
        attrs={"endpoint": current_endpoint, "endpoint_list": worker_endpoints, "trainer_id": trainer_id})
    return nccl_id_var, num_trainers, trainer_id


x, y = fluid.layers.data("x", [5]), fluid.layers.data("y", [1])
cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(fluid.layers.fc(x, 7, act="relu"), 1), y))
fluid.optimizer.Adam(0.01).minimize(cost)
fluid.default_startup_program().random_seed = 3
trainer_id = int(os.getenv("PADDLE_TRAINER_ID"))
nccl_id_var, num_trainers, trainer_id = append_nccl2_prepare(trainer_id, fluid.default_startup_program())
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
pe = fluid.ParallelExecutor(False, cost.name, num_trainers=num_trainers, trainer_id=trainer_id)
rng, losses = np.random.RandomState(trainer_id), []
for _ in range(5):
    data = rng.rand(8, 5).astype("float32")
    losses.append(float(np.mean(pe.run([cost.name], feed={"x": data, "y": data.sum(1, keepdims=True)})[0])))
params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in fluid.default_main_program().all_parameters()}
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % trainer_id), "w"))
