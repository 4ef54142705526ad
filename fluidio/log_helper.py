"""`fluid.log_helper`."""

from __future__ import annotations

import logging

__all__ = ["get_logger"]


def get_logger(name: str, level: int, fmt: str | None = None) -> logging.Logger:
    """Return a logger that writes to stderr in its own format.

    Fluid: every call added a handler, so lines were repeated; here a logger has one.
    """
    logger = logging.getLogger(name)
    logger.setLevel(level)
    logger.propagate = False
    handler = logger.handlers[0] if logger.handlers else logging.StreamHandler()
    if fmt:
        handler.setFormatter(logging.Formatter(fmt))
    if not logger.handlers:
        logger.addHandler(handler)
    return logger
