"""PlanCache: the compiled plans of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fluidio.ops.kernel import Backend

if TYPE_CHECKING:
    from fluidio.executor.plan import Plan

__all__ = ["PlanCache", "PlanKey"]

PlanKey = tuple[Backend, tuple[str, ...], tuple[str, ...], bool]
"""Backend, fed names, fetched names, and whether `read` ops run first."""
_PLANS = 64


class PlanCache:
    """Plans stored with a program. A plan is removed while it runs, so a second thread compiles its own."""

    def __init__(self) -> None:
        self._plans: dict[PlanKey, Plan] = {}

    def take(self, key: PlanKey, version: int) -> Plan | None:
        """Return a plan for the program as it is now, if one is free."""
        plan = self._plans.pop(key, None)
        return plan if plan is not None and plan.version == version else None

    def put(self, key: PlanKey, plan: Plan) -> None:
        """Return a plan to the cache."""
        self._plans[key] = plan

    def make_room(self, version: int) -> None:
        """Drop plans of older versions, or all plans if there are too many."""
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        for key in [key for key, plan in list(self._plans.items()) if plan.version != version]:
            self._plans.pop(key, None)
