"""How many files may be open at once."""

from __future__ import annotations

__all__ = ["room_for_files"]

_OTHERS = 64  # files open for other reasons


def room_for_files(wanted: int) -> int:
    """Raise the soft limit of open files as far as the system allows; return how many of `wanted` can be open."""
    try:
        import resource
    except ImportError:  # not on Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted + _OTHERS:
        return wanted
    most = wanted + _OTHERS if hard == resource.RLIM_INFINITY else min(wanted + _OTHERS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(1, most - _OTHERS)
