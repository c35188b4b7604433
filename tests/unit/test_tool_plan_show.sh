#!/bin/sh
# test_tool_plan_show.sh -- what fgs plan shows: checks, drawings, traces, JSON
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER
python=$(command -v python3)
dir=tools/examples/plans

same()
{
    [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$3 in place of $2"
}

# --------------------------------------------------------- check and draw --
"$FGS" plan check "$dir/diamond.plan" > "$tmp/out" 2> "$tmp/err"
same check_counts_the_parts "5, 5 edges, 6 buffers, longest path 4" \
    "$(sed -n 's/^stages *//p' "$tmp/out")"
same check_lists_stages_in_launch_order "top left right far join " \
    "$(sed -n 's/^stage  *\([a-z]*\):.*/\1/p' "$tmp/out" | tr '\n' ' ')"
same check_lists_edges "top -> left over top,top -> right over top,\
right -> far over right,left -> join over left,far -> join over far," \
    "$(sed -n 's/^edge  *\(.*\): .*/\1/p' "$tmp/out" | tr '\n' ',')"
"$FGS" plan check --dot "$dir/diamond.plan" > "$tmp/dot" 2> "$tmp/err"
same dot_has_the_edges "s0 -> s1,s0 -> s2,s2 -> s3,s1 -> s4,s3 -> s4," \
    "$(sed -n 's/^ *\(s[0-9] -> s[0-9]\) .*/\1/p' "$tmp/dot" | tr '\n' ',')"
"$FGS" plan run --receipt "$dir/chain20.plan" > "$tmp/out" 2> "$tmp/err"
grep -q '^           auto: ' "$tmp/out" && ok receipt_says_why ||
    not_ok receipt_says_why "$(grep -c . "$tmp/out") lines"
grep -q 'programmatic serialization set' "$tmp/out" &&
    ok receipt_lists_attributes || not_ok receipt_lists_attributes "none"

# -------------------------------------------------------------- pictures --
for end in svg json rows; do
    "$FGS" trace "$dir/chain20.plan" --order sentinel -o "$tmp/t.$end" \
        > "$tmp/out" 2> "$tmp/err"
    same "plan_is_drawn_as_$end" "320 of 20 grids on 16 SMs" \
        "$(sed -n 's/^blocks *//p' "$tmp/out")"
done
"$FGS" trace "$tmp/t.rows" -o "$tmp/again.svg" > "$tmp/again" 2> "$tmp/err"
cmp -s "$tmp/out" "$tmp/again" && ok rows_say_what_the_run_said ||
    not_ok rows_say_what_the_run_said "$(diff "$tmp/out" "$tmp/again" | head -n 2)"
same early_blocks_are_counted_alike \
    "$(sed -n 's/^edge.*s0 -> s1 .*, \([0-9]*\) early block.*/\1/p' "$tmp/out")" \
    "$(awk '$1 == "stage" { s++; next }
        NF == 5 && s == 1 && $3 + 0 > last { last = $3 + 0 }
        NF == 5 && s == 2 && $1 + 0 < last { n++ }
        END { if (n) print n }' "$tmp/t.rows")"
"$FGS" plan run "$dir/chain20.plan" --trace "$tmp/d.svg" > "$tmp/out" \
    2> "$tmp/err"
grep -q '<svg ' "$tmp/d.svg" && ok run_draws_too || not_ok run_draws_too \
    "$(tail -n 1 "$tmp/err")"

# ------------------------------------------------------------------ JSON --
keys()
{
    sed -n 's/^  "\([a-z_-]*\)": .*/\1/p' "$1" | tr '\n' ' '
}
"$FGS" plan run --json "$dir/chain20.plan" > "$tmp/json" 2> "$tmp/err"
same json_has_its_members "ok rounds results tiles unknown_tiles digest \
reissues elapsed_ns provider device depth stages edges " "$(keys "$tmp/json")"
if [ -n "$python" ]; then
    for a in "run" "run --receipt" "check" "expand"; do
        "$FGS" plan $a --json "$dir/moe.plan" > "$tmp/json" 2> "$tmp/err"
        case_is "json_of_$(echo "$a" | tr -d ' -')" "is none" "$python" -c \
            'import json, sys; json.load(open(sys.argv[1]))' "$tmp/json"
    done
else
    skip json_is_json "no python3"
fi
end
