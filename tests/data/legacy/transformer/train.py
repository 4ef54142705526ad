import argparse
import copy
import logging
import os
import six
import sys
import time
import numpy as np
import paddle.fluid as fluid
from config import *
from model import transformer, position_encoding_init, fast_decode


def parse_args():
    parser = argparse.ArgumentParser("Training for Transformer.")
    parser.add_argument('opts', help='See config.py for all options', default=None, nargs=argparse.REMAINDER)
    args = parser.parse_args()
    merge_cfg_from_list(args.opts, [TrainTaskConfig, ModelHyperParams])
    return args


def pad_batch_data(insts, pad_idx, n_head, is_target=False, is_label=False, return_attn_bias=True,
                   return_max_len=True, return_num_token=False):
    return_list = []
    max_len = max(len(inst) for inst in insts)
    num_token = six.moves.reduce(lambda x, y: x + y, [len(inst) for inst in insts]) if return_num_token else 0
    inst_data = np.array([inst + [pad_idx] * (max_len - len(inst)) for inst in insts])
    return_list += [inst_data.astype("int64").reshape([-1, 1])]
    if is_label:
        inst_weight = np.array([[1.] * len(inst) + [0.] * (max_len - len(inst)) for inst in insts])
        return_list += [inst_weight.astype("float32").reshape([-1, 1])]
    else:
        inst_pos = np.array([list(range(0, len(inst))) + [0] * (max_len - len(inst)) for inst in insts])
        return_list += [inst_pos.astype("int64").reshape([-1, 1])]
    if return_attn_bias:
        if is_target:
            slf_attn_bias_data = np.ones((inst_data.shape[0], max_len, max_len))
            slf_attn_bias_data = np.triu(slf_attn_bias_data, 1).reshape([-1, 1, max_len, max_len])
            slf_attn_bias_data = np.tile(slf_attn_bias_data, [1, n_head, 1, 1]) * [-1e9]
        else:
            slf_attn_bias_data = np.array([[0] * len(inst) + [-1e9] * (max_len - len(inst)) for inst in insts])
            slf_attn_bias_data = np.tile(slf_attn_bias_data.reshape([-1, 1, 1, max_len]), [1, n_head, max_len, 1])
        return_list += [slf_attn_bias_data.astype("float32")]
    if return_max_len:
        return_list += [max_len]
    return return_list


def prepare_batch_input(insts, p):
    src_word, src_pos, src_slf, src_max_len = pad_batch_data([i[0] for i in insts], p.eos_idx, p.n_head)
    src_word = src_word.reshape(-1, src_max_len, 1)
    src_pos = src_pos.reshape(-1, src_max_len, 1)
    trg_word, trg_pos, trg_slf, trg_max_len = pad_batch_data([i[1] for i in insts], p.eos_idx, p.n_head,
                                                             is_target=True)
    trg_word = trg_word.reshape(-1, trg_max_len, 1)
    trg_pos = trg_pos.reshape(-1, trg_max_len, 1)
    trg_src = np.tile(src_slf[:, :, ::src_max_len, :], [1, 1, trg_max_len, 1]).astype("float32")
    lbl_word, lbl_weight = pad_batch_data([i[2] for i in insts], p.eos_idx, p.n_head, is_label=True,
                                          return_attn_bias=False, return_max_len=False)
    return dict(zip(encoder_data_input_fields + decoder_data_input_fields + label_data_input_fields,
                    [src_word, src_pos, src_slf, trg_word, trg_pos, trg_slf, trg_src, lbl_word, lbl_weight]))


def make_batches(count, p, seed=2):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        insts = []
        for _ in range(4):
            src = rng.randint(3, p.src_vocab_size, rng.randint(3, 8)).tolist()
            trg = [(w + 1) % 23 + 3 for w in reversed(src)]
            insts.append((src + [p.eos_idx], [p.bos_idx] + trg, trg + [p.eos_idx]))
        yield prepare_batch_input(insts, p)


