#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The compiler of builds that are only for tests: quick-compiler.sh COMPILER ARGUMENT... Test programs are compiled with -O0, as
# their own speed matters little, and C++ with a precompiled header, as the same system headers took half the time of most files.
# ./run setup compiles without it, so a missing #include fails there.
set -euo pipefail

source=${!#}
kind=library optimize=()
case " $* " in
    *" -fPIC "*/rop3.c*) optimize=(-O0) ;;      # half a megabyte of macros: a third of the time, which nobody waits for in a test
    *" -fPIC "*) ;;
    */test-catch-up.cpp* | */test-motion.cpp*) kind= ;;     # they compute: 19 s under AddressSanitizer, 47 s with -O0
    */server/tests/*.c*) kind=tests optimize=(-O0) ;;
esac
if [[ -z ${CCACHE_DISABLE:-} ]] && command -v ccache >/dev/null; then
    exec ccache "$@" "${optimize[@]}"       # without the header, which takes longer to look at than to do without
fi
if [[ $source != *.cpp || -z $kind || ! -d meson-private ]]; then       # or meson tries the compiler
    exec "$@" "${optimize[@]}"
fi
header=meson-private/precompiled-$kind.h
(
    flock 9
    if [[ ! -f $header.gch ]]; then
        printf '#include <%s>\n' algorithm atomic functional list map memory string thread vector \
            netdb.h glib.h openssl/ssl.h pixman.h >"$header"
        compile=()
        skip=0
        for argument; do    # all but what names the source, the object and its dependencies
            case $argument in
                -c | -o | -MF | -MQ) skip=2 ;;
                -MD) skip=1 ;;
            esac
            ((skip-- > 0)) || compile+=("$argument")
        done
        "${compile[@]}" "${optimize[@]}" -x c++-header "$header" -o "$header.new"
        mv "$header.new" "$header.gch"
    fi
) 9>"$header.lock"
exec "$@" "${optimize[@]}" -include "$header"
