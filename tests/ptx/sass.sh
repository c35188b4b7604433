#!/bin/sh
# sass.sh -- the emitted code by the tool's rules, and what breaks each of them
. tests/ptx/common

fgs=${FGS:-$B/fgs}

# Every kernel of the library for every target; a line each.
"$fgs" sass --check --all > "$out/all" 2> "$out/all.log"
while read -r state name rest; do
    case $state in
    good) ok "code of $name ${rest%%:*}" ;;
    BAD) not_ok "code of $name ${rest%%:*}" \
        "$(sed -n "/^BAD  $name ${rest%%:*}:/{n;p;n;p;}" "$out/all")" ;;
    esac
done < "$out/all"
grep -q '^[1-9][0-9]* kernels checked, 0 rules broken$' "$out/all" ||
    not_ok "all kernels" "$(tail -n 1 "$out/all"; head -n 3 "$out/all.log")"

# The wrong kernels go to the assembler in one text, their entries' names are
# STEM__RULE_LINE; with them each text as it is, which breaks nothing.
start() {
    printf '.version 9.4\n.target sm_107a\n.address_size 64\n' > "$out/$1.ptx"
}
wrong=tests/ptx/sass.tbl
from() {
    if [ -f tests/ptx/sass/$1.ptx ]; then
        echo tests/ptx/sass/$1.ptx
    else
        text $1 107 || not_ok "text of $1" "$(first_line $out/$1.107.log)"
        echo "$out/$1.107.ptx"
    fi
}
# add STEM EXPRESSION RULE_LINE
add() {
    to=own
    [ $1 != fill_produce ] || to=fills
    sed -n '/\.entry/,$p' "$(from $1)" | sed "$2" |
        sed "s/\.entry fgs_$1(/.entry fgs_${1}__$3(/" >> "$out/$to.ptx"
}
start own
start fills
for stem in $(grep -v '^#' $wrong | awk 'NF { print $2 }' | sort -u); do
    add $stem '' none_0
done
line=0 rows=0
while read -r rule stem expression; do
    line=$((line + 1))
    case $rule in '#'* | '') continue ;; esac
    add $stem "$expression" ${rule}_$line
    rows=$((rows + 1))
done < $wrong
"$fgs" sass --check --own "$out/own.ptx" > "$out/wrong" 2> "$out/wrong.log"
"$fgs" sass --check --initializes "$out/fills.ptx" >> "$out/wrong" \
    2>> "$out/wrong.log"
awk '
    /^(good|BAD )  fgs_/ {
        if (name) print name, rule, list
        list = " "; name = $2; rule = $2
        sub(/.*__/, "", rule); sub(/_[0-9]*$/, "", rule)
    }
    /^      [a-z_]*: / { sub(/:$/, "", $1); list = list $1 " " }
    END { print name, rule, list }' "$out/wrong" > "$out/caught"
while read -r name rule list; do
    case $rule,$list in
    none,) ok "$name breaks nothing" ;;
    none,*) not_ok "$name" "it breaks $list" ;;
    *" $rule "* | *,"$rule" | *,"$rule "* | *" $rule") ok "$name" ;;
    *) not_ok "$name" "it breaks \"$list\"" ;;
    esac
done < "$out/caught"
[ "$(grep -c '' "$out/caught")" -gt $rows ] ||
    not_ok "wrong kernels" "$(first_line "$out/wrong.log")"

# A cubin of one's own, and an entry whose name says nothing.
if assemble own sm_107a; then
    "$fgs" sass --check --own "$out/own.cubin" 2> "$out/cubin.log" |
        sort > "$out/cubin"
    "$fgs" sass --check --own "$out/own.ptx" 2> /dev/null | sort |
        cmp -s - "$out/cubin" && ok "a cubin is checked like its text" ||
        not_ok "a cubin is checked like its text" "$(head -n 3 $out/cubin.log)"
else
    not_ok "a cubin is checked like its text" "$(first_line $out/own.log)"
fi
for stem in report_consume bulk_consume poll_consume scale_produce; do
    case $stem in
    *_consume) what="consumer by ${stem%_*} " ;;
    *) what='producer ' ;;
    esac
    sed "s/fgs_$stem(/k(/" "$out/$stem.107.ptx" > "$out/k.ptx"
    "$fgs" sass --check --target sm_107a "$out/k.ptx" > "$out/k" \
        2> "$out/k.log" && grep -q "taken for a ${what}of f32, by its instr" \
        "$out/k.log" && ok "$stem is known by its instructions" ||
        not_ok "$stem is known by its instructions" "$(cat "$out/k.log")"
done

# Every rule has a wrong kernel.
"$fgs" sass --rules | while read -r rule sentence; do
    grep -q "^$rule " $wrong || echo "$rule"
done > "$out/bare"
[ ! -s "$out/bare" ] && ok "each rule has a wrong kernel" ||
    not_ok "each rule has a wrong kernel" "$(tr '\n' ' ' < "$out/bare")"
exit $failed
