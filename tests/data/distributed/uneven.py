"""Train some steps as one of N trainers, or misbehave at one of them.

uneven.py OUT STEPS [TRAINER ACTION STEP]: STEPS is the number of steps of each trainer, "3,5"; ACTION is kill, stop,
raise, exit or sleep. The parameters after each step go to OUT/trainer-ID.npy.
"""
import os
import signal
import sys
import time

import numpy as np
import paddle.fluid as fluid

out, steps = sys.argv[1], [int(n) for n in sys.argv[2].split(",")]
who, action, when = (int(sys.argv[3]), sys.argv[4], int(sys.argv[5])) if len(sys.argv) > 3 else (-1, "", 0)
trainer, trainers = int(os.environ["PADDLE_TRAINER_ID"]), int(os.environ["PADDLE_TRAINERS_NUM"])
x, y = fluid.layers.data("x", [3]), fluid.layers.data("y", [1])
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, 1), y))
fluid.optimizer.SGD(0.1).minimize(loss)
config = fluid.DistributeTranspilerConfig()
config.mode = "nccl2"
fluid.DistributeTranspiler(config=config).transpile(trainer, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"])
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
seen = [np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())]
for step in range(steps[trainer]):
    if trainer == who and step == when:
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if action == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
        if action == "sleep":
            time.sleep(60)
        if action == "exit":
            sys.exit("no data")
        if action == "raise":
            raise ValueError("a mistake in the script")
    rng = np.random.RandomState(100 * trainer + step)
    exe.run(feed={"x": rng.rand(4, 3).astype("float32"), "y": rng.rand(4, 1).astype("float32")}, fetch_list=[loss])
    seen.append(np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor()))
    np.save(os.path.join(out, "trainer-%d.npy" % trainer), np.array(seen))
