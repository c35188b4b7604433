#!/bin/sh
# compare_ptxas.sh -- what ptxas says of the texts of refuse/, accept/ and run/
#
# Each text of the first two says in a line "// ptxas: refuses" or "// ptxas:
# accepts" what the pinned assembler answers; accepts (why) in refuse/ is where
# we differ.  It accepts all of run/.
. tests/ptx/common

# The text's own target, but nothing below the lowest that it makes code for.
arch_of() {
    a=$(sed -n 's/^\.target *\(sm_[0-9]*[af]*\).*/\1/p' "$1" | head -n 1)
    n=$(echo "$a" | tr -cd '0-9')
    if [ -z "$a" ] || [ "$n" -lt 75 ]; then
        a=sm_75
    fi
    echo "$a"
}

for f in tests/ptx/refuse/*.ptx tests/ptx/accept/*.ptx; do
    said=$(sed -n '2,3s|^// ptxas: \([a-z]*\).*|\1|p' "$f")
    if "$ptxas" -arch="$(arch_of "$f")" "$f" -o "$out/x.cubin" \
        > "$out/x.log" 2>&1; then
        does=accepts
    else
        does=refuses
    fi
    if [ "$said" = "$does" ]; then
        ok "${f#tests/ptx/}"
    else
        not_ok "${f#tests/ptx/}" "ptxas $does it: $(first_line "$out/x.log")"
    fi
done

for f in tests/ptx/run/*.ptx; do
    if "$ptxas" -arch="$(arch_of "$f")" "$f" -o "$out/x.cubin" \
        > "$out/x.log" 2>&1; then
        ok "${f#tests/ptx/}"
    else
        not_ok "${f#tests/ptx/}" "ptxas: $(first_line "$out/x.log")"
    fi
done
exit $failed
