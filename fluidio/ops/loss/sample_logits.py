"""sample_logits: the true classes and a few sampled ones represent all classes. On the host."""

from __future__ import annotations

import numpy as np

from fluidio.ops.kernel import Call
from fluidio.ops.random.engine import os_seed
from fluidio.ops.random.samplers import LogUniformSampler
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []

_OUT_OF_THE_RUNNING = 1e20


def _infer(c: InferContext) -> None:
    true = c.shape("Labels")[1]
    shape = (c.shape("Logits")[0], true + c.attrs["num_samples"])
    c.set("Samples", shape, "int64")
    c.set("Probabilities", shape, c.dtype("Logits"))
    c.set("SampledLogits", shape, c.dtype("Logits"))
    c.set("SampledLabels", (shape[0], true), "int64")
    for name in ("Logits", "Labels"):
        c.set(f"{name}Dim", (*c.shape(name), 0))


def _drawn(labels: Array, classes: int, count: int, seed: int) -> tuple[Array, Array]:
    """Return labels and sampled classes side by side, and the probability that each is sampled."""
    sampler = LogUniformSampler(classes, seed)
    found: list[int] = []
    tries = 0
    while len(found) < count:
        tries += 1
        number = sampler.sample()
        if number not in found:
            found.append(number)
    samples = np.concatenate([labels, np.tile(np.array(found, np.int64), (labels.shape[0], 1))], axis=1)
    likely = sampler.probability(samples)
    if tries == count:
        return samples, likely * np.float32(count)
    return samples, -np.expm1(tries * np.log1p(-likely.astype(np.float64))).astype(np.float32)


@op(
    "sample_logits",
    "Logits Labels CustomizedSamples? CustomizedProbabilities?",
    "Samples Probabilities LogitsDim? LabelsDim? SampledLogits SampledLabels",
    {
        "num_samples": 1,
        "remove_accidental_hits": True,
        "seed": 0,
        "uniq": True,
        "use_customized_samples": False,
    },
    infer=_infer,
    grad=True,
    lod="none",
)
def sample_logits(
    k: Call, logits: Array, labels: Array, own_samples: Array, own_probabilities: Array
) -> tuple[Array, ...]:
    """SampledLogits = logits of true and sampled classes minus the log of their probability; SampledLabels = 0 ..."""
    x, truth, a = k.dev.download(logits), k.dev.download(labels).astype(np.int64), k.attrs
    if a["use_customized_samples"]:
        samples, likely = k.dev.download(own_samples), k.dev.download(own_probabilities)
    else:
        samples, likely = _drawn(truth, x.shape[1], a["num_samples"], a["seed"] or os_seed())
    true = truth.shape[1]
    out = np.take_along_axis(x, samples, axis=1)
    if a["remove_accidental_hits"]:
        hits = (samples[:, true:, None] == samples[:, None, :true]).any(axis=2)
        out[:, true:] -= hits * out.dtype.type(_OUT_OF_THE_RUNNING)
    with np.errstate(divide="ignore"):
        out -= np.clip(np.log(likely), -_OUT_OF_THE_RUNNING, _OUT_OF_THE_RUNNING).astype(out.dtype)
    places = np.tile(np.arange(true, dtype=np.int64), (x.shape[0], 1))
    found = (samples, likely.astype(x.dtype), out, places)
    sampled, chance, values, numbers = (k.dev.upload(v) for v in found)
    return sampled, chance, k.xp.empty((0,), x.dtype), k.xp.empty((0,), np.int64), values, numbers


@gradient("sample_logits", "Logits Samples SampledLogits@GRAD", "Logits@GRAD", carried="LogitsDim LabelsDim")
def sample_logits_grad(k: Call, logits: Array, samples: Array, dout: Array) -> Array:
    xp = k.xp
    flat = xp.zeros(logits.size, dout.dtype)
    places = xp.arange(logits.shape[0])[:, None] * logits.shape[1] + samples
    k.dev.scatter_add(flat, places.reshape(-1), dout.reshape(-1))
    return flat.reshape(logits.shape)