def main():
    args = parse_args()
    p = ModelHyperParams
    train_prog, startup_prog = fluid.Program(), fluid.Program()
    train_prog.random_seed = startup_prog.random_seed = 1000
    with fluid.program_guard(train_prog, startup_prog):
        with fluid.unique_name.guard():
            sum_cost, avg_cost, predict, token_num = transformer(p, TrainTaskConfig.label_smooth_eps)
            test_prog = train_prog.clone(for_test=True)
            lr_decay = fluid.layers.learning_rate_scheduler.noam_decay(p.d_model, TrainTaskConfig.warmup_steps)
            optimizer = fluid.optimizer.Adam(learning_rate=lr_decay * TrainTaskConfig.learning_rate,
                                             beta1=TrainTaskConfig.beta1, beta2=TrainTaskConfig.beta2,
                                             epsilon=TrainTaskConfig.eps)
            optimizer.minimize(avg_cost)
    place = fluid.CPUPlace()
    exe = fluid.Executor(place)
    exe.run(startup_prog)
    if TrainTaskConfig.ckpt_path:
        fluid.io.load_persistables(exe, TrainTaskConfig.ckpt_path, main_program=train_prog)
    else:
        for pos_enc_param_name in pos_enc_param_names:
            pos_enc_param = fluid.global_scope().find_var(pos_enc_param_name).get_tensor()
            pos_enc_param.set(position_encoding_init(p.max_length, p.d_model), place)
    loss_normalizer = -((1. - TrainTaskConfig.label_smooth_eps) * np.log((1. - TrainTaskConfig.label_smooth_eps)) +
                        TrainTaskConfig.label_smooth_eps * np.log(TrainTaskConfig.label_smooth_eps / (
                            p.trg_vocab_size - 1) + 1e-20))
    step_idx = 0
    for pass_id in six.moves.xrange(TrainTaskConfig.pass_num):
        for batch_id, feed in enumerate(make_batches(TrainTaskConfig.batches, p)):
            outs = exe.run(train_prog, feed=feed, fetch_list=[sum_cost.name, token_num.name])
            sum_cost_val, token_num_val = np.array(outs[0]), np.array(outs[1])
            total_sum_cost = sum_cost_val.sum()
            total_avg_cost = total_sum_cost / token_num_val.sum()
            print("step_idx: %d, epoch: %d, batch: %d, avg loss: %f, normalized loss: %f, ppl: %f" % (
                step_idx, pass_id, batch_id, total_avg_cost, total_avg_cost - loss_normalizer,
                np.exp([min(total_avg_cost, 100)])))
            step_idx += 1
            if step_idx % TrainTaskConfig.save_freq == 0:
                model_dir = os.path.join('trained_ckpts', "iter_" + str(step_idx) + ".infer.model")
                fluid.io.save_persistables(exe, model_dir, train_prog)
        losses = [exe.run(test_prog, feed=feed, fetch_list=[sum_cost.name])[0][0] for feed in make_batches(2, p, 5)]
        print("val", "%.4f %.4f" % tuple(losses))
    # Decode with the trained parameters by a program of its own.
    infer_prog = fluid.Program()
    with fluid.program_guard(infer_prog, fluid.Program()):
        with fluid.unique_name.guard():
            for name in ('prepostprocess_dropout', 'attention_dropout', 'relu_dropout'):
                setattr(p, name, 0.)
            out_ids, out_scores = fast_decode(p, InferTaskConfig.max_out_len, InferTaskConfig.beam_size, p.eos_idx)
    infer_prog = infer_prog.clone(for_test=True)
    feed = next(make_batches(1, p, 9))
    src_word = feed['src_word']
    n = src_word.shape[0]
    trg_word = fluid.create_lod_tensor(np.array([[p.bos_idx]] * n, 'int64').reshape([-1, 1, 1]),
                                       [[1] * n, [1] * n], place)
    init_score = fluid.create_lod_tensor(np.zeros((n, 1), 'float32'), [[1] * n, [1] * n], place)
    seq_ids, seq_scores = exe.run(
        infer_prog,
        feed={'src_word': src_word, 'src_pos': feed['src_pos'], 'src_slf_attn_bias': feed['src_slf_attn_bias'],
              'trg_word': trg_word, 'init_score': init_score, 'init_idx': np.arange(n).astype('int32'),
              'trg_src_attn_bias': feed['src_slf_attn_bias'][:, :, :1, :]},
        fetch_list=[out_ids, out_scores], return_numpy=False)
    hyps = [[] for i in range(n)]
    lod = seq_ids.lod()
    ids, scores = np.array(seq_ids), np.array(seq_scores)
    for i in range(len(lod[0]) - 1):
        start, end = lod[0][i], lod[0][i + 1]
        for j in range(end - start):
            sub_start, sub_end = lod[1][start + j], lod[1][start + j + 1]
            print("hyp", i, j, ids[sub_start:sub_end].flatten().tolist(), "%.4f" % scores[sub_end - 1])


if __name__ == "__main__":
    main()
