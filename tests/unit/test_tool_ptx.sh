#!/bin/sh
# test_tool_ptx.sh -- changed and broken texts in FGS_PTX_DIR, fgs check, ptx
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

dir=$tmp/ptx
mkdir "$dir"
"$FGS" ptx scale_produce > "$tmp/good" 2> "$tmp/err" ||
    not_ok text_is_printed "$(tail -n 1 "$tmp/err")"
text=$dir/scale_produce.ptx
line_of()
{
    grep -n -m 1 -- "$1" "$tmp/good" | cut -d: -f1
}

# broken NAME LINE WORDS: a run with the text must fail at that line before
# anything is launched, and fgs check must say the same place
broken()
{
    FGS_PTX_DIR=$dir "$FGS" run --json > "$tmp/json" 2> "$tmp/err"
    code=$?
    place=$(sed -n "s|.*$text:\([0-9]*:[0-9]*\): .*|\1|p" "$tmp/err" |
        head -n 1)
    if [ $code != 1 ]; then
        not_ok "$1_stops_the_run" "exit $code"
    elif [ "${place%%:*}" != "$2" ]; then
        not_ok "$1_stops_the_run" "not line $2: $(tail -n 1 "$tmp/err")"
    elif ! grep -q "$3" "$tmp/err"; then
        not_ok "$1_stops_the_run" "no \"$3\": $(tail -n 1 "$tmp/err")"
    else
        ok "$1_stops_the_run"
    fi
    "$FGS" check "$text" > "$tmp/out" 2> "$tmp/check"
    code=$?
    [ $code = 1 ] && grep -q "^$text:$place: " "$tmp/check" &&
        ok "$1_is_found_by_check" ||
        not_ok "$1_is_found_by_check" "exit $code: $(head -n 1 "$tmp/check")"
}

mul=$(line_of 'mul.rn.f32')
sed "${mul}s/mul.rn.f32/mulx.rn.f32/" "$tmp/good" > "$text"
broken unknown_instruction "$mul" mulx
sed "${mul}s/mul.rn.f32/mul.lo.u32/" "$tmp/good" > "$text"
broken wrong_type "$mul" .
sed "${mul}s/%v0/%u0/" "$tmp/good" > "$text"
broken undeclared_register "$mul" '%u0'
label=$(line_of '^L_work:')
bra=$(line_of 'bra  *L_work;')
sed "${label}d" "$tmp/good" > "$text"
broken missing_label $((bra - 1)) L_work
version=$(line_of '^\.version')
sed "s/^\.version .*/.version 99.0/" "$tmp/good" > "$text"
broken newer_version "$version" 99.0
last=$(($(line_of '^L_end:') + 1))
head -n "$last" "$tmp/good" > "$text"
broken missing_end $((last + 1)) "'}'"
head -c $(($(wc -c < "$tmp/good") / 2)) "$tmp/good" > "$text"
"$FGS" check "$text" > "$tmp/out" 2>&1
[ $? = 1 ] && ok text_cut_in_the_middle_is_refused ||
    not_ok text_cut_in_the_middle_is_refused "$(head -n 1 "$tmp/out")"
sed 's/fgs_scale_produce/other_name/' "$tmp/good" > "$text"
FGS_PTX_DIR=$dir "$FGS" run > "$tmp/out" 2> "$tmp/err"
[ $? = 1 ] && grep -q fgs_scale_produce "$tmp/err" && ok missing_entry_is_named ||
    not_ok missing_entry_is_named "$(tail -n 1 "$tmp/err")"

# A valid change takes effect without a build: times 4 is wrong from element
# 1003 of the first tile on (its input is the smallest subnormal, reversed).
sed 's/0f40000000/0f40800000/' "$tmp/good" > "$text"
FGS_PTX_DIR=$dir "$FGS" run --json > "$tmp/json" 2> "$tmp/err"
[ $? = 1 ] && grep -q '"name": "mismatch"' "$tmp/json" &&
    grep -q '"mismatches": [1-9]' "$tmp/json" && ok changed_text_takes_effect ||
    not_ok changed_text_takes_effect "$(tail -n 1 "$tmp/err")"
grep -q 'elements are wrong; the first is tile 0 element' "$tmp/err" &&
    ok wrong_element_is_named || not_ok wrong_element_is_named "$(cat "$tmp/err")"
cp "$tmp/good" "$text"
FGS_PTX_DIR=$dir "$FGS" run > "$tmp/out" 2> "$tmp/err" &&
    ok unchanged_text_is_verified ||
    not_ok unchanged_text_is_verified "$(tail -n 1 "$tmp/err")"

# Every text of the library passes the check, for each device it serves.
"$FGS" ptx > "$tmp/list" 2> "$tmp/err" || not_ok list "$(cat "$tmp/err")"
for stem in $(cut -d' ' -f1 "$tmp/list"); do
    for cc in 75 80 90 107 120; do
        "$FGS" ptx $stem --cc $cc > "$tmp/$stem.$cc.ptx" 2> "$tmp/err" ||
            { rm "$tmp/$stem.$cc.ptx"; continue; }
        case_is "${stem}_for_${cc}_is_good" "see below" \
            "$FGS" check "$tmp/$stem.$cc.ptx"
    done
done
[ -f "$tmp/report_consume.107.ptx" ] && [ ! -f "$tmp/report_consume.90.ptx" ] &&
    ok report_is_for_10.7_alone || not_ok report_is_for_10.7_alone "see ptx"
"$FGS" ptx --cc 90 > "$tmp/list" 2> "$tmp/err" &&
    grep -q '^report_consume.*not for' "$tmp/list" &&
    ok list_says_what_a_device_lacks ||
    not_ok list_says_what_a_device_lacks "$(grep report "$tmp/list")"

# Every engine's name finds its consumer; a pipeline's text has its stages.
for e in report bulk poll async plain; do
    "$FGS" ptx --engine $e consume > "$tmp/out" 2> "$tmp/err" &&
        grep -q "entry fgs_${e}_consume(" "$tmp/out" && ok engine_${e}_names ||
        not_ok engine_${e}_names "$(head -n 1 "$tmp/err")"
done
"$FGS" ptx async_stages_consume > "$tmp/two" 2> "$tmp/err" &&
    "$FGS" ptx async_stages_consume --stages 2 | cmp -s - "$tmp/two" &&
    ! "$FGS" ptx async_stages_consume --stages 5 | cmp -s - "$tmp/two" &&
    ok stages_are_in_the_text || not_ok stages_are_in_the_text "see ptx"

printf '.version 9.4\n.target sm_107a\n.address_size 64\nbad;\n%s;\n' worse \
    > "$tmp/two.ptx"
"$FGS" check "$tmp/two.ptx" "$tmp/good" > "$tmp/out" 2> "$tmp/err"
[ $? = 1 ] && grep -q "^$tmp/two.ptx:4:1: " "$tmp/err" && [ ! -s "$tmp/out" ] &&
    ! grep -q "^$tmp/good" "$tmp/err" && ok errors_go_to_standard_error ||
    not_ok errors_go_to_standard_error "$(head -n 2 "$tmp/err")"
end
