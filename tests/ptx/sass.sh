#!/bin/sh
# sass.sh -- the emitted code of the kernel texts against tests/ptx/sass.tbl
. tests/ptx/common

devices="75 90 107 120"

# One expectation: line number, file of code, count, expression.
expect() {
    n=$(grep -Ec -- "$4" "$2")
    case $3 in
    +) [ "$n" -gt 0 ] && return ;;
    *) [ "$n" -eq "$3" ] && return ;;
    esac
    not_ok "$name" "sass.tbl:$1: \"$4\" stands $n times, not $3"
    return 1
}

for stem in $("$expand"); do
    for cc in $devices; do
        text $stem $cc || continue
        arch=sm_$cc
        [ $stem != report_consume ] || arch=sm_107a
        name="code of $stem for $arch"
        if ! assemble $stem.$cc $arch; then
            not_ok "$name" "$(first_line $out/$stem.$cc.log)"
            continue
        fi
        "$nvdisasm" -c $out/$stem.$cc.cubin |
            grep -E '^ +/\*[0-9a-f]+\*/' > $out/$stem.$cc.sass
        line=0 rows=0 good=1
        while read -r s c count regex; do
            line=$((line + 1))
            case $s in '#'* | '') continue ;; esac
            case $s in "$stem" | '*') ;; *) continue ;; esac
            case $c in "$cc" | '*') ;; *) continue ;; esac
            rows=$((rows + 1))
            expect $line $out/$stem.$cc.sass "$count" "$regex" || good=0
        done < tests/ptx/sass.tbl
        [ $good = 0 ] || ok "$name ($rows expectations)"
    done
done
exit $failed
