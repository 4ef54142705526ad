"""The nets of `image_cases.py` in PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["CASES"]

Case = tuple[list[torch.optim.Optimizer], Callable[[], torch.Tensor]]


def _trained(model: nn.Module, loss: Callable[[], torch.Tensor], adam: bool = False) -> Case:
    weights = model.parameters()
    return [torch.optim.Adam(weights, 1e-3) if adam else torch.optim.SGD(weights, 0.1, 0.9)], loss


def _on_images(parts: list[nn.Module], inputs: int, size: int, classes: int, batch: int) -> Case:
    model = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))
    x, y = torch.rand(batch, 3, size, size), torch.randint(0, classes, (batch,))
    return _trained(model, lambda: F.cross_entropy(model(x), y))


def _conv_norm(
    inputs: int, filters: int, size: int, stride: int = 1, groups: int = 1, act: nn.Module | None = None
) -> nn.Sequential:
    conv = nn.Conv2d(inputs, filters, size, stride, (size - 1) // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(filters), act or nn.ReLU())


def mobilenet() -> Case:
    parts: list[nn.Module] = [_conv_norm(3, 32, 3, 2)]
    inputs = 32
    for filters, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2)):
        parts += [_conv_norm(inputs, inputs, 3, stride, inputs), _conv_norm(inputs, filters, 1)]
        inputs = filters
    return _on_images(parts, inputs, 128, 1000, 8)


class _Added(nn.Module):
    """The sum of X and a branch."""

    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = x + self.branch(x)
        return out


def darknet() -> Case:
    def conv(inputs: int, filters: int, size: int, stride: int = 1) -> nn.Module:
        return _conv_norm(inputs, filters, size, stride, act=nn.LeakyReLU(0.1))

    parts: list[nn.Module] = [conv(3, 32, 3)]
    for filters, count in ((64, 1), (128, 2), (256, 4)):
        parts.append(conv(filters // 2, filters, 3, 2))
        for _ in range(count):
            parts.append(_Added(nn.Sequential(conv(filters, filters // 2, 1), conv(filters // 2, filters, 3))))
    return _on_images(parts, 256, 160, 80, 4)


class _UNet(nn.Module):
    """Three levels."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(self.twice(a, b) for a, b in ((3, 32), (32, 64), (64, 128), (128, 256)))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * filters, filters, 2, 2) for filters in (128, 64, 32))
        self.joined = nn.ModuleList(self.twice(2 * filters, filters) for filters in (128, 64, 32))
        self.last = nn.Conv2d(32, 8, 1)

    @staticmethod
    def twice(inputs: int, filters: int) -> nn.Sequential:
        return nn.Sequential(_conv_norm(inputs, filters, 3), _conv_norm(filters, filters, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels: list[torch.Tensor] = []
        for part in self.down:
            x = part(F.max_pool2d(levels[-1], 2) if levels else x)
            levels.append(x)
        levels.pop()
        for up, joined in zip(self.up, self.joined):
            x = joined(torch.cat([levels.pop(), up(x)], 1))
        out: torch.Tensor = self.last(x)
        return out


def unet() -> Case:
    model, x, y = _UNet(), torch.rand(4, 3, 96, 96), torch.randint(0, 8, (4, 96, 96))
    return _trained(model, lambda: F.cross_entropy(model(x), y), adam=True)


def text_image() -> Case:
    embedding, out = nn.Embedding(20000, 128), nn.Linear(300, 2)
    convs = nn.ModuleList(nn.Conv2d(1, 100, (words, 128)) for words in (3, 4, 5))
    ids, y = torch.randint(0, 20000, (64, 60)), torch.randint(0, 2, (64,))

    def loss() -> torch.Tensor:
        x = embedding(ids).unsqueeze(1)
        found = [F.relu(conv(x)).amax((2, 3)) for conv in convs]
        return F.cross_entropy(out(F.dropout(torch.cat(found, 1), 0.5)), y)

    return _trained(nn.ModuleList([embedding, out, convs]), loss, adam=True)


CASES = {"mobilenet": mobilenet, "darknet": darknet, "unet": unet, "text_image": text_image}
