class TrainTaskConfig(object):
    """Training options; `merge_cfg_from_list` overrides them from the command line."""
    use_gpu = False
    pass_num = 2
    learning_rate = 0.5
    beta1 = 0.9
    beta2 = 0.997
    eps = 1e-9
    warmup_steps = 40
    label_smooth_eps = 0.1
    ckpt_path = None
    start_step = 0
    save_freq = 27
    batches = 27


class InferTaskConfig(object):
    batch_size = 3
    beam_size = 3
    max_out_len = 6
    n_best = 1


class ModelHyperParams(object):
    src_vocab_size = 26
    trg_vocab_size = 26
    bos_idx = 0
    eos_idx = 1
    unk_idx = 2
    max_length = 16
    d_model = 16
    d_inner_hid = 32
    d_key = 8
    d_value = 8
    n_head = 2
    n_layer = 1
    prepostprocess_dropout = 0.1
    attention_dropout = 0.1
    relu_dropout = 0.1
    preprocess_cmd = "n"
    postprocess_cmd = "da"
    weight_sharing = True


def merge_cfg_from_list(cfg_list, g_cfgs):
    assert len(cfg_list) % 2 == 0
    for key, value in zip(cfg_list[0::2], cfg_list[1::2]):
        for g_cfg in g_cfgs:
            if hasattr(g_cfg, key):
                try:
                    value = eval(value)
                except Exception:
                    pass
                setattr(g_cfg, key, value)
                break


batch_size = -1
seq_len = ModelHyperParams.max_length
input_descs = {
    "src_word": [(batch_size, seq_len, 1), "int64", 2],
    "src_pos": [(batch_size, seq_len, 1), "int64"],
    "src_slf_attn_bias": [(batch_size, ModelHyperParams.n_head, seq_len, seq_len), "float32"],
    "trg_word": [(batch_size, seq_len, 1), "int64", 2],
    "trg_pos": [(batch_size, seq_len, 1), "int64"],
    "trg_slf_attn_bias": [(batch_size, ModelHyperParams.n_head, seq_len, seq_len), "float32"],
    "trg_src_attn_bias": [(batch_size, ModelHyperParams.n_head, seq_len, seq_len), "float32"],
    "lbl_word": [(batch_size * seq_len, 1), "int64"],
    "lbl_weight": [(batch_size * seq_len, 1), "float32"],
    "init_score": [(batch_size, 1), "float32", 2],
    "init_idx": [(batch_size,), "int32"],
}
pos_enc_param_names = ("src_pos_enc_table", "trg_pos_enc_table")
word_emb_param_names = ("src_word_emb_table", "trg_word_emb_table")
encoder_data_input_fields = ("src_word", "src_pos", "src_slf_attn_bias")
decoder_data_input_fields = ("trg_word", "trg_pos", "trg_slf_attn_bias", "trg_src_attn_bias")
label_data_input_fields = ("lbl_word", "lbl_weight")
fast_decoder_data_input_fields = ("trg_word", "init_score", "init_idx", "trg_src_attn_bias")
