"""Train on the records of FOLDER/*.recordio with checkpoints in OUT, as any number of trainers started by torchrun.

elastic.py FOLDER OUT STEPS GLOBAL_BATCH [PAUSE]: the parameters at the end go to OUT/parameters.npz.
"""
import glob
import os
import sys
import time

import numpy as np
import paddle.fluid as fluid

folder, out, steps, whole = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
pause = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
trainer, trainers = int(os.environ.get("PADDLE_TRAINER_ID", "0")), int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
with open(os.path.join(out, "pid-%d" % trainer), "w") as file:
    file.write(str(os.getpid()))
main, startup = fluid.default_main_program(), fluid.default_startup_program()
main.random_seed = startup.random_seed = 5
names = sorted(glob.glob(os.path.join(folder, "*.recordio")))
reader = fluid.layers.open_files(
    names, [[-1, 3], [-1, 1]], [0, 0], ["float32", "float32"], shuffle_files=True, trainers=trainers, trainer_id=trainer
)
reader = fluid.layers.batch(fluid.layers.shuffle(reader, 32), whole // trainers, drop_last=True)
x, y = fluid.layers.read_file(fluid.layers.double_buffer(reader))
loss = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(fluid.layers.fc(x, 8, act="tanh"), 1), y))
fluid.optimizer.Adam(fluid.layers.exponential_decay(0.01, 10, 0.9)).minimize(loss)
if trainers > 1:
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    fluid.DistributeTranspiler(config=config).transpile(trainer, trainers=os.environ["PADDLE_TRAINER_ENDPOINTS"])
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
checkpoints = fluid.io.Checkpoints(exe, os.path.join(out, "checkpoints"), main, readers=[reader], keep=2)
saved = checkpoints.resume()
step = saved.step if saved else 0
print("trainer", trainer, "of", trainers, "goes on after step", step)
sys.stdout.flush()
while step < steps:
    try:
        exe.run(fetch_list=[loss])
    except fluid.core.EOFException:
        reader.reset()
        continue
    step += 1
    if step % 2 == 0:
        checkpoints.save(step, trainers=trainers)
    time.sleep(pause)
if trainer == 0:
    values = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()) for p in main.all_parameters()}
    np.savez(os.path.join(out, "parameters.npz"), **values)
exe.close()
