#!/bin/sh
# sass.sh -- the emitted code by the tool's rules, and what breaks each of them
. tests/ptx/common

fgs=${FGS:-$B/fgs}

# Kernels of the library for every target; a line each.  `fgs sass --check
# --all` takes all elements: SASS_ELEMENTS=all here.
# Twins in CUDA C++ are compiled by the pinned NVRTC, of two elements.
FGS_NVRTC=$TC/lib/libnvrtc.so.13
export FGS_NVRTC
rm -f "$out/both"
for element in ${SASS_ELEMENTS:-f32 f16 e2m1 i8ff}; do
    only="--element $element"
    case $element in
    all) only= ;;
    f16 | e2m1) only="$only --language ptx" ;;
    esac
    "$fgs" sass --check --all $only > "$out/all" 2> "$out/all.log"
    while read -r state name; do
        case $state in
        good) ok "code of ${name%%:*}" ;;
        BAD) not_ok "code of ${name%%:*}" \
            "$(grep -A 2 "^BAD   ${name%%:*}:" "$out/all")" ;;
        esac
    done < "$out/all"
    grep -q '^[1-9][0-9]* kernels checked, 0 rules broken$' "$out/all" ||
        not_ok "kernels of $element" \
            "$(tail -n 1 "$out/all"; head -n 3 "$out/all.log")"
    case $only in
    *ptx) ;;
    *) [ -f "$out/both" ] || mv "$out/all" "$out/both" ;;
    esac
done

# Every kernel has a twin; without NVRTC, which needs no second look at all
# targets, they are counted.
[ -f "$out/both" ] ||
    "$fgs" sass --check --all --element f32 --target sm_90 > "$out/both" 2>&1
FGS_NVRTC=none "$fgs" sass --check --all --element f32 --target sm_80 \
    > "$out/alone" 2>&1
# kernels FILE: how many are no twins and of no form, of which there are twins
kernels() {
    grep '^good ' "$1" | grep -v ' cuda ' |
        grep -vc ' \(self-init\|persistent\) '
}
n=$(kernels "$out/both")
twins=$(grep -c '^good .* cuda sm_' "$out/both")
alone=$(sed -n 's/^\([0-9]*\) kernels have no twin.*/\1/p' "$out/both")
forms=$(grep -c '^good .* \(self-init\|persistent\) ' "$out/both")
[ "$twins" -gt 0 ] && [ $((twins + ${alone:-0})) = "$n" ] &&
    grep -q "^$twins of them are twins" "$out/both" &&
    grep -q "^$((n + forms + twins)) kernels checked, 0 rules broken" \
        "$out/both" &&
    ok "each kernel has a twin that is checked" ||
    not_ok "each kernel has a twin that is checked" "$(tail -n 3 "$out/both")"
n=$(kernels "$out/alone")
[ "$n" -gt 0 ] &&
    grep -q "^$n twins in CUDA C++ were not checked: .*no NVRTC" "$out/alone" &&
    ok "twins that are not checked are counted" ||
    not_ok "twins that are not checked are counted" "$(tail -n 3 "$out/alone")"

# Forms that fill their own output, or take any grid.
"$fgs" sass --check --self-init scale_produce_bulk poll_relay \
    > "$out/forms" 2>&1
"$fgs" sass --check --self-init --persistent scale_produce >> "$out/forms" 2>&1
[ "$(grep -c '^good' "$out/forms")" = 3 ] && ok "forms are checked" ||
    not_ok "forms are checked" "$(head -n 5 "$out/forms")"
"$fgs" sass --check --self-init poll_consume > "$out/forms" 2>&1 ||
    grep -q "poll_consume fills no output of its own" "$out/forms" &&
    ok "a form that there is not is refused" ||
    not_ok "a form that there is not is refused" "$(head -n 3 "$out/forms")"
"$fgs" sass --check --all --language ptx --element f32 --target sm_90 \
    --persistent > "$out/forms" 2>&1
grep -q "^good  scale_produce f32 persistent sm_90" "$out/forms" &&
    grep -q "^good  poll_relay f32 persistent sm_90" "$out/forms" &&
    ! grep -q "^good.*self-init" "$out/forms" &&
    ! grep "^good" "$out/forms" | grep -qv " persistent " &&
    ok "all of one form" || not_ok "all of one form" "$(tail -n 3 "$out/forms")"

