"""Messages of the module `logging`, whose values are shown as Python 2 showed them."""

from __future__ import annotations

import logging

from fluidio.paddle.capsule.display import old_percent

__all__ = ["show_old_messages"]


class _Record(logging.LogRecord):
    def getMessage(self) -> str:
        return str(old_percent(self.msg, self.args) if self.args and isinstance(self.msg, str) else self.msg)


def show_old_messages() -> None:
    """Show the values in messages as Python 2 did from now on."""
    if logging.getLogRecordFactory() is logging.LogRecord:
        logging.setLogRecordFactory(_Record)
