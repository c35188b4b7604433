#!/bin/sh
# toolchain.sh -- fetch the pinned PTX assembler, with one pip command
#
# usage: toolchain.sh [DIR]     default build/toolchain
#
# For tests only: a build needs none of it.  Does nothing when DIR has all of
# it.  The first release that knows sm_107a is 13.4.  Where pip is missing on
# Debian or Ubuntu, root gets it from the distribution.
#
# exit  0 it is there, 77 it cannot be had here (says why and what would get
#       it) or TOOLCHAIN=none, 2 usage
set -u

pins="
nvidia-cuda-nvcc==13.4.92
nvidia-cuda-nvrtc==13.4.92
nvidia-cuda-cuobjdump==13.4.92
nvidia-cuda-nvdisasm==13.4.92
nvidia-cuda-crt==13.4.92
nvidia-cuda-runtime==13.4.92
nvidia-nvvm==13.4.92
nvidia-nvjitlink==13.4.92
nvidia-cuda-cccl==13.3.5.0.6
"

say() {
    echo "toolchain: $*"
}

cannot() {
    say "$1"
    say "what would get it: $2"
    exit 77
}

[ $# -le 1 ] || { sed -n 4p "$0" | cut -c3- >&2; exit 2; }
dir=${1:-build/toolchain}
if [ "${TOOLCHAIN:-}" = none ]; then
    say "TOOLCHAIN=none, nothing is fetched"
    exit 77
fi

# pip keeps NAME-VERSION.dist-info, with _ for -, beside what it installed.
complete() {
    [ -x "$1/nvidia/cu13/bin/ptxas" ] || return 1
    for pin in $pins; do
        info=$(echo "$pin" | sed 's/-/_/g; s/==/-/').dist-info
        [ -d "$1/$info" ] || return 1
    done
}

if complete "$dir"; then
    say "$dir has it"
    exit 0
fi

# What is replaced below must be ours.
if [ -e "$dir" ] && [ ! -d "$dir/nvidia" ] && ! rmdir "$dir" 2>/dev/null; then
    cannot "$dir is in the way and is no tool chain" "another folder"
fi

python=
for p in ${PYTHON:-} python3 python; do
    command -v "$p" > /dev/null 2>&1 && python=$p && break
done
if [ -z "$python" ] || ! "$python" -m pip --version > /dev/null 2>&1; then
    get="apt-get install -y python3 python3-pip"
    command -v apt-get > /dev/null 2>&1 ||
        cannot "there is no python3 with pip" "python3, pip, then: $0 $dir"
    [ "$(id -u)" = 0 ] || cannot "there is no python3 with pip, and only \
root can install it" "sudo $get && sh $0 $dir"
    say "installs python3-pip from the distribution"
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get update && $get; } > "$log" 2>&1 < /dev/null; then
        tail -n 3 "$log"
        rm -f "$log"
        cannot "python3-pip could not be installed" \
            "apt-get update && $get && sh $0 $dir"
    fi
    rm -f "$log"
    python=python3
fi

# One command, because a second --target run does not merge the folders that
# the packages share.  --target leaves the system's Python alone, so a
# distribution that manages it (PEP 668) has no objection.  Into a new folder
# first: an interrupted run leaves nothing half done at DIR.
say "installs into $dir:" $pins
new=$dir.new
rm -rf "$new"
mkdir -p "$(dirname "$dir")" || exit 77
log=$dir.log
if ! "$python" -m pip install --target "$new" --no-deps \
    --only-binary :all: --disable-pip-version-check --no-input \
    --no-warn-script-location -q $pins > "$log" 2>&1 < /dev/null; then
    tail -n 3 "$log"
    rm -rf "$new" "$log"
    cannot "pip could not install it (network?)" \
        "$python -m pip install --target $dir --no-deps $(echo $pins)"
fi
rm -f "$log"
complete "$new" || cannot "what pip installed is not complete: $new" \
    "rm -rf $new; sh $0 $dir"
# A folder of other versions makes room for this one.
rm -rf "$dir" && mv "$new" "$dir" || exit 1
say "$dir has $("$dir/nvidia/cu13/bin/ptxas" --version | sed -n 4p)"
