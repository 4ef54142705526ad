"""The models of `training_models.py` in PyTorch, as the alternative for users.

python training_torch.py CASE       (then as `training_serve.py` says)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import pairwise

import image_torch
import torch
from torch import nn
from torch.nn import functional as F
from training_serve import serve

Loss = Callable[[], torch.Tensor]
Case = tuple[list[torch.optim.Optimizer], Loss]


def conv_norm(inputs: int, filters: int, size: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, filters, size, stride, (size - 1) // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(filters))


class Residual(nn.Module):
    """A branch parallel to a shortcut, which is projected if the shape changes."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch, self.shortcut = branch, shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.shortcut(x) + self.branch(x))


def head(inputs: int, classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)]


def on_images(model: nn.Module, size: int, classes: int, batch: int, adam: bool = False) -> Case:
    x, y = torch.rand(batch, 3, size, size), torch.randint(0, classes, (batch,))
    weights = model.parameters()
    optimizer = torch.optim.Adam(weights, 1e-3) if adam else torch.optim.SGD(weights, 0.1, 0.9)
    return [optimizer], lambda: F.cross_entropy(model(x), y)


def resnet_cifar() -> Case:
    parts: list[nn.Module] = [conv_norm(3, 16, 3), nn.ReLU()]
    inputs = 16
    for filters in (16, 32, 64):
        for _ in range(3):
            stride = filters // inputs
            branch = nn.Sequential(conv_norm(inputs, filters, 3, stride), nn.ReLU(), conv_norm(filters, filters, 3))
            parts.append(Residual(branch, conv_norm(inputs, filters, 1, 2) if stride > 1 else nn.Identity()))
            inputs = filters
    return on_images(nn.Sequential(*parts, *head(64, 10)), 32, 10, 64)


def resnet50() -> Case:
    parts: list[nn.Module] = [conv_norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for filters, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(count):
            stride = 2 if filters > 64 and block == 0 else 1
            branch = nn.Sequential(
                conv_norm(inputs, filters, 1),
                nn.ReLU(),
                conv_norm(filters, filters, 3, stride),
                nn.ReLU(),
                conv_norm(filters, 4 * filters, 1),
            )
            shortcut = conv_norm(inputs, 4 * filters, 1, stride) if block == 0 else nn.Identity()
            parts.append(Residual(branch, shortcut))
            inputs = 4 * filters
    return on_images(nn.Sequential(*parts, *head(2048, 1000)), 224, 1000, 4)


def vgg_cifar() -> Case:
    parts: list[nn.Module] = []
    inputs = 3
    for filters, count in ((64, 2), (128, 2), (256, 3), (512, 3)):
        for _ in range(count):
            parts += [nn.Conv2d(inputs, filters, 3, 1, 1), nn.BatchNorm2d(filters), nn.ReLU()]
            inputs = filters
        parts.append(nn.MaxPool2d(2, 2))
    tail = [nn.Flatten(), nn.Dropout(0.5), nn.Linear(2048, 512), nn.ReLU(), nn.Linear(512, 10)]
    return on_images(nn.Sequential(*parts, *tail), 32, 10, 32, adam=True)


class Encoder(nn.Module):
    """One layer of the transformer."""

    def __init__(self, size: int = 256, heads: int = 8) -> None:
        super().__init__()
        self.heads, self.each = heads, size // heads
        self.query, self.key, self.value, self.joined = (nn.Linear(size, size, bias=False) for _ in range(4))
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:2], self.heads, self.each).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        weights = F.dropout(torch.softmax(query @ key.transpose(2, 3) * self.each**-0.5, -1), 0.1)
        x = self.first(x + self.joined((weights @ value).transpose(1, 2).reshape(x.shape)))
        return self.second(x + self.narrow(F.relu(self.wide(x))))


def transformer() -> Case:
    model = nn.Sequential(nn.Embedding(8000, 256), *(Encoder() for _ in range(4)), nn.Linear(256, 8000))
    x, y = torch.randint(0, 8000, (16, 64)), torch.randint(0, 8000, (1024,))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    return [optimizer], lambda: F.cross_entropy(model(x).view(-1, 8000), y)


def lengths(shortest: int, longest: int) -> list[int]:
    return sorted(torch.randint(shortest, longest, (32,)).tolist(), reverse=True)


def gru_seq() -> Case:
    parts = nn.ModuleList([nn.Embedding(10000, 256), nn.GRU(256, 256, batch_first=True), nn.Linear(256, 10000)])
    words = [torch.randint(0, 10000, (count,)) for count in lengths(5, 20)]
    y = torch.randint(0, 10000, (sum(map(len, words)),))

    def loss() -> torch.Tensor:
        hidden, _ = parts[1](nn.utils.rnn.pack_sequence([parts[0](one) for one in words]))
        return F.cross_entropy(parts[2](hidden.data), y)

    return [torch.optim.Adagrad(parts.parameters(), 0.1)], loss


def lstm_text() -> Case:
    count, size = lengths(20, 120), 128
    embedding, wide, out = nn.Embedding(5000, size), nn.Linear(size, 4 * size), nn.Linear(5 * size, 2)
    first = nn.LSTM(size, size, batch_first=True)
    others = nn.ModuleList(nn.LSTM(5 * size, size, batch_first=True) for _ in range(2))
    ids, y = torch.randint(0, 5000, (32, max(count))), torch.randint(0, 2, (32,))
    inside = (torch.arange(max(count))[None] < torch.tensor(count)[:, None]).unsqueeze(2)

    def run(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, count, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(layer(packed)[0], batch_first=True)[0]

    def largest(x: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(~inside, -1e9).max(1).values

    def loss() -> torch.Tensor:
        embedded = embedding(ids)
        x, hidden = wide(embedded), run(first, embedded)
        for layer in others:
            hidden = run(layer, torch.cat([x, hidden], 2))
        return F.cross_entropy(out(torch.cat([largest(hidden), largest(x)], 1)), y)

    everything = nn.ModuleList([embedding, wide, out, first, others])
    return [torch.optim.Adagrad(everything.parameters(), 0.01)], loss


def ctr_deepfm() -> Case:
    each, linear = nn.Embedding(1000000, 10, sparse=True), nn.Embedding(1000000, 1, sparse=True)
    sizes = (273, 400, 400, 400)
    hidden = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    deep = nn.Sequential(*hidden, nn.Linear(400, 1))
    ids, dense = torch.randint(0, 1000000, (1000, 26)), torch.rand(1000, 13)
    y = torch.randint(0, 2, (1000, 1)).float()
    sparse = torch.optim.SparseAdam([*each.parameters(), *linear.parameters()], 1e-3)

    def loss() -> torch.Tensor:
        rows = each(ids)
        pairs = 0.5 * (rows.sum(1).square() - rows.square().sum(1)).sum(1, keepdim=True)
        score = linear(ids).sum(1) + pairs + deep(torch.cat([rows.view(1000, -1), dense], 1))
        return F.binary_cross_entropy_with_logits(score, y)

    return [sparse, torch.optim.Adam(deep.parameters(), 1e-3)], loss


def make() -> Callable[[], None]:
    """Return a step of the case that the command line names."""
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    name = sys.argv[1].replace("lstm_all_gates", "lstm_text")
    optimizers, loss = (image_torch.CASES.get(name) or globals()[name])()

    def step() -> None:
        for optimizer in optimizers:
            optimizer.zero_grad()
        value = loss()
        value.backward()
        for optimizer in optimizers:
            optimizer.step()
        value.item()

    return step


if __name__ == "__main__":
    serve(make)
