#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: enter.sh ROOT ARCHIVES FOLDER COMMAND...
#
# Runs a command in a folder of another root, in the mount, PID, UTS and IPC namespaces that unshare has made for this script.
# The root becomes a mount point and the only one there is: what is started in it may make mount namespaces of its own (unshare,
# ip netns), which a plain chroot refuses. ARCHIVES, if it is not empty, is where apt keeps packages.
set -eu
root=$1 archives=$2 folder=$3
shift 3

hostname new-machine
mount --make-rprivate /
mount --rbind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=755 tmpfs run
[ -z "$archives" ] || mount --bind "$archives" var/cache/apt/archives
mkdir -p .host
pivot_root . .host
cd /
umount -l /.host
rmdir /.host
cd "$folder"
# not exec: the first process adopts what loses its parent, and a shell takes leave of them
"$@"
