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

awk '
    FNR <= 2 {
        name = FILENAME
        sub(/.*\//, "", name)
        at = index($0, name " -- ")
        if (at && substr($0, 1, at - 1) !~ /[A-Za-z]/ &&
            substr($0, at + length(name) + 4, 1) ~ /[^ ]/)
            said[FILENAME] = 1
    }
    FNR == 2 { nextfile }
    END {
        for (i = 1; i < ARGC; i++) {
            name = ARGV[i]
            sub(/.*\//, "", name)
            if (!(ARGV[i] in said))
                print ARGV[i] ": its first line is not \"" name " -- purpose\""
        }
    }' $c $ptx $sh Makefile > "$tmp/found"
none files_begin_with_their_purpose "no first line"

# ptxas takes such a register without a word, and from then on the name means
# the register.
sreg=$(sed -n 's/^SREG([^"]*"\([a-z0-9_]*\)".*/%\1/p' src/ptx/sreg.def)
[ -n "$sreg" ] || not_ok special_registers "none was read from sreg.def"
awk -v names="$(echo $sreg)" '
    BEGIN {
        n = split(names, word, " ")
        for (i = 1; i <= n; i++)
            special[word[i]] = 1
    }
    /^[ \t]*\.reg.*;/ {
        sub(/^[ \t]*\.reg[ \t]*/, "")
        sub(/;[^;]*$/, "")
        n = split($0, word, /[ \t,<]+/)
        for (i = 1; i <= n; i++)
            if (word[i] in special)
                print FILENAME ": register " word[i]
    }' $ptx | sort -u > "$tmp/found"
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
