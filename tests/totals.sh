#!/bin/sh
# totals.sh -- add up the logs that are named on standard input
#
# Prints the failed and skipped cases, then "N passed, N failed, N skipped".
# A log that is not there is a test that was not built: one failure.
LC_ALL=C
export LC_ALL
tmp=${TMPDIR:-/tmp}/fgs-totals.$$
trap 'rm -f "$tmp"' EXIT

while read -r log; do
    [ -n "$log" ] || continue
    name=${log#*build/}
    if [ ! -f "$log" ]; then
        echo "failed: $name: not built or not run"
        echo "# 0 passed, 1 failed, 0 skipped" >> "$tmp"
        continue
    fi
    sed -n -e "s|^not ok |failed: $name: |p" -e "s|^skip |skipped: $name: |p" \
        -e "s|^# exit status|failed: $name: exit status|p" \
        -e "/[0-9] test(s)/d" \
        -e "s|^\[  FAILED  \] |failed: $name: |p" \
        -e "s|^\[  SKIPPED \] |skipped: $name: |p" "$log" | sort -u
    tail -n 1 "$log" >> "$tmp"
done
awk '/^# [0-9]+ passed/ { p += $2; f += $4; s += $6 }
END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' \
    "$tmp"
