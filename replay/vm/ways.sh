#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Run in the machine by vm.figures: each way to send, each size, three times, over loopback and from one network card
# to the other.
# Prints what vm-bench-send ($1) prints, with the network before it.
set -eu

bench=$1
unshare --net sleep 3600 &
other=$!
sleep 0.2
ip link set eth1 netns "$other"
ip addr add 10.9.8.1/24 dev eth0
ip link set eth0 up
nsenter --target "$other" --net sh -c 'ip addr add 10.9.8.2/24 dev eth1; ip link set eth1 up'
nsenter --target "$other" --net "$bench" sink 9001 >/dev/null &
"$bench" sink 9001 >/dev/null &
sleep 0.5

for network in cards:10.9.8.2 loopback:127.0.0.1; do
    for size in 256 4096 65536 2097152; do
        count=64
        [ "$size" -lt 1000000 ] || count=8
        for way in sendmsg zerocopy timestamps io_uring io_uring-8 io_uring-zerocopy user-tls ktls; do
            for _ in 1 2 3; do
                printf '%s ' "${network%%:*}"
                "$bench" "$way" "${network#*:}" 9001 "$size" "$count"
            done
        done
    done
done
