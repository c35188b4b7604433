#!/bin/sh
# check_style.sh -- columns, first lines, names of PTX registers, file sizes
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

awk 'FNR == 501 { print FILENAME ": more than 500 lines" }' $c $ptx $sh
awk '/\t/ { print FILENAME ":" FNR ": tab"; nextfile }' $c $ptx > "$tmp/found"
none indentation_is_blanks "tabs"
end
