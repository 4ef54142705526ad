import argparse


def parse_args():
    parser = argparse.ArgumentParser(description="PaddlePaddle DeepFM example")
    parser.add_argument('--train_data_dir', type=str, default='data/train_data')
    parser.add_argument('--embedding_size', type=int, default=4)
    parser.add_argument('--num_epoch', type=int, default=3)
    parser.add_argument('--model_output_dir', type=str, default='models')
    parser.add_argument('--num_thread', type=int, default=1)
    parser.add_argument('--batch_size', type=int, default=8)
    parser.add_argument('--lr', type=float, default=1e-2)
    parser.add_argument('--reg', type=float, default=1e-4)
    parser.add_argument('--num_field', type=int, default=5)
    parser.add_argument('--num_feat', type=int, default=60)
    parser.add_argument('--layer_sizes_dnn', nargs='+', type=int, default=[16, 8])
    parser.add_argument('--act', type=str, default='relu')
    return parser.parse_args()
