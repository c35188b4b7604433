#!/bin/sh
# seeds.sh -- the fewest seeds that reach what all reach: PROGRAM OUT [FILE or DIR]...
set -e
program=$1 out=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/all"
n=0
[ $# -gt 0 ] || set -- "$tmp/all"
for f in $(find "$@" -type f 2> /dev/null | sort); do
    n=$((n + 1))
    cp "$f" "$tmp/all/$n"
done
[ $n -gt 0 ] || echo 0 > "$tmp/all/0"
export AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_ALLOW_TMP=1
afl-cmin -m none -t 10000 -i "$tmp/all" -o "$tmp/few" -- "$program" \
    > "$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
rm -rf "$out"
mv "$tmp/few" "$out"
echo "  SEEDS   $out: $(ls "$out" | wc -l) of $n"
