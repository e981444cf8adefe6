#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs inside the guest's folder (chroot): pictures, wallpaper and video from photographs of Debian's mate-backgrounds package.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -q download mate-backgrounds
dpkg -x mate-backgrounds_*.deb unpacked
photos=unpacked/usr/share/backgrounds/mate/nature
target=/opt/record
mkdir -p "$target/pictures" "$target/web"

convert_photo() {   # in, size, quality, out
    ffmpeg -v error -y -i "$1" -vf "scale=$2" -q:v "$3" "$4"
}

for name in Aqua Blinds Dune Garden GreenMeadow LadyBird RainDrops Storm TwoWings Wood YellowFlower FreshFlower; do
    convert_photo "$photos/$name.jpg" 720:-2 4 "$target/pictures/$name.jpg"
    convert_photo "$photos/$name.jpg" 320:-2 4 "$target/web/$name.jpg"
done
convert_photo "$photos/Garden.jpg" 1024:768 3 "$target/wallpaper.jpg"
# 320x240, 20 frames/s, 14 s: slow pans over two photographs, then a growing Mandelbrot set; a codec that is cheap to decode
ffmpeg -v error -y -loop 1 -t 5 -i "$photos/Garden.jpg" -loop 1 -t 5 -i "$photos/RainDrops.jpg" \
    -f lavfi -t 4 -i mandelbrot=s=320x240:r=20 -filter_complex "
        [0]scale=1280:-2,zoompan=z='1+0.004*on':x='4*on':y='2*on':d=1:s=320x240:fps=20,trim=duration=5,setpts=PTS-STARTPTS,setsar=1[a];
        [1]scale=1280:-2,zoompan=z=2:x='5*on':y='3*on':d=1:s=320x240:fps=20,trim=duration=5,setpts=PTS-STARTPTS,setsar=1[b];
        [2]setsar=1[c];[a][b][c]concat=n=3:v=1:a=0,format=yuv420p" \
    -r 20 -c:v mjpeg -q:v 3 -pix_fmt yuvj420p "$target/video.avi"
cat /usr/share/common-licenses/{GPL-3,LGPL-3,GPL-2,Apache-2.0,MPL-2.0,GFDL-1.3} >"$target/licences.txt"
cp /usr/share/common-licenses/GPL-3 "$target/gpl3.txt"
