"""The logarithm of float32 numbers as C libraries compute it, to the last bit: normal numbers depend on it.

A number is 2^k z with z in [0.7, 1.4); z is near one of 16 points c, and log z = log c + log(z / c), where the last
term is a polynomial in z / c - 1, all in float64. The constants are those of ARM's optimized routines, which glibc
(2.27 and later) and musl use.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["log32"]

_POINTS = """
1.661ec79f8f3bep+0 -1.57bf7808caadep-2   1.571ed4aaf883dp+0 -1.2bef0a7c06ddbp-2   1.49539f0f010bp+0  -1.01eae7f513a67p-2
1.3c995b0b80385p+0 -1.b31d8a68224e9p-3   1.30d190c8864a5p+0 -1.6574f0ac07758p-3   1.25e227b0b8eap+0  -1.1aa2bc79c81p-3
1.1bb4a4a1a343fp+0 -1.a4e76ce8c0e5ep-4   1.12358f08ae5bap+0 -1.1973c5a611cccp-4   1.0953f419900a7p+0 -1.252f438e10c1ep-5
1p+0                0p+0                 1.e608cfd9a47acp-1  1.aa5aa5df25984p-5   1.ca4b31f026aap-1   1.c5e53aa362eb4p-4
1.b2036576afce6p-1  1.526e57720db08p-3   1.9c2d163a1aa2dp-1  1.bc2860d22477p-3    1.886e6037841edp-1  1.1058bc8a07ee1p-2
1.767dcf5534862p-1  1.4043057b6ee09p-2
"""
_TABLE = np.array([float.fromhex(word) for word in _POINTS.split()]).reshape(16, 2)  # 1 / c, log c
_LN2 = float.fromhex("1.62e42fefa39efp-1")
_CUBE, _SQUARE, _LINE = map(float.fromhex, ("-1.00ea348b88334p-2", "1.5575b0be00b6ap-2", "-1.ffffef20a4123p-2"))
_LOWEST = np.int32(0x3F330000)  # the bits of 0.7


def log32(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the logarithms of positive normal numbers."""
    bits = values.view(np.int32)
    above = bits - _LOWEST
    point, exponent = (above >> 19) % 16, above >> 23
    z = (bits - (exponent << 23)).view(np.float32).astype(np.float64)
    r = z * _TABLE[point, 0] - 1
    r2 = r * r
    found = (_CUBE * r2 + (_SQUARE * r + _LINE)) * r2 + (_TABLE[point, 1] + exponent * _LN2 + r)
    return found.astype(np.float32)
