"""`contrib.slim.searcher` and `contrib.slim.nas`: search for the best list of tokens, alone or as a server."""

from __future__ import annotations

import fcntl
import logging
import math
import socket
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, NoReturn

import numpy as np

from fluidio.log_helper import get_logger

__all__ = [
    "ControllerServer",
    "EvolutionaryController",
    "SAController",
    "SearchAgent",
    "SearchSpace",
    "lock",
    "unlock",
]

_LOGGER = get_logger(__name__, logging.INFO, fmt="%(asctime)s-%(levelname)s: %(message)s")

Tokens = list[int]


class EvolutionaryController:
    """Base class of controllers."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def update(self, tokens: Tokens, reward: float) -> None:
        raise NotImplementedError("Abstract method.")

    def reset(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("Abstract method.")

    def next_tokens(self) -> Tokens:
        raise NotImplementedError("Abstract method.")


class SAController(EvolutionaryController):
    """Simulated annealing over lists of tokens.

    Args:
        range_table: how many values each token has.
        reduce_rate: what the temperature is multiplied by in each step.
        max_iter_number: how often to try for tokens that satisfy the constraint.
    """

    def __init__(
        self,
        range_table: Sequence[int] | None = None,
        reduce_rate: float = 0.85,
        init_temperature: float = 1024,
        max_iter_number: int = 300,
    ) -> None:
        super().__init__()
        self._range_table = range_table
        self._reduce_rate = reduce_rate
        self._init_temperature = init_temperature
        self._max_iter_number = max_iter_number
        self._reward: float = -1
        self._tokens: Tokens | None = None
        self._max_reward: float = -1
        self._best_tokens: Tokens | None = None
        self._iter = 0
        self._constrain_func: Callable[[Tokens], bool] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_constrain_func"}

    def reset(
        self,
        range_table: Sequence[int],
        init_tokens: Tokens,
        constrain_func: Callable[[Tokens], bool] | None = None,
    ) -> None:
        """Begin with these tokens."""
        self._range_table = range_table
        self._constrain_func = constrain_func
        self._tokens = init_tokens
        self._iter = 0

    def update(self, tokens: Tokens, reward: float) -> None:
        """Tell the reward of some tokens: they are kept if it is higher, or by chance."""
        self._iter += 1
        temperature = self._init_temperature * self._reduce_rate**self._iter
        if reward > self._reward or np.random.random() <= math.exp((reward - self._reward) / temperature):
            self._reward, self._tokens = reward, tokens
        if reward > self._max_reward:
            self._max_reward, self._best_tokens = reward, tokens
            _LOGGER.info("max_reward: %s; best_tokens: %s", self._max_reward, self._best_tokens)

    def next_tokens(self, control_token: Tokens | None = None) -> Tokens:
        """Return a neighbour of the kept tokens (or of those given) that satisfies the constraint."""
        tokens = control_token or self._tokens
        if tokens is None or self._range_table is None:
            raise TypeError("SAController: call reset(range_table, init_tokens) first")
        found, index = self._changed(tokens)
        found[index] = int(
            (found[index] + np.random.randint(self._range_table[index] - 1) + 1) % self._range_table[index]
        )
        if self._constrain_func is None:
            return found
        for _ in range(self._max_iter_number):
            if self._constrain_func(found):
                break
            found, index = self._changed(tokens)
            found[index] = int(np.random.randint(self._range_table[index]))
        return found

    def _changed(self, tokens: Tokens) -> tuple[Tokens, int]:
        """Return a copy of tokens, and which of them to change."""
        assert self._range_table is not None
        return tokens[:], int(len(self._range_table) * np.random.random())


class SearchSpace:
    """Base class of what a search chooses from."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def init_tokens(self) -> Tokens:
        raise NotImplementedError("Abstract method.")

    def range_table(self) -> list[int]:
        raise NotImplementedError("Abstract method.")

    def create_net(self, tokens: Tokens) -> NoReturn:
        raise NotImplementedError("Abstract method.")

    def get_model_latency(self, program: object) -> NoReturn:
        raise NotImplementedError("Abstract method.")


class ControllerServer:
    """Serve a controller to agents in other processes.

    A message is "next_tokens", or key, tokens and reward separated by tabs; tokens are separated by commas.
    """

    def __init__(
        self,
        controller: Any = None,
        address: tuple[str, int] = ("", 0),
        max_client_num: int = 100,
        search_steps: int | None = None,
        key: str | None = None,
    ) -> None:
        self._controller = controller
        self._address = address
        self._max_client_num = max_client_num
        self._search_steps = search_steps
        self._closed = False
        self._port = address[1]
        self._ip = address[0]
        self._key = key
        self._thread: threading.Thread | None = None

    def start(self) -> threading.Thread:
        """Listen, and serve in a thread."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(self._address)
        listener.listen(self._max_client_num)
        listener.settimeout(0.1)
        self._ip, self._port = listener.getsockname()[:2]
        self._listener = listener
        self._thread = threading.Thread(target=self.run, daemon=True)
        self._thread.start()
        return self._thread

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def port(self) -> int:
        return self._port

    def ip(self) -> str:
        return self._ip

    def run(self) -> None:
        """Answer messages until `close`, or until the controller has made enough steps."""
        with self._listener:
            while not self._closed and (self._search_steps is None or self._controller._iter < self._search_steps):
                try:
                    connection, _ = self._listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(10)
                    try:
                        self._answer(connection, connection.recv(1024).decode())
                    except (OSError, ValueError) as error:
                        _LOGGER.info("message of a search agent not understood: %s", error)

    def _answer(self, connection: socket.socket, message: str) -> None:
        if message.strip("\n") != "next_tokens":
            key, tokens, reward = message.strip("\n").split("\t")
            if key != self._key:
                _LOGGER.info("message of a search agent with another key ignored")
                return
            self._controller.update(_tokens(tokens), float(reward))
        connection.sendall(_text(self._controller.next_tokens()).encode())


class SearchAgent:
    """Ask a ControllerServer for tokens and tell it rewards."""

    def __init__(self, server_ip: str | None = None, server_port: int | None = None, key: str | None = None) -> None:
        self.server_ip = server_ip
        self.server_port = server_port
        self._key = key

    def update(self, tokens: Tokens, reward: float) -> Tokens:
        """Tell the reward of tokens; return the next ones."""
        return self._ask(f"{self._key}\t{_text(tokens)}\t{reward}")

    def next_tokens(self) -> Tokens:
        """Return the next tokens."""
        return self._ask("next_tokens")

    def _ask(self, message: str) -> Tokens:
        with socket.create_connection((self.server_ip or "", self.server_port or 0), timeout=30) as connection:
            connection.sendall(message.encode())
            answer = connection.recv(1024).decode()
        if not answer:
            raise ValueError(f"the search server at {self.server_ip}:{self.server_port} gave no tokens: wrong key?")
        return _tokens(answer.strip("\n"))


def _text(tokens: Tokens) -> str:
    return ",".join(map(str, tokens))


def _tokens(text: str) -> Tokens:
    return [int(token) for token in text.split(",")]


def lock(file: IO[Any]) -> None:
    """Lock an open file against other processes."""
    fcntl.flock(file, fcntl.LOCK_EX)


def unlock(file: IO[Any]) -> None:
    """Unlock a file."""
    fcntl.flock(file, fcntl.LOCK_UN)
