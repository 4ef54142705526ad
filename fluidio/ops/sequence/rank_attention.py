"""rank_attention: combine each instance with the others of its page, with one matrix for each pair of ranks."""

from __future__ import annotations

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer(c: InferContext) -> None:
    x, param, most = c.shape("X"), c.shape("RankParam"), c.attrs["MaxRank"]
    c.check(param[0] == x[1] * most * most, f"RankParam must have {x[1] * most * most} rows, it has {param[0]}")
    c.set("Out", (x[0], param[1]), c.dtype("X"), c.input("X").lod_level)


def _pairs(k: Call, x: Array, table: Array) -> tuple[Array, Array]:
    """Return the rows that each instance reads, zeros where there are none, and the matrix of each pair."""
    most = k.attrs["MaxRank"]
    own, others, index = table[:, :1], table[:, 1 : 2 * most : 2], table[:, 2 : 2 * most + 1 : 2]
    there = (own > 0) & (others > 0)
    rows = x[k.xp.where(there, index, 0)] * there[..., None].astype(x.dtype)
    return rows, k.xp.where(there, (own - 1) * most + others - 1, 0)


@op("rank_attention", "X RankOffset RankParam", "Out", {"MaxRank": 3}, infer=_infer, grad=True)
def rank_attention(k: Call, x: Array, table: Array, param: Array) -> Array:
    """Out = the sum over the other instances of a page of their row of X times the matrix of the two ranks.

    Fluid: only on a GPU.
    """
    rows, pair = _pairs(k, x, table)
    matrices = param.reshape(-1, x.shape[1], param.shape[1])
    return k.xp.einsum("nkd,nkdo->no", rows, matrices[pair])


@gradient("rank_attention", "X RankOffset RankParam Out@GRAD", "RankParam@GRAD")
def rank_attention_grad(k: Call, x: Array, table: Array, param: Array, dout: Array) -> Array:
    rows, pair = _pairs(k, x, table)
    pull = k.xp.einsum("nkd,no->nkdo", rows, dout)
    found = k.xp.zeros((param.shape[0] // x.shape[1], x.shape[1], param.shape[1]), param.dtype)
    k.dev.scatter_add(found, pair.reshape(-1), pull.reshape(-1, *found.shape[1:]))
    return found.reshape(param.shape)
