#!/bin/sh
# setup.sh -- get what the checks need and this machine lacks, and say so
#
# usage: setup.sh BUILD TOOLCHAIN_DIR; CC in the environment.  Never fails:
# what could not be had is named with the command that gets it, and the checks
# count what they skip.  `setup.sh probe` says by its exit status whether C
# tests can be built.

have_cmocka()
{
    printf '%s\n' '#include <stdarg.h>' '#include <stddef.h>' \
        '#include <stdint.h>' '#include <setjmp.h>' '#include <cmocka.h>' |
        $CC -x c -E - > /dev/null 2>&1
}

if [ "$1" = probe ]; then
    have_cmocka
    exit
fi

build=$1 chain=$2
log=$build/log/setup.log
mkdir -p "$build/log"

if ! have_cmocka; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        echo "installing libcmocka-dev with apt-get"
        DEBIAN_FRONTEND=noninteractive
        export DEBIAN_FRONTEND
        apt-get install -y -q libcmocka-dev > "$log" 2>&1 ||
            { apt-get update -q && apt-get install -y -q libcmocka-dev; } \
                >> "$log" 2>&1
    fi
    have_cmocka || echo "no cmocka, so no unit test can be built; as root:" \
        "apt-get install libcmocka-dev"
fi

if [ "$TOOLCHAIN" = none ]; then
    echo "no PTX assembler, as TOOLCHAIN=none asks"
elif [ ! -x "$chain/nvidia/cu13/bin/ptxas" ]; then
    echo "fetching the pinned PTX assembler into $chain"
    sh tools/toolchain.sh "$chain" > "$build/log/toolchain.log" 2>&1 &&
        [ -x "$chain/nvidia/cu13/bin/ptxas" ] ||
        echo "no PTX assembler ($build/log/toolchain.log says why);" \
            "make toolchain"
fi
exit 0
