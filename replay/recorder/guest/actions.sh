# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a person does at the desktop, by xdotool. WINDOW is the window dealt with last.
WINDOW=

focus() {       # what is typed into a window that has not got the keyboard yet goes to another
    local i
    for ((i = 0; i < 20; i++)); do
        xdotool windowactivate "$WINDOW" 2>/dev/null
        sleep 0.7
        [[ $(xdotool getactivewindow 2>/dev/null) == "$WINDOW" ]] && return
    done
    log "window $WINDOW has no keyboard"
}

wait_for() {    # title, a regular expression
    local i
    for ((i = 0; i < 60; i++)); do
        WINDOW=$(xdotool search --onlyvisible --name "$1" 2>/dev/null | tail -1)
        [[ -n $WINDOW ]] && break
        sleep 0.5
    done
    log "window $1: ${WINDOW:-none}"
    focus
}

place() {       # x y width height
    xdotool windowsize "$WINDOW" "$3" "$4"
    sleep 0.3
    xdotool windowmove "$WINDOW" "$1" "$2"
    sleep 0.5
}

glide() {       # x0 y0 x1 y1 steps
    local k
    for ((k = 0; k <= $5; k++)); do
        xdotool mousemove $(($1 + ($3 - $1) * k / $5)) $(($2 + ($4 - $2) * k / $5))
        sleep 0.03
    done
}

drag() {        # x0 y0 x1 y1 steps
    xdotool mousemove "$1" "$2"
    sleep 0.2
    xdotool mousedown 1
    glide "$@"
    xdotool mouseup 1
    sleep 0.3
}

drag_by_title() {   # dx dy steps
    local X Y WIDTH HEIGHT
    eval "$(xdotool getwindowgeometry --shell "$WINDOW" | grep -E '^(X|Y|WIDTH|HEIGHT)=[0-9-]+$')"
    drag $((X + 200)) $((Y - 12)) $((X + 200 + $1)) $((Y - 12 + $2)) "$3"
}

drag_by_corner() {  # dx dy steps
    local X Y WIDTH HEIGHT
    eval "$(xdotool getwindowgeometry --shell "$WINDOW" | grep -E '^(X|Y|WIDTH|HEIGHT)=[0-9-]+$')"
    drag $((X + WIDTH - 1)) $((Y + HEIGHT - 1)) $((X + WIDTH - 1 + $1)) $((Y + HEIGHT - 1 + $2)) "$3"
}

write_text() {  # text [milliseconds a key]
    xdotool type --delay "${2:-60}" -- "$1"
}

key() {
    xdotool key --delay 40 "$@"
}

keys() {        # seconds between, keys
    local pause=$1 each
    shift
    for each in "$@"; do
        key "$each"
        sleep "$pause"
    done
}

wheel() {       # button times [seconds between]
    local k
    for ((k = 0; k < $2; k++)); do
        xdotool click "$1"
        sleep "${3:-0.12}"
    done
}

close_window() { # title
    WINDOW=$(xdotool search --onlyvisible --name "$1" | tail -1)
    focus
    key alt+F4
    sleep 0.6
}

do_boot() {
    glide 100 100 700 500 20
    sleep 2
}

do_idle() {
    xfce4-terminal --geometry 80x24 --title Terminal &
    wait_for Terminal
    sleep 60
}

do_desktop() {
    glide 500 400 30 15 10
    xdotool mousemove 30 12 click 1     # the menu
    sleep 1
    keys 0.2 Down Down Down Down
    keys 0.4 Right Down Escape Escape
    xfce4-terminal --geometry 80x24 --title Terminal &
    wait_for Terminal
    place 60 70 680 430
    write_text $'ls -l /usr/bin | head -30\n'
    sleep 0.5
    write_text $'grep -n --color=always license /opt/record/gpl3.txt | head -40\n'
    sleep 0.5
    write_text $'less /opt/record/licences.txt\n'
    sleep 1
    keys 0.3 space space space space space space
    key Down Down Down Down Down Down Down Down Down Down Down Down
    keys 0.3 q
    drag_by_title 180 132 12
    mousepad &
    wait_for Mousepad
    place 200 120 460 300
    write_text $'Dear all,\n\nSales went up by 12% in the north and down by 3% in the south, which nobody had expected.\n\nRegards, A. Clerk\n' 50
    keys 0.3 ctrl+a ctrl+c End ctrl+v ctrl+v
    keys 0.5 alt+f Right Right Escape Escape
    keys 0.3 shift+Up shift+Up shift+Up Delete
    drag_by_corner 81 51 6
    zathura /opt/record/book.pdf &
    wait_for book.pdf
    place 420 60 520 500
    keys 0.15 Down Down Down Down Down Down
    keys 0.5 Page_Down Page_Down plus
    keys 0.15 j j j
    thunar /usr/share &
    wait_for share
    place 100 260 560 340
    sleep 0.7
    wheel 5 5
    keys 0.7 ctrl+2
    wheel 5 4
    keys 0.7 ctrl+1
    keys 0.5 alt+Tab alt+Tab alt+Tab
    wmctrl -k on
    sleep 0.7
    wmctrl -k off
    sleep 0.7
    close_window share
    close_window book.pdf
}

do_web() {
    netsurf-gtk file:///opt/record/web/index.html &
    wait_for 'NetSurf|Daily'
    place 60 50 820 620
    sleep 3
    xdotool mousemove 460 400
    sleep 0.3
    wheel 5 16 0.2
    keys 0.7 Page_Down Page_Down Page_Down Page_Down
    wheel 4 8 0.2
    keys 0.1 Down Down Down Down Down Down Down Down Down Down
    ristretto /opt/record/pictures/Dune.jpg &
    wait_for Dune
    place 240 140 620 460
    sleep 1
    keys 1 Right Right Right
    drag_by_title -120 72 8
    keys 1 alt+F4 Home Page_Down
}

do_video() {
    local player
    xfce4-terminal --geometry 80x24 --title Terminal &
    wait_for Terminal
    place 20 340 560 380
    SDL_VIDEODRIVER=x11 SDL_RENDER_DRIVER=software SDL_FRAMEBUFFER_ACCELERATION=0 ffplay -loglevel error -an -autoexit \
        -window_title Video -left 640 -top 80 /opt/record/video.avi >/run/record/ffplay.log 2>&1 &
    player=$!
    wait_for Video
    xdotool windowmove "$WINDOW" 640 80
    wait_for Terminal
    write_text $'ls -l /opt/record\n' 150
    sleep 1
    write_text $'head -20 /opt/record/gpl3.txt\n' 150
    sleep 1
    glide 300 500 600 300 10
    write_text $'uptime\n' 150
    wait "$player"
    log "video ended"
    sleep 1
}
