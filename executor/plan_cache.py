"""PlanCache: the compiled plans of a program."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from fluidio.ops.kernel import Backend

if TYPE_CHECKING:
    from fluidio.executor.plan import Plan

__all__ = ["PlanCache", "PlanKey", "take"]

PlanKey = tuple[Backend, tuple[str, ...], tuple[str, ...], bool]
"""Backend, fed names, fetched names, and whether `read` ops run first."""
_PLANS = 64


class PlanCache:
    """Plans stored with a program. A plan is removed while it runs, so a second thread compiles its own; both stay."""

    def __init__(self) -> None:
        self._free: dict[PlanKey, list[Plan]] = {}

    def free(self, key: PlanKey) -> list[Plan]:
        """Return the list of plans that do not run; a plan goes back to it after its run."""
        found = self._free.get(key)
        return self._free.setdefault(key, []) if found is None else found

    def make_room(self, version: int) -> None:
        """Drop plans of older versions, or all plans if there are too many."""
        if len(self._free) >= _PLANS:
            self._free.clear()
        for free in list(self._free.values()):
            for plan in [plan for plan in free if plan.version != version]:
                with contextlib.suppress(ValueError):  # another thread took it
                    free.remove(plan)


def take(free: list[Plan], version: int) -> Plan | None:
    """Return a plan for the program as it is now, if one is free."""
    try:
        plan = free.pop() if free else None
    except IndexError:  # another thread took the last one
        return None
    return plan if plan is not None and plan.version == version else None
