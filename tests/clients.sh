#!/bin/sh
# clients.sh -- make check-clients: cuda-python on the drop-in library
#
# BUILD comes from the Makefile.  One pip command puts the pinned package into
# $BUILD/clients; exit 77 where it cannot be had.
cd "$(dirname "$0")/.." || exit 1
pin='cuda-bindings==13.0.3'
dir=$BUILD/clients
if [ ! -f "$dir/pin" ] || [ "$(cat "$dir/pin")" != "$pin" ]; then
    rm -rf "$dir"
    mkdir -p "$dir"
    if ! python3 -m pip install -q --disable-pip-version-check \
        --target "$dir" "$pin" > "$dir.log" 2>&1; then
        rm -rf "$dir"
        echo "skip check-clients: $pin cannot be installed; see $dir.log"
        exit 77
    fi
    echo "$pin" > "$dir/pin"
fi
LD_LIBRARY_PATH=$(pwd)/$BUILD/drop-in PYTHONPATH=$dir \
    timeout 120 python3 tests/clients/bindings.py
