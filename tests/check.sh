#!/bin/sh
# check.sh -- make check: every test without a GPU, in each kind of build
#
# BUILD, CC, MAKE and TOOLCHAIN_DIR come from the Makefile.  Goes on after
# failures, lists them at the end, closes with "N passed, N failed, N skipped".
cd "$(dirname "$0")/.." || exit 1
LC_ALL=C
export LC_ALL
logs=$BUILD/log/check.list
mkdir -p "$BUILD/log" || exit 1
: > "$logs"

sh tests/setup.sh "$BUILD" "$TOOLCHAIN_DIR"

# As many jobs as processors, unless the caller's make already has a number.
jobs=
case " $MAKEFLAGS" in
*" -j"* | *jobserver*) ;;
*) jobs=-j$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1) ;;
esac
mk()
{
    $MAKE -k $jobs --no-print-directory TOOLCHAIN_DIR="$TOOLCHAIN_DIR" "$@"
}

# A case of this script itself: verdict NAME "ok"|"not ok"|"skip" [WHY]
verdict()
{
    log=$BUILD/log/$1.log
    mkdir -p "${log%/*}"
    case $2 in
    ok) echo "ok $1" && echo "# 1 passed, 0 failed, 0 skipped" ;;
    skip) echo "skip $1: $3" && echo "# 0 passed, 0 failed, 1 skipped" ;;
    *) echo "not ok $1: $3" && echo "# 0 passed, 1 failed, 0 skipped" ;;
    esac > "$log"
    echo "$log" >> "$logs"
}

# Does this compiler make programs that run with FLAG?
sanitizer_works()
{
    echo 'int main(void) { return 0; }' > "$BUILD/log/probe.c"
    $CC "$1" -o "$BUILD/log/probe" "$BUILD/log/probe.c" 2> /dev/null &&
        "$BUILD/log/probe" > /dev/null 2>&1
}

# pass NAME TITLE SET... -- VARIABLE...: build, run and note the logs
pass()
{
    name=$1 title=$2 targets= lists=
    shift 2
    while [ "$1" != -- ]; do
        targets="$targets test-$(echo "$1" | tr 'A-Z' 'a-z')"
        lists="$lists logs-$1"
        shift
    done
    shift
    echo "== $title"
    for l in $lists; do
        $MAKE -s --no-print-directory "$@" $l
    done > "$logs.$name"
    if mk -s "$@" build-tests; then
        verdict "build-$name" ok
    else
        # What passed before this tree was broken does not count.
        verdict "build-$name" "not ok" "the build failed"
        sed 'p; s|/log/|/ok/|; s|\.log$||' "$logs.$name" | xargs rm -f
    fi
    mk -s "$@" $targets
    cat "$logs.$name" >> "$logs"
}

# Without cmocka there are no C tests; each is counted as skipped.
cmocka=
if ! sh tests/setup.sh probe; then
    cmocka=CMOCKA=none
    for t in tests/unit/*.c; do
        verdict "unit/$(basename "$t" .c)" skip "no cmocka"
    done
fi

pass plain "plain, $CC" UNIT MORE -- $cmocka
if sanitizer_works -fsanitize=address,undefined; then
    pass asan "ASan and UBSan, $CC" UNIT -- SAN=1 $cmocka
else
    verdict build-asan skip "$CC makes no programs with ASan; libasan"
fi
if sanitizer_works -fsanitize=thread; then
    pass tsan "TSan, $CC" THREAD -- SAN=thread $cmocka
else
    verdict build-tsan skip "$CC makes no programs with TSan that run here"
fi

# The other compiler only has to accept everything: nobody runs that.
other=clang
case $($CC --version 2> /dev/null) in *clang*) other=gcc ;; esac
if command -v $other > /dev/null; then
    echo "== build with $other"
    if mk -s CC=$other BUILD="$BUILD/$other" CFLAGS="$CFLAGS -O1 -g0" \
        $cmocka build-tests; then
        verdict build-$other ok
    else
        verdict build-$other "not ok" "the build failed"
    fi
else
    verdict build-$other skip "$other is not installed; apt-get install $other"
fi

echo "== result"
sh tests/totals.sh < "$logs"
