#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A text console: what a verbose boot and an administrator's work look like.
dmesg | tail -120
sleep 1
for ((i = 1; i <= 40; i++)); do
    printf '\rProgress: %3d%% [%-40s]' $((i * 100 / 40)) "$(printf '%*s' "$i" '' | tr ' ' '#')"
    sleep 0.1
done
echo
for ((i = 1; i <= 60; i++)); do
    printf '[ \e[32m OK \e[0m ] Started service number %d.\n' "$i"
    sleep 0.05
done
find /usr/bin -maxdepth 1 -printf '%M %u %8s %f\n' | sort -k 4 | head -100
top -b -n 1 | head -40
sleep 1
for ((i = 0; i < 3; i++)); do
    clear
    top -b -n 1 | head -24
    sleep 1
done
clear
head -70 /opt/record/gpl3.txt | while IFS= read -r line; do
    echo "$line"
    sleep 0.02
done
echo
journalctl -b --no-pager | tail -60
sleep 1