# `--all` takes twins in the form that they launch by themselves; the form that
# takes any grid keeps more registers.
for target in sm_90 sm_107a; do
    "$fgs" sass --check --all --language cuda --element f32 --target $target \
        --persistent > "$out/forms" 2>&1
    grep -q "^good  plain_scaled_join f32 persistent cuda $target" \
        "$out/forms" && grep -q " kernels checked, 0 rules broken" \
        "$out/forms" && ok "persistent twins for $target" ||
        not_ok "persistent twins for $target" \
            "$(grep -A 2 '^BAD' "$out/forms"; tail -n 1 "$out/forms")"
done

# The wrong kernels go to the assembler in one text an element, their entries'
# names are STEM__RULE_LINE; with them each text as it is, which breaks nothing.
wrong=tests/ptx/sass.tbl
texts=
# add STEM[:ELEMENT[:CC]] EXPRESSION RULE_LINE
add() {
    IFS=: read -r stem element cc <<X
$1
X
    to=own-${element:=f32}
    from=tests/ptx/sass/$stem.ptx
    if [ -f $from ]; then
        to=fills
    else
        from=$out/$stem.$element.${cc:=107}.ptx
        [ -f "$from" ] || "$fgs" ptx $stem --cc $cc --element $element \
            > "$from" || not_ok "text of $1" "fgs ptx"
    fi
    case " $texts " in *" $to "*) ;; *)
        texts="$texts $to"
        printf '.version 9.4\n.target sm_107a\n.address_size 64\n' \
            > "$out/$to.ptx" ;;
    esac
    sed -n '/^\.extern/p; /\.entry/,$p' "$from" | sed "$2" |
        sed "s/\.entry fgs_$stem(/.entry fgs_${stem}__$3(/" >> "$out/$to.ptx"
}
rm -f "$out"/*.107.ptx "$out"/*.90.ptx
line=0 rows=0
for stem in $(grep -v '^#' $wrong | awk 'NF { print $2 }' | sort -u); do
    line=$((line + 1))
    add $stem '' none_$line
done
line=0
while read -r rule stem expression; do
    line=$((line + 1))
    case $rule in '#'* | '') continue ;; esac
    add $stem "$expression" ${rule}_$line
    rows=$((rows + 1))
done < $wrong
: > "$out/wrong.log"
for to in $texts; do
    options="--own --element ${to#own-}"
    [ $to != fills ] || options=--initializes
    "$fgs" sass --check $options "$out/$to.ptx" 2>> "$out/wrong.log"
done > "$out/wrong"
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
if assemble own-f32 sm_107a; then
    "$fgs" sass --check --own "$out/own-f32.cubin" 2> "$out/cubin.log" |
        sort > "$out/cubin"
    "$fgs" sass --check --own "$out/own-f32.ptx" 2> /dev/null | sort |
        cmp -s - "$out/cubin" && ok "a cubin is checked like its text" ||
        not_ok "a cubin is checked like its text" "$(head -n 3 $out/cubin.log)"
else
    not_ok "a cubin is checked like its text" "$(first_line $out/own-f32.log)"
fi
for stem in report_consume bulk_consume poll_consume plain_consume \
    scale_produce; do
    case $stem in
    *_consume) what="consumer by ${stem%_*} " ;;
    *) what='producer ' ;;
    esac
    sed "s/fgs_$stem(/k(/" "$out/$stem.f32.107.ptx" > "$out/k.ptx"
    "$fgs" sass --check --target sm_107a "$out/k.ptx" > "$out/k" \
        2> "$out/k.log" && grep -q "taken for a ${what}of f32, by its instr" \
        "$out/k.log" && ok "$stem is known by its instructions" ||
        not_ok "$stem is known by its instructions" "$(cat "$out/k.log")"
done

# The products of a warpgroup: a step's box of 64x128 by 16 columns.
"$fgs" ptx gemm_wgmma_stage --cc 90 --element f16 > "$out/wgmma.ptx"
assemble wgmma sm_90a && "$nvdisasm" -c "$out/wgmma.cubin" > "$out/wgmma.sass"
[ "$(grep -c 'HGMMA\.64x16x16\.F32 ' "$out/wgmma.sass")" = 8 ] &&
    grep -q 'WARPGROUP\.DEPBAR' "$out/wgmma.sass" &&
    ok "a warpgroup multiplies, and is waited for" ||
    not_ok "a warpgroup multiplies" "$(first_line "$out/wgmma.log")"

# Every rule has a wrong kernel.
"$fgs" sass --rules | while read -r rule sentence; do
    grep -q "^$rule " $wrong || echo "$rule"
done > "$out/bare"
[ ! -s "$out/bare" ] && ok "each rule has a wrong kernel" ||
    not_ok "each rule has a wrong kernel" "$(tr '\n' ' ' < "$out/bare")"
exit $failed
