"""Batches that can be saved in the middle of a pass and go on later."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

__all__ = ["Batches"]


class Batches(Iterator[Any]):
    """What `iter_batches` returns: an iterator with a state.

    The order is a function of the files, `seed` and `epoch`, so the number of batches so far is all there is to save.

    Args:
        make: takes how many batches to leave out and gives the others.
        facts: what the order depends on; a state of others is refused.
    """

    def __init__(self, make: Callable[[int], Iterator[Any]], facts: Mapping[str, Any]) -> None:
        self._make, self._facts = make, dict(facts)
        self._done = 0
        self._rest: Iterator[Any] | None = None

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            self._rest = self._make(self._done)
        batch = next(self._rest)
        self._done += 1
        return batch

    def close(self) -> None:
        """Stop the threads that read ahead; there are no more batches."""
        rest, self._rest = self._rest, iter(())
        if isinstance(rest, Generator):
            rest.close()

    def state_dict(self) -> dict[str, Any]:
        """Return plain values from which `load_state_dict` goes on behind the last batch that was taken."""
        return {"batches": self._done, **self._facts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another iterator over the same files was, with the same arguments.

        Raises:
            ValueError: its order was another one, so the state means other records.
        """
        for name, value in self._facts.items():
            if state.get(name) != value:
                raise ValueError(f"the state is of {name}={state.get(name)!r}, these batches have {name}={value!r}")
        self.close()
        self._done, self._rest = int(state["batches"]), None
