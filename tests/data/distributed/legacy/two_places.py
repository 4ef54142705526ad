# two places in each trainer (CPU_NUM=2), CompiledProgram over a transpiled program, RMSProp
import json, os, sys
import numpy as np
import paddle.fluid as fluid

os.environ["CPU_NUM"] = "2"
role, tid = os.environ["PADDLE_TRAINING_ROLE"], int(os.environ.get("PADDLE_TRAINER_ID", "0"))
main, startup = fluid.Program(), fluid.Program()
startup.random_seed = 4
with fluid.program_guard(main, startup):
    x = fluid.layers.data("x", [6])
    y = fluid.layers.data("y", [1])
    h = fluid.layers.fc(x, 10, act="sigmoid")
    h = fluid.layers.fc(h, 10, act="tanh", bias_attr=False)
    loss = fluid.layers.mean(fluid.layers.huber_loss(fluid.layers.fc(h, 1), y, 0.5))
    fluid.optimizer.RMSProp(0.01, rho=0.9, momentum=0.5, centered=True).minimize(loss)
t = fluid.DistributeTranspiler()
t.transpile(tid, program=main, startup_program=startup, pservers=os.environ["PADDLE_PSERVER_ENDPOINTS"], trainers=int(os.environ["PADDLE_TRAINERS"]))
exe = fluid.Executor(fluid.CPUPlace())
if role == "PSERVER":
    prog, boot = t.get_pserver_programs(os.environ["CURRENT_ENDPOINT"])
    exe.run(boot)
    exe.run(prog)
else:
    exe.run(startup)
    prog = fluid.CompiledProgram(t.get_trainer_program()).with_data_parallel(loss_name=loss.name)
    rng, losses = np.random.RandomState(tid), []
    for _ in range(10):
        a = rng.rand(8, 6).astype("float32")
        got = exe.run(prog, feed={"x": a, "y": a.sum(1, keepdims=True)}, fetch_list=[loss.name])[0]
        losses.append(float(np.mean(got)))
    params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in main.all_parameters()}
    json.dump({"losses": losses, "params": params}, open(os.path.join(sys.argv[1], "trainer-%d.json" % tid), "w"))
    exe.close()
