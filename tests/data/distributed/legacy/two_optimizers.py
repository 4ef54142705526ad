# two losses, two optimizers, two programs in one nccl2 job (a GAN), AdamW-like decay through L2
import json, os, sys
import numpy as np
import paddle.fluid as fluid
tid, ends = int(os.getenv("PADDLE_TRAINER_ID", "0")), os.getenv("PADDLE_TRAINER_ENDPOINTS", "a:1").split(",")
G = lambda z: fluid.layers.fc(fluid.layers.fc(z, 12, act="relu", param_attr="g1", bias_attr="g1b"), 4, param_attr="g2", bias_attr="g2b")
D = lambda x: fluid.layers.fc(fluid.layers.fc(x, 12, act="leaky_relu", param_attr="d1", bias_attr="d1b"), 1, param_attr="d2", bias_attr="d2b")
d_program, g_program, startup = fluid.Program(), fluid.Program(), fluid.Program()
startup.random_seed = 3
bce = fluid.layers.sigmoid_cross_entropy_with_logits
with fluid.program_guard(d_program, startup):
    real, fake = fluid.data("real", [None, 4]), fluid.data("fake", [None, 4])
    one, zero = fluid.layers.fill_constant_batch_size_like(real, [-1, 1], "float32", 1.0), fluid.layers.fill_constant_batch_size_like(real, [-1, 1], "float32", 0.0)
    d_loss = fluid.layers.mean(bce(D(real), one)) + fluid.layers.mean(bce(D(fake), zero))
    fluid.optimizer.Adam(2e-2, beta1=0.5).minimize(d_loss, parameter_list=["d1", "d1b", "d2", "d2b"])
with fluid.program_guard(g_program, startup):
    z = fluid.data("z", [None, 3])
    made = G(z)
    g_infer = g_program.clone(for_test=True)
    one = fluid.layers.fill_constant_batch_size_like(z, [-1, 1], "float32", 1.0)
    g_loss = fluid.layers.mean(bce(D(made), one))
    fluid.optimizer.Adam(2e-2, beta1=0.5).minimize(g_loss, parameter_list=["g1", "g1b", "g2", "g2b"])
if len(ends) > 1:
    for program in (d_program, g_program):
        config = fluid.DistributeTranspilerConfig()
        config.mode = "nccl2"
        fluid.DistributeTranspiler(config).transpile(tid, program=program, startup_program=startup, trainers=",".join(ends), current_endpoint=ends[tid])
exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
rng, n, losses = np.random.RandomState(0), len(ends), []
for step in range(8):
    part = slice(tid * 8 // n, (tid + 1) * 8 // n)
    noise, data = rng.randn(8, 3).astype("float32")[part], rng.randn(8, 4).astype("float32")[part]
    out, = exe.run(g_infer, feed={"z": noise}, fetch_list=[made])
    a, = exe.run(d_program, feed={"real": data, "fake": out}, fetch_list=[d_loss])
    b, = exe.run(g_program, feed={"z": noise}, fetch_list=[g_loss])
    losses += [float(a), float(b)]
params = {k: np.array(fluid.global_scope().find_var(k).get_tensor()).tolist() for k in ("d1", "d1b", "d2", "d2b", "g1", "g1b", "g2", "g2b")}
json.dump({"losses": losses, "params": params}, open(os.path.join(sys.argv[1], "trainer-%d.json" % tid), "w"))
