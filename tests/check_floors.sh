#!/bin/sh
# check_floors.sh -- includes go down or sideways; sim and cuda stay apart
. tests/lib.sh
floor='base 0 table 1 rt 1 text 2 ptx 3 sim 4 cuda 4 core 5'
for f in $(find src -name '*.[ch]' -o -name '*.def' | sort); do
    own=${f#src/} own=${own%%/*}
    for to in $(sed -n 's|^ *# *include "\([a-z]*\)/.*|\1|p' "$f" | sort -u); do
        set -- $(echo "$own $to $floor" | awk '{ for (i = 3; i < NF; i += 2)
            n[$i] = $(i + 1); print (($1 in n) ? n[$1] : -1),
            (($2 in n) ? n[$2] : 99) }')
        [ "$1" -ge "$2" ] && [ "$own $to" != "sim cuda" ] &&
            [ "$own $to" != "cuda sim" ] ||
            not_ok "${f#src/}" "($1) includes $to/ ($2)"
    done
done
! grep -rn '#include "[a-z]*/' tools --include='*.[ch]' > "$tmp/up" ||
    not_ok tools "includes an inner header: $(head -n 1 "$tmp/up")"
[ $failed = 1 ] || ok "includes_never_go_up"
end
