#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Started by xinit: brings the desktop up, waits for it, does the session, ends.
cd /opt/record || exit 1

log() {
    printf 'RECORD %s %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*" >/dev/ttyS0
}

settings() {
    local folder=~/.config/xfce4/xfconf/xfce-perchannel-xml monitor
    mkdir -p "$folder"
    {
        echo '<?xml version="1.0" encoding="UTF-8"?>'
        echo '<channel name="xfce4-desktop" version="1.0"><property name="backdrop" type="empty"><property name="screen0" type="empty">'
        for monitor in Virtual-1 Virtual1 0 default qxl-0 QXL-1 Virtual-0; do
            echo "<property name=\"monitor$monitor\" type=\"empty\"><property name=\"workspace0\" type=\"empty\">"
            echo '<property name="image-style" type="int" value="5"/>'
            echo '<property name="last-image" type="string" value="/opt/record/wallpaper.jpg"/></property></property>'
        done
        echo '</property></property></channel>'
    } >"$folder/xfce4-desktop.xml"
    cat >"$folder/xfwm4.xml" <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfwm4" version="1.0"><property name="general" type="empty">
<property name="use_compositing" type="bool" value="false"/><property name="workspace_count" type="int" value="2"/>
<property name="placement_ratio" type="int" value="100"/><property name="box_move" type="bool" value="false"/>
</property></channel>
X
    cat >"$folder/ristretto.xml" <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<channel name="ristretto" version="1.0"><property name="errors" type="empty">
<property name="missing-thumbnailer" type="bool" value="false"/>
</property></channel>
X
    cp /etc/xdg/xfce4/panel/default.xml "$folder/xfce4-panel.xml"
}

desktop_is_up() {
    local windows
    windows=$(wmctrl -l 2>/dev/null)
    [[ $windows == *panel* && $windows == *Desktop* ]]
}

xset s off
settings
dbus-launch --exit-with-session xfce4-session >/run/record/xfce.log 2>&1 &
desktop=$!
for ((i = 0; i < 120; i++)); do
    desktop_is_up && break
    sleep 1
done
log "desktop up"
sleep 4
# shellcheck source=actions.sh source-path=SCRIPTDIR
. /opt/record/actions.sh
"do_$SESSION"
log "session done"
sleep 2
kill "$desktop"
sleep 1
