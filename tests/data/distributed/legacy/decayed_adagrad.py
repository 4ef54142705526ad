# sync servers, DecayedAdagrad with inverse_time_decay, the test program between steps
import json, os, sys
import numpy as np
import paddle.fluid as fluid
tid = int(os.getenv("PADDLE_TRAINER_ID", "0"))
fluid.default_startup_program().random_seed = 8
x, y = fluid.layers.data("x", [4]), fluid.layers.data("y", [1])
pred = fluid.layers.fc(fluid.layers.fc(x, 6, act="tanh"), 1)
loss = fluid.layers.mean(fluid.layers.log_loss(fluid.layers.sigmoid(pred), y))
test = fluid.default_main_program().clone(for_test=True)
fluid.optimizer.DecayedAdagrad(fluid.layers.inverse_time_decay(0.1, 3, 0.5, staircase=True), decay=0.9).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(tid, pservers=os.environ["PADDLE_PSERVER_ENDPOINTS"], trainers=2)
exe = fluid.Executor(fluid.CPUPlace())
if os.environ["PADDLE_TRAINING_ROLE"] == "PSERVER":
    prog, boot = t.get_pserver_programs(os.environ["CURRENT_ENDPOINT"])
    exe.run(boot)
    exe.run(prog)
else:
    prog = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    rng, losses = np.random.RandomState(tid), []
    for i in range(10):
        a = rng.rand(5, 4).astype("float32")
        f = {"x": a, "y": (a.sum(1, keepdims=True) > 2).astype("float32")}
        losses.append(float(exe.run(prog, feed=f, fetch_list=[loss])[0]))
        if i % 3 == 2:
            losses.append(float(exe.run(test, feed=f, fetch_list=[loss])[0]))
    params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in test.all_parameters()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(sys.argv[1], "trainer-%d.json" % tid), "w"))
    exe.close()
