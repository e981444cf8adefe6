# SPDX-License-Identifier: LGPL-2.1-or-later
"""TigerVNC's viewer with default settings."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from pathlib import Path

from bench.common import proc
from bench.lab.lab import Lab
from guest.errors import Failed
from live import xviewer
from live.viewers import Viewer

_MARGIN = 200       # pixels that the viewer reserves for title and borders


def tiger(lab: Lab, folder: Path, width: int, height: int) -> AbstractContextManager[Viewer]:
    def begin(start: xviewer.Start) -> proc.Process:
        viewer = start("viewer", [proc.require("xtigervncviewer", "tigervnc-viewer"), "-SecurityTypes", "TLSNone", "-RemoteResize=0", "-MenuKey=",
                                  "-geometry", f"{width}x{height}+0+0", "-Log", "*:stderr:30", f"{lab.server_address}::{lab.ports[0]}"])
        if not viewer.wait_complaint("Connected to host", time.monotonic() + 20):
            raise Failed(f"the viewer does not connect: {viewer.last_complaint()}")
        time.sleep(2 + 4 * lab.link.full_round_trip)
        return viewer

    return xviewer.shown(lab, folder, (width, height), _MARGIN, begin)
