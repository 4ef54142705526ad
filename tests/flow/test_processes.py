"""Worker processes end, whatever happens to them."""

from __future__ import annotations

import os
import time

import pytest

from fluidio.flow import processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork on this system")
def test_a_process_whose_exit_code_somebody_else_is_asking_for_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    process = processes.context().Process(target=time.sleep, args=(60,), daemon=True)
    process.start()

    def no_child(pid: int, options: int) -> None:
        raise ChildProcessError

    with monkeypatch.context() as patch:
        patch.setattr(os, "waitpid", no_child)
        processes.stop([process])
    process.join(10)
    assert process.exitcode is not None
    process.close()
