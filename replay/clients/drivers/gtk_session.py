# SPDX-License-Identifier: LGPL-2.1-or-later
"""A session of spice-gtk that takes orders on a Unix socket, one JSON object per line. It needs nothing else of this
tree:

python3 gtk_session.py SOCKET URI [CA-FILE]
"""

import ctypes
import json
import os
import socket
import sys

import gi

gi.require_version("SpiceClientGLib", "2.0")
from gi.repository import Gio, GLib, GObject, SpiceClientGLib as Spice  # noqa: E402

# the bindings of 0.39 take no lists
library = ctypes.CDLL("libspice-client-glib-2.0.so.8")
size = ctypes.c_size_t


def pointer(thing):
    return ctypes.c_void_p(hash(thing))


UTF8, BY_DEMAND = 1, 1 << 5  # as the agent's protocol has them
on = GObject.Object.connect  # a session's and a channel's own connect() means the network


class Session:
    def __init__(self, uri, authority):
        self.session = Spice.Session.new()
        self.session.set_property("uri", uri)
        if authority:
            self.session.set_property("ca-file", authority)
        for name, value in (("username", os.environ.get("SPICE_GTK_USER")), ("password", os.environ.get("SPICE_GTK_PASSWORD"))):
            if value:
                self.session.set_property(name, value)
        if os.environ.get("SPICE_GTK_SHARED"):
            self.session.set_property("shared-dir", os.environ["SPICE_GTK_SHARED"])
        self.main, self.copied, self.grabbed, self.pasted = None, None, False, None
        self.primaries, self.inputs, self.ports, self.came, self.heard = {}, None, {}, {}, 0
        on(self.session, "channel-new", self.new_channel)
        on(self.session, "disconnected", lambda _: sys.exit("disconnected"))

    def new_channel(self, _session, channel):
        on(channel, "channel-event", self.event)
        if isinstance(channel, Spice.DisplayChannel):
            on(channel, "display-primary-create", self.create)
            on(channel, "display-primary-destroy", self.destroy)
        elif isinstance(channel, Spice.MainChannel):
            self.main = channel
            on(channel, "main-clipboard-selection-grab", self.grab)
            on(channel, "main-clipboard-selection-request", self.requested)
            on(channel, "main-clipboard-selection", self.given)
        elif isinstance(channel, Spice.InputsChannel):
            self.inputs = channel
        elif isinstance(channel, Spice.PlaybackChannel):
            on(channel, "playback-data", self.sound)
        elif isinstance(channel, Spice.PortChannel):
            on(channel, "notify::port-name", self.named)
            on(channel, "port-data", self.data)
        Spice.Channel.connect(channel)

    @staticmethod
    def event(channel, event):
        if event not in (Spice.ChannelEvent.OPENED, Spice.ChannelEvent.SWITCHING, Spice.ChannelEvent.CLOSED):
            sys.exit("%s: %s" % (type(channel).__name__, event.value_nick))

    def create(self, channel, _format, width, height, stride, _shm, data):
        self.primaries[channel.get_property("channel-id")] = (width, height, stride, data)

    def destroy(self, channel):
        self.primaries.pop(channel.get_property("channel-id"), None)

    def sound(self, _channel, _data, size):
        self.heard += size

    def named(self, channel, _what):
        self.ports[channel.get_property("port-name")] = channel
        self.came[channel] = bytearray()

    def data(self, channel, data, size):
        self.came.setdefault(channel, bytearray()).extend(ctypes.string_at(data, size))

    def do_picture(self, answer, file, display, **_):
        if display not in self.primaries:
            return answer(answer=False)
        width, height, stride, data = self.primaries[display]
        with open(file, "wb") as out:
            out.write(ctypes.string_at(data, stride * height))
        return answer(answer=True, width=width, height=height, stride=stride)

    def do_type(self, answer, codes, between, **_):
        steps = [(press, code) for code in codes for press in (True, False)]

        def step():
            if not steps:
                answer(answer=True)
                return False
            press, code = steps.pop(0)
            (self.inputs.key_press if press else self.inputs.key_release)(code)
            return True

        GLib.timeout_add(int(between * 1000), step)

    def grab(self, *_):
        self.grabbed = True
        return True

    def requested(self, channel, selection, kind):
        library.spice_main_channel_clipboard_selection_notify(pointer(channel), selection, kind, self.copied, size(len(self.copied)))
        return True

    def given(self, _channel, _selection, _kind, data, size):
        self.pasted = ctypes.string_at(data, size)

    def do_copy(self, answer, text, **_):
        self.copied = text.encode()

        def offer():
            # until it is known what the agent can, nothing is offered
            if not self.main.get_property("agent-caps-0") & BY_DEMAND:
                return True
            library.spice_main_channel_clipboard_selection_grab(pointer(self.main), 0, ctypes.byref(ctypes.c_uint32(UTF8)), 1)
            answer(answer=True)
            return False

        GLib.timeout_add(100, offer)

    def do_send(self, answer, file, **_):
        def send():
            if not self.main.get_property("agent-connected"):
                return True
            source = Gio.File.new_for_path(file)
            library.spice_main_channel_file_copy_async(pointer(self.main), (ctypes.c_void_p * 2)(hash(source), None), 0, *[None] * 5)
            answer(answer=True)
            return False

        GLib.timeout_add(100, send)

    def do_paste(self, answer, **_):
        waited, asked = [0], [False]
        self.pasted = None

        def look():
            waited[0] += 1
            if self.grabbed and not asked[0]:
                asked[0] = True
                self.main.clipboard_selection_request(0, UTF8)
            if self.pasted is None and waited[0] < 300:
                return True
            if self.pasted is None:
                answer(answer="", error="the guest %s" % ("gives nothing" if asked[0] else "offers nothing"))
            else:
                answer(answer=self.pasted.decode())
            return False

        GLib.timeout_add(100, look)

    def do_plug(self, answer, **_):
        manager = Spice.UsbDeviceManager.get(self.session)
        manager.create_shared_cd_device(os.environ["SPICE_GTK_DISC"])

        def plugged(_source, result):
            manager.connect_device_finish(result)
            answer(answer=True)

        def plug():
            devices = manager.get_devices()
            if not devices:
                return True
            if not manager.is_device_connected(devices[0]):
                manager.connect_device_async(devices[0], None, plugged)
            else:
                answer(answer=True)
            return False

        GLib.timeout_add(200, plug)

    def do_heard(self, answer, **_):
        answer(answer=self.heard)

    def do_port(self, answer, name, data, **_):
        sent, waited, start = bytes.fromhex(data), [0], [None]

        def written(source, result):
            source.write_finish(result)

        def look():
            waited[0] += 1
            channel, came = self.ports.get(name), b""
            if channel and start[0] is None:
                start[0] = len(self.came[channel])
                channel.write_async(sent, None, written)
            if channel:
                came = bytes(self.came[channel][start[0]:])
            if len(came) < len(sent) and waited[0] < 300:
                return True
            answer(answer=came.hex(), error="" if channel else "no port %s" % name)
            return False

        GLib.timeout_add(100, look)


def main():
    path, uri = sys.argv[1:3]
    session = Session(uri, sys.argv[3] if len(sys.argv) > 3 else None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)
    connection, waiting = [None], [b""]

    def answer(**what):
        connection[0].sendall(json.dumps(what).encode() + b"\n")

    def readable(*_):
        more = connection[0].recv(1 << 20)
        if not more:
            sys.exit(0)
        waiting[0] += more
        while b"\n" in waiting[0]:
            line, _, waiting[0] = waiting[0].partition(b"\n")
            question = json.loads(line)
            getattr(session, "do_" + question.pop("do"))(answer, **question)
        return True

    def accept(*_):
        connection[0] = listener.accept()[0]
        GLib.io_add_watch(connection[0].fileno(), GLib.IO_IN, readable)
        return False

    GLib.io_add_watch(listener.fileno(), GLib.IO_IN, accept)
    Spice.Session.connect(session.session)
    GLib.MainLoop().run()


main()
