# SPDX-License-Identifier: LGPL-2.1-or-later
"""./run record: says how to record a guest of your own."""
from __future__ import annotations

import argparse

HOW = """\
To record a guest of your own, start its QEMU with

    SPICE_WORKER_RECORD_FILENAME=/somewhere/with/room/session.rec

in its environment, a QXL device and SPICE (-device qxl-vga -spice ...). With libvirt, in `virsh edit NAME`:

    <domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
      ...
      <qemu:commandline>
        <qemu:env name='SPICE_WORKER_RECORD_FILENAME' value='/var/lib/libvirt/qemu/session.rec'/>
      </qemu:commandline>

It records from start to power-off; a minute of desktop work is some 100 MB. SPICE_WORKER_RECORD_FILTER='xz -3' compresses while
recording. The file holds everything that was on the screen, passwords included. Then

    ./run record info session.rec                                              # is it whole, and what is in it
    ./run record trim session.rec -o whole.rec                                 # if it was cut off: what is whole of it
    ./run compare session.rec --links 20M/40ms --modes stock,flow --repeat 1   # compare modes; pages in results/own
    ./run compare session.rec --pace recorded --modes stock,flow               # latency and staleness

To ship it with this tree (checks and packs it, adds it to the manifest; all it shows must be free to ship):

    ./run record add NAME.rec --what TEXT --driver TEXT --licence TEXT"""


def configure(parser: argparse.ArgumentParser) -> None:
    pass


def execute(_args: argparse.Namespace) -> int:
    print(HOW)
    return 0
