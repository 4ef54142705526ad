"""Membership: a script's declaration of this process's part in a job."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Membership", "parse_endpoints", "split_endpoint"]


@dataclass(frozen=True, slots=True)
class Membership:
    """One trainer, or one parameter server, of a job.

    Attributes:
        trainer: the id of this trainer; -1 for a server.
        trainers: how many trainers there are.
        endpoints: "host:port" of the processes that may host the meeting point; the first one does.
        endpoint: this process's own; it hosts the meeting point if it is the first.
        server: the number of this server; -1 for a trainer.
    """

    trainer: int
    trainers: int
    endpoints: tuple[str, ...]
    endpoint: str = ""
    server: int = -1

    def __post_init__(self) -> None:
        if self.server < 0 and not 0 <= self.trainer < self.trainers:
            raise ValueError(
                f"trainer_id {self.trainer} of {self.trainers} trainers: expected 0 to {self.trainers - 1}"
            )

    @property
    def holds_the_meeting(self) -> bool:
        return bool(self.endpoints) and self.endpoint == self.endpoints[0]


def parse_endpoints(text: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Return the endpoints of "host:port,host:port"; raise a ValueError that names an invalid part."""
    words = text.split(",") if isinstance(text, str) else [str(word) for word in text]
    endpoints = tuple(word.strip() for word in words if word.strip())
    for endpoint in endpoints:
        split_endpoint(endpoint)
    return endpoints


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Return host and port of "host:port"."""
    host, _, port = endpoint.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"endpoint {endpoint!r}: expected host:port, for example 127.0.0.1:6174")
    return host.strip("[]"), int(port)
