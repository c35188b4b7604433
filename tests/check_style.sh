#!/bin/sh
# check_style.sh -- columns, first lines, names of PTX registers, file sizes, GPU tests
. tests/lib.sh
export LC_ALL=C

c=$(find src include tools tests -name '*.[ch]' -o -name '*.def' \
    -o -name '*.cuh' | sort)
ptx=$(find ptx tests -name '*.ptx' -o -name '*.ptx.in' 2> /dev/null | sort)
sh=$(find tools tests .ci -name '*.sh' -o -name run -type f | sort)

none()
{
    if [ -s "$tmp/found" ]; then
        not_ok "$1" "$2"
        head -n 10 "$tmp/found" | sed 's/^/    /'
    else
        ok "$1"
    fi
}

# A row of a table is one line, however long.
awk 'length > 80 { print FILENAME ":" FNR ": " length " columns" }' \
    $c $ptx | grep -v '\.def:' > "$tmp/found"
none lines_have_80_columns "longer lines"

for f in $c $ptx $sh Makefile; do
    n=$(basename "$f")
    head -n 2 "$f" | grep -q -- "^[^A-Za-z]*$n -- [^ ]" ||
        echo "$f: its first line is not \"$n -- purpose\""
done > "$tmp/found"
none files_begin_with_their_purpose "no first line"

# ptxas takes such a register without a word, and from then on the name means
# the register.
sreg=$(sed -n 's/^SREG([^"]*"\([a-z0-9_]*\)".*/%\1/p' src/ptx/sreg.def)
[ -n "$sreg" ] || not_ok special_registers "none was read from sreg.def"
for f in $ptx; do
    sed -n 's/^[ \t]*\.reg[ \t]*\(.*\);.*/\1/p' "$f" | tr ',<' '  ' |
        tr ' \t' '\n\n' | grep '^%' | sort -u | while read -r r; do
        for s in $sreg; do
            [ "$r" != "$s" ] || echo "$f: register $r"
        done
    done
done > "$tmp/found"
none registers_leave_special_names_alone "a special register's name is taken"

# A table is as long as it has rows; another file says in its head why.
for f in $(awk 'FNR == 501 { print FILENAME }' $c $ptx $sh | grep -v '\.def$'); do
    head -n 20 "$f" | grep -q '500 lines' || echo "$f: more than 500 lines"
done > "$tmp/found"
none long_files_say_why "more than 500 lines, and no word why"

# make check-gpu takes the tests that name FGS_PROVIDER.
rigs='(kernels|kernels_both|(compose_|device_|join_|ring_|shapes_|twin_)?rig)'
grep -lE "\"$rigs\\.h\"" tests/unit/*.c |
    xargs grep -LE 'FGS_PROVIDER|"sim"|fakelib\.h|fgs_sim\.h|sim_calls\.h' \
    > "$tmp/found"
none tests_of_any_device_run_on_a_gpu "no word of FGS_PROVIDER"

awk '/\t/ { print FILENAME ":" FNR ": tab"; nextfile }' $c $ptx > "$tmp/found"
none indentation_is_blanks "tabs"
end
