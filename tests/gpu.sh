#!/bin/sh
# gpu.sh -- make check-gpu: every test that takes a real device, on the first
#
# Exit 0 all passed, 1 one failed, 77 no device (make itself then ends with 2,
# as for any recipe that fails; `sh tests/gpu.sh` gives the 77).  Where the
# machine has no cmocka headers, the programs that were built elsewhere and
# carried in BUILD are run as they are.
cd "$(dirname "$0")/.." || exit 1
LC_ALL=C
export LC_ALL
: "${BUILD:=build}" "${CC:=cc}" "${MAKE:=make}"
: "${TOOLCHAIN_DIR:=$BUILD/toolchain}"
export BUILD CC MAKE TOOLCHAIN_DIR
logs=$BUILD/log/gpu.list
mkdir -p "$BUILD/log" || exit 1
: > "$logs"

mk()
{
    $MAKE -k --no-print-directory BUILD="$BUILD" CC="$CC" \
        TOOLCHAIN_DIR="$TOOLCHAIN_DIR" $as_is "$@"
}

as_is=
if ! sh tests/setup.sh probe; then
    if [ -x "$BUILD/fgs" ]; then
        echo "no cmocka headers: the programs in $BUILD are run as they are"
        for f in $(find "$BUILD" ! -type d ! -path "$BUILD/log/*" \
            ! -path "$BUILD/ok/*"); do
            as_is="$as_is -o $f"
        done
    else
        as_is=CMOCKA=none
        echo "no cmocka, so the scripts alone run; as root: apt-get install" \
            "libcmocka-dev"
    fi
fi
mk -s all || exit 1

"$BUILD/fgs" device --provider cuda
code=$?
if [ $code = 77 ]; then
    echo "SKIP: no CUDA device"
    exit 77
fi
[ $code = 0 ] || exit 1

mk -s test-gpu
mk -s logs-GPU >> "$logs"
sh tests/totals.sh < "$logs"
