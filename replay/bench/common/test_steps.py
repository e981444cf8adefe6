# SPDX-License-Identifier: LGPL-2.1-or-later
import signal
import threading
import time
from pathlib import Path

import pytest

from bench.common.steps import Steps


def test_what_does_not_hear_is_ended_when_the_user_interrupts(tmp_path: Path) -> None:
    steps = Steps(tmp_path / "log")
    said = tmp_path / "said"

    def interrupt() -> None:
        while not said.exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)   # type: ignore[arg-type]

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        steps.run("deaf", ["sh", "-c", f"trap '' TERM; touch {said}; while :; do sleep 0.1; done"])
