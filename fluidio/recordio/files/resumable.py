"""Batches whose position can be saved mid-pass and resumed later, even in a different number of parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Batches", "State"]

State = Mapping[str, Any]
Part = tuple[int, int] | None


class Batches(Iterator[Any]):
    """What `iter_batches` returns: an iterator with a state.

    The order is a function of the files, `seed` and `epoch`, so only the number of batches so far needs saving.

    Args:
        make: takes a part and the number of its batches to skip, and yields the rest.
        facts: what the order depends on; a state with other facts is refused.
        part: (i, n) for part i of n.
        count: returns how many batches a part has.
    """

    def __init__(
        self,
        make: Callable[[Part, int], Iterator[Any]],
        facts: Mapping[str, object],
        part: Part,
        count: Callable[[Part], int],
    ) -> None:
        self._make, self._facts, self._part, self._count = make, dict(facts), part, count
        self._done = 0
        self._ended = False
        self._shared: list[State] | None = None  # the rest of a pass in a different number of parts
        self._rest: Iterator[Any] | None = None

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if self._rest is None:
            self._rest = self._from(self.state_dict())
        try:
            batch = next(self._rest)
        except StopIteration:
            self._ended = True
            raise
        self._done += 1
        return batch

    @property
    def total(self) -> int:
        """Return the total number of batches, including those already taken; reads indexes, not records.

        Raises:
            TypeError: one of the files has no index, such as a stream.
        """
        return self._total(self.state_dict())

    def _total(self, state: State) -> int:
        number, count = state.get("part") or (0, 1)
        if "rest" not in state:
            return self._count(None if state.get("part") is None else (int(number), int(count)))
        left = [self._total(each) - int(each["batches"]) for each in state["rest"]]
        if not left:
            return 0
        if count <= len(left):
            return sum(left[number::count])
        takers = len(range(number % len(left), count, len(left)))
        return len(range(number // len(left), left[number % len(left)], takers))

    def close(self) -> None:
        """Stop the threads that read ahead; there are no more batches."""
        rest, self._rest = self._rest, iter(())
        if isinstance(rest, Generator):
            rest.close()

    def state_dict(self) -> dict[str, Any]:
        """Return plain values from which `load_state_dict` resumes after the last batch taken."""
        state = {"batches": self._done, **self._facts, "part": self._part and list(self._part)}
        if self._shared is not None:
            state["rest"] = list(self._shared)
        return state | ({"ended": True} if self._ended else {})

    def state_after(self, batches: int) -> dict[str, Any]:
        """Return the state after `batches` more, for loops that count the batches of a reader running ahead."""
        left = self.total - self._done
        taken = {"batches": self._done + min(batches, left)}
        return self.state_dict() | taken | ({"ended": True} if batches >= left else {})

    def load_state_dict(self, state: State | Sequence[State]) -> None:
        """Resume where another iterator over the same files, with the same arguments, was.

        Args:
            state: of an iterator over the same part; or a list with the states of all parts at one moment: their
                remaining batches are divided among the current parts, however many.

        Raises:
            ValueError: the state belongs to a different order, so it refers to other records; or a part is missing.
        """
        if not isinstance(state, Mapping):
            state = self._of_all(list(state))
        self._check(state)
        mine = self._part and list(self._part)
        if state.get("part") != mine:
            raise ValueError(
                f"the state was saved with part={state.get('part')!r}, but these batches have part={mine!r}"
            )
        self.close()
        self._done, self._rest = int(state["batches"]), None
        self._shared = list(state["rest"]) if "rest" in state else None
        self._ended = bool(state.get("ended"))

    def _check(self, state: State) -> None:
        for name, value in self._facts.items():
            if state.get(name) != value:
                raise ValueError(
                    f"the state was saved with {name}={state.get(name)!r}, but these batches have {name}={value!r}"
                )

    def _of_all(self, states: list[State]) -> State:
        """Return the state of this part that follows from the states of all parts at one moment."""
        for state in states:
            self._check(state)
        places = [tuple(state.get("part") or (0, 1)) for state in states]
        count = places[0][1] if places else 0
        if sorted(places) != [(number, count) for number in range(count)] or not places:
            said = ", ".join(f"{number} of {of}" for number, of in sorted(places))
            raise ValueError(f"expected the states of all parts, each once; got those of parts {said or 'none'}")
        states = [state for _, state in sorted(zip(places, states), key=lambda pair: pair[0])]
        part = self._part or (0, 1)
        if count == part[1]:
            return {**states[part[0]], "part": self._part and list(self._part)}
        rest = [dict(state) for state in states if not state.get("ended")]
        return {"batches": 0, **self._facts, "part": self._part and list(self._part), "rest": rest}

    def _from(self, state: State) -> Iterator[Any]:
        """Yield the batches after a state."""
        done, part = int(state["batches"]), state.get("part")
        if state.get("ended"):
            return iter(())
        place = None if part is None else (int(part[0]), int(part[1]))
        if "rest" not in state:
            return self._make(place, done)
        return itertools.islice(self._share(state["rest"], *(place or (0, 1))), done, None)

    def _share(self, rest: Sequence[State], number: int, count: int) -> Iterator[Any]:
        """Yield the share of part `number` of `count` in the rests: whole rests, or every n-th batch of one."""
        if not rest:
            return
        if count <= len(rest):
            for state in rest[number::count]:
                yield from self._from(state)
            return
        takers = len(range(number % len(rest), count, len(rest)))
        yield from itertools.islice(self._from(rest[number % len(rest)]), number // len(rest), None, takers)
