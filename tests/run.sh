#!/bin/sh
# run.sh -- run one test, keep its log, count its cases
#
# usage: run.sh LOG PROGRAM|SCRIPT STAMP
#
# A program is a cmocka binary: its cases are counted from its lines.  A
# script prints one line a case: "ok NAME", "not ok NAME: why" or
# "skip NAME: why"; one that prints none is a case itself (exit 0 passed, 77
# skipped, else failed).  The last line of LOG is "# N passed, N failed, N
# skipped"; STAMP is written when nothing failed and nothing was skipped.
# Scripts run from the top of the tree and find in the environment: B build
# folder, FGS the tool, TC folder of the pinned assembler (may be absent), CC,
# VERSION, MAKE, SAN.
log=$1 test=$2 stamp=$3
mkdir -p "${log%/*}" "${stamp%/*}"
rm -f "$stamp"
case $test in
*.sh) kind=script run="sh $test" ;;
*) kind=cmocka run=$test ;;
esac

# The longest, ptx/sass, takes three minutes of a processor of its own.
timeout "${TEST_TIMEOUT:-900}" $run > "$log" 2>&1 < /dev/null
code=$?

# A case that began and did not end is a crash; a failing exit without a
# failed case is a leak or a broken fixture.
awk -v code=$code -v kind=$kind '
/\[ RUN      \]/ { if (open != "") lost++; open = $NF; next }
/\[       OK \]/ { if (kind == "cmocka") { p++; open = "" } }
/\[  SKIPPED \]/ { if (open != "" && $NF == open) { s++; open = "" } }
/\[  FAILED  \]/ { if (open != "" && $NF == open) { f++; open = "" } }
kind == "script" && /^ok /      { p++ }
kind == "script" && /^not ok /  { f++ }
kind == "script" && /^skip /    { s++ }
END {
    if (open != "") lost++
    named = f
    f += lost
    if (p + f + s == 0) {
        if (code == 0 && kind == "script") p++
        else if (code == 77) s++
        else f++
    } else if (code != 0 && code != 77 && f == 0)
        f++
    if (f > named) printf "# exit status %d%s\n", code, \
        code == 124 ? " (time is up)" : ""
    printf "# %d passed, %d failed, %d skipped\n", p, f, s
}' "$log" > "$log.sum"
cat "$log.sum" >> "$log"
rm -f "$log.sum"

name=${log#*/log/}
printf '  %-7s %s: %s\n' TEST "${name%.log}" "$(tail -n 1 "$log" | cut -c3-)"
case $(tail -n 1 "$log") in
*" 0 failed, 0 skipped") : > "$stamp" ;;
*" 0 failed, "*) ;;
*) exit 1 ;;
esac
