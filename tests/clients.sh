#!/bin/sh
# clients.sh -- make check-clients: users of the driver API in Python
#
# BUILD and TOOLCHAIN_DIR come from the Makefile.  One pip command for each
# puts its pinned packages into $BUILD/clients; exit 77 where none can be had.
cd "$(dirname "$0")/.." || exit 1
tc=$TOOLCHAIN_DIR/nvidia/cu13
status=77

# fetch NAME PACKAGES...: into $dir, unless they are there
fetch()
{
    dir=$BUILD/clients/$1
    shift
    [ -f "$dir/pin" ] && [ "$(cat "$dir/pin")" = "$*" ] && return
    rm -rf "$dir"
    mkdir -p "$dir"
    if ! python3 -m pip install -q --disable-pip-version-check \
        --target "$dir" "$@" > "$dir.log" 2>&1; then
        rm -rf "$dir"
        echo "skip check-clients: $1 cannot be installed; see $dir.log"
        return 1
    fi
    echo "$*" > "$dir/pin"
}

# client FILE SETTINGS...
client()
{
    file=tests/clients/$1
    shift
    [ $status = 1 ] || status=0
    # As a folder of packages: Numba's has a .pth file, too.
    env "$@" LD_LIBRARY_PATH="$(pwd)/$BUILD/drop-in:$tc/lib" timeout 300 \
        python3 -W ignore -c 'import runpy, site, sys
site.addsitedir(sys.argv[1])
runpy.run_path(sys.argv[2], run_name="__main__")' "$dir" "$file" || status=1
}

# The compilers of the pinned tool chain, where make check has fetched it.
nvrtc=
[ ! -f "$tc/lib/libnvrtc.so.13" ] || nvrtc=yes
fetch bindings 'cuda-bindings==13.0.3' && client bindings.py CLIENT_NVRTC=$nvrtc
if [ ! -f "$tc/lib/libnvvm.so.4" ] && [ ! -d "$tc/nvvm" ]; then
    echo "skip numba: no libnvvm; make toolchain fetches it"
else
    fetch numba 'numba-cuda==0.30.4' 'numba==0.68.1' 'cuda-core==1.2.2' \
        'cuda-bindings==13.5.0' 'llvmlite==0.50.0' 'numpy==2.4.6' &&
        client kernels.py CUDA_HOME="$tc" FGS_SIM_CC=90
fi
exit $status
