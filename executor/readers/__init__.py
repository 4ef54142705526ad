"""Run-time readers: what reader variables of a program hold, one file each."""

__all__: list[str] = []
