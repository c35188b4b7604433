#!/bin/sh
# make.sh -- the modules of one program: PTX by NVRTC, cubins by the assembler
#
# usage: make.sh FOLDER NAME.  TC is the pinned tool chain; where the system
# has an NVRTC of its own, what that makes goes to FOLDER/system, but for what
# says "//: newest".
dir=$1 name=$2
: "${SYSTEM:=/usr/local/cuda}"

# one TOOLKIT LIBRARY FOLDER
one()
{
    rm -f "$3/$name.ptx" "$3/$name"-?.ptx
    "$dir/nvrtc" "$2" "$1/include" "tests/modules/$name.cu" "$3/$name" ||
        return 1
    for f in "$3/$name.ptx" "$3/$name"-?.ptx; do
        [ -f "$f" ] || continue
        arch=$(sed -n 's/^\.target *\(sm_[0-9]*[af]*\).*/\1/p' "$f")
        # What is for debugging is assembled as it is.
        how=-O1
        grep -q '^\.target.*debug' "$f" && how=-g
        # Compute capability 9.0 runs what is for a lower one.
        case ${arch#sm_} in
        [0-8][0-9]) arch=sm_90 ;;
        esac
        "$TC/bin/ptxas" $how -arch="$arch" "$f" -o "${f%.ptx}.cubin" ||
            return 1
    done
}

one "$TC" "$TC/lib/libnvrtc.so.13" "$dir" || exit 1
[ ! -f "$SYSTEM/lib64/libnvrtc.so.13" ] ||
    grep -q '^//: newest' "tests/modules/$name.cu" ||
    one "$SYSTEM" "$SYSTEM/lib64/libnvrtc.so.13" "$dir/system"
