import argparse
import time
import numpy as np
import paddle.fluid as fluid
from graph_wrapper import GraphWrapper, gcn, gat


def load_graph(n=40, feats=12, classes=3):
    rng = np.random.RandomState(6)
    label = rng.randint(0, classes, n)
    src, dst = [], []
    for i in range(n):
        src.append(i)
        dst.append(i)
        for j in rng.choice(n, 4, replace=False):
            if label[i] == label[j] or rng.rand() < 0.2:
                src.append(i)
                dst.append(j)
    words = rng.rand(n, feats).astype('float32')
    words[np.arange(n), label] += 1.0
    deg = np.bincount(np.array(dst), minlength=n).astype('float32')
    return {'n': n, 'src': np.array(src).astype('int64'), 'dst': np.array(dst).astype('int64'), 'words': words,
            'norm': np.expand_dims(np.power(np.maximum(deg, 1), -0.5), -1).astype('float32')}, \
        label.astype('int64').reshape([-1, 1])


def main(args):
    graph, y = load_graph()
    train_index = np.arange(0, 20).reshape([-1, 1]).astype('int32')
    val_index = np.arange(20, 40).reshape([-1, 1]).astype('int32')
    train_program, startup_program, val_program = fluid.Program(), fluid.Program(), fluid.Program()
    train_program.random_seed = startup_program.random_seed = 2
    with fluid.program_guard(train_program, startup_program):
        with fluid.unique_name.guard():
            gw = GraphWrapper("graph", node_feat=[("words", [None, 12], "float32"), ("norm", [None, 1], "float32")])
            if args.model == 'gcn':
                output = gcn(gw, gw.node_feat["words"], 8, "relu", "gcn_layer_1", norm=gw.node_feat['norm'])
                output = fluid.layers.dropout(output, 0.5, dropout_implementation='upscale_in_train', seed=9)
                output = gcn(gw, output, 3, None, "gcn_layer_2", norm=gw.node_feat['norm'])
            else:
                output = gat(gw, gw.node_feat["words"], 8, "elu", "gat_layer_1")
                output = gat(gw, output, 3, None, "gat_layer_2", num_heads=1)
            node_index = fluid.layers.data("node_index", shape=[None, 1], dtype="int64", append_batch_size=False)
            node_label = fluid.layers.data("node_label", shape=[None, 1], dtype="int64", append_batch_size=False)
            pred = fluid.layers.gather(output, node_index)
            loss, pred = fluid.layers.softmax_with_cross_entropy(logits=pred, label=node_label, return_softmax=True)
            acc = fluid.layers.accuracy(input=pred, label=node_label, k=1)
            loss = fluid.layers.mean(loss)
            test_program = train_program.clone(for_test=True)
            adam = fluid.optimizer.Adam(learning_rate=1e-2,
                                        regularization=fluid.regularizer.L2DecayRegularizer(
                                            regularization_coeff=0.0005))
            adam.minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup_program)
    if args.init:
        fluid.io.load_persistables(exe, args.init, train_program)
    feed_dict = gw.to_feed(graph)
    dur = []
    for epoch in range(args.epochs):
        if epoch >= 3:
            t0 = time.time()
        feed_dict["node_index"] = np.array(train_index, dtype="int64")
        feed_dict["node_label"] = y[:20]
        train_loss, train_acc = exe.run(train_program, feed=feed_dict, fetch_list=[loss, acc], return_numpy=True)
        feed_dict["node_index"] = np.array(val_index, dtype="int64")
        feed_dict["node_label"] = y[20:]
        val_loss, val_acc = exe.run(test_program, feed=feed_dict, fetch_list=[loss, acc], return_numpy=True)
        print("Epoch %d " % epoch + "Train Loss: %f " % train_loss + "Train Acc: %f " % train_acc +
              "Val Loss: %f " % val_loss + "Val Acc: %f " % val_acc)
        if epoch == 24:
            fluid.io.save_persistables(exe, 'ckpt', train_program)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='GCN')
    parser.add_argument("--model", default='gat')
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--init", default=None)
    main(parser.parse_args())
