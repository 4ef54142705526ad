# encoder pre-training over fleet collective: Lamb, clip by global norm, noam
import json, os, sys
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.collective import fleet, DistributedStrategy
import paddle.fluid.incubate.fleet.base.role_maker as role_maker

out = sys.argv[1]
if os.getenv("PADDLE_TRAINER_ENDPOINTS"):
    role = role_maker.PaddleCloudRoleMaker(is_collective=True)
else:
    role = role_maker.UserDefinedCollectiveRoleMaker(current_id=0, worker_endpoints=["127.0.0.1:6170"])
fleet.init(role)
D, T, V = 16, 6, 30
fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 5
src = fluid.data("src", [None, T], "int64")
pos = fluid.data("pos", [None, T], "int64")
label = fluid.data("label", [None, 1], "int64")
emb = fluid.embedding(src, [V, D], param_attr=fluid.ParamAttr(name="word_emb", initializer=fluid.initializer.TruncatedNormal(0.0, 0.02)))
emb = emb + fluid.embedding(pos, [T, D], param_attr=fluid.ParamAttr(name="pos_emb"))
emb = fluid.layers.layer_norm(emb, begin_norm_axis=2)
q, k, v = [fluid.layers.fc(emb, D, num_flatten_dims=2, bias_attr=False) for _ in range(3)]
heads = [fluid.layers.transpose(fluid.layers.reshape(x, [0, 0, 2, D // 2]), [0, 2, 1, 3]) for x in (q, k, v)]
att = fluid.layers.softmax(fluid.layers.matmul(heads[0], heads[1], transpose_y=True, alpha=(D // 2) ** -0.5))
ctx = fluid.layers.reshape(fluid.layers.transpose(fluid.layers.matmul(att, heads[2]), [0, 2, 1, 3]), [0, 0, D])
enc = fluid.layers.layer_norm(fluid.layers.elementwise_add(emb, fluid.layers.fc(ctx, D, num_flatten_dims=2)), begin_norm_axis=2)
pooled = fluid.layers.reshape(fluid.layers.slice(enc, [1], [0], [1]), [-1, D])
logits = fluid.layers.fc(pooled, 4)
loss = fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits, label))
lr = fluid.layers.noam_decay(D, 4)
optimizer = fluid.optimizer.Lamb(learning_rate=lr, lamb_weight_decay=0.01, grad_clip=fluid.clip.GradientClipByGlobalNorm(0.5),
                                 exclude_from_weight_decay_fn=lambda p: p.name.endswith(".b_0"))
strategy = DistributedStrategy()
strategy.exec_strategy = fluid.ExecutionStrategy()
strategy.exec_strategy.num_threads = 1
strategy.nccl_comm_num = 1
strategy.fuse_all_reduce_ops = True
optimizer = fleet.distributed_optimizer(optimizer, strategy=strategy)
optimizer.minimize(loss, fluid.default_startup_program())
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
rng, losses, size, me = np.random.RandomState(8), [], fleet.worker_num(), fleet.worker_index()
for step in range(8):
    feed = {"src": rng.randint(0, V, (8, T)), "pos": np.tile(np.arange(T), (8, 1)), "label": rng.randint(0, 4, (8, 1))}
    part = 8 // size
    feed = {n: x[me * part:(me + 1) * part].astype("int64") for n, x in feed.items()}
    losses.append(float(np.mean(exe.run(fleet.main_program, feed=feed, fetch_list=[loss.name])[0])))
params = {p.name: np.array(fluid.global_scope().find_var(p.name).get_tensor()).tolist() for p in fluid.default_main_program().all_parameters()}
json.dump({"losses": losses, "params": params}, open(os.path.join(out, "trainer-%d.json" % me), "w"))
if fleet.is_first_worker():
    fleet.save_persistables(executor=exe, dirname=os.path.join(out, "saved"), main_program=fleet._origin_program)
