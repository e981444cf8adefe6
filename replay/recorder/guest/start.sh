#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs as root when the guest has booted; the kernel's command line says what: record=SESSION driver=DRIVER. Tells the host
# how far it is over the serial line, and switches the machine off.
SESSION=boot DRIVER=kms
read -ra words </proc/cmdline
for word in "${words[@]}"; do
    case $word in
        record=*) SESSION=${word#record=} ;;
        driver=*) DRIVER=${word#driver=} ;;
    esac
done
export SESSION DRIVER HOME=/root LC_ALL=C.UTF-8 XDG_RUNTIME_DIR=/run/record
install -d -m 700 "$XDG_RUNTIME_DIR"

log() {
    printf 'RECORD %s %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*" >/dev/ttyS0
}

# Without kernel modesetting the qxl driver has no output at all unless NumHeads is given, and the X server crashes.
write_xorg_conf() {
    mkdir -p /etc/X11/xorg.conf.d
    cat >/etc/X11/xorg.conf.d/10-qxl.conf <<X
Section "Device"
  Identifier "qxl0"
  Driver "qxl"
  Option "EnableSurfaces" "True"
  Option "EnableImageCache" "True"
  Option "EnableFallbackCache" "True"
  Option "NumHeads" "1"
EndSection
Section "Screen"
  Identifier "screen0"
  Device "qxl0"
  DefaultDepth 24
  SubSection "Display"
    Depth 24
    Modes "1024x768"
  EndSubSection
EndSection
Section "ServerFlags"
  Option "BlankTime" "0"
  Option "DPMS" "false"
EndSection
X
}

log "booted, session $SESSION, driver $DRIVER"
if [[ $SESSION == text ]]; then
    /opt/record/text.sh >/dev/tty1 2>&1
else
    write_xorg_conf
    timeout 900 xinit /opt/record/session.sh -- /usr/bin/Xorg :0 vt1 -nolisten tcp >/run/record/xinit.log 2>&1
    log "X ended: $?"
    grep -F '(EE)' /var/log/Xorg.0.log | head -20 >/dev/ttyS0
fi
log off
sync
systemctl poweroff -ff
