#!/bin/sh
# test_tool_plan_seeds.sh -- every example plan, by every order, over seeds
#
# FGS_TEST_SEEDS=100 is their number (default 2).  One digest for each example,
# whatever the order, the overlap and the seed; a programmatic event outside a
# graph lets grids overlap with every other seed.
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER
dir=tools/examples/plans
seeds=${FGS_TEST_SEEDS:-2}

member()
{
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$tmp/json" |
        head -n 1
}
# orders FILE: those that every edge of it can have
orders()
{
    case $1 in
    *own.plan) echo stream pdl auto ;;
    *) echo stream pdl flag sentinel auto ;;
    esac
}
# one FILE ORDER OVERLAP SEED: its digest is added to those of the file
one()
{
    FGS_SIM_OVERLAP=$3 FGS_SIM_SEED=$4 FGS_SIM_EARLY_EVENT=$(($4 % 2)) \
        timeout 120 "$FGS" plan run --json "$1" ${2:+--order "$2"} \
        > "$tmp/json" 2> "$tmp/err" ||
        echo "    $1, $2, overlap $3, seed $4: $(tail -n 1 "$tmp/err")"
    member digest >> "$tmp/$(basename "$1").digests"
    [ "$(member unknown_tiles)" = 0 ] && [ "$(member tiles)" -gt 0 ] ||
        echo "$2, overlap $3, seed $4" >> "$tmp/$(basename "$1").open"
}

# Both inputs of a join, each by its own order: mixes of one example in a folder.
# mix FILE STAGE FIRST SECOND...: the stages with what they read
mix()
{
    file=$1
    shift
    for a in stream pdl flag sentinel; do
        for b in stream pdl flag sentinel; do
            awk -v a=$a -v b=$b -v list="$*" '
                BEGIN { n = split(list, at) }
                { print }
                $1 == "stage" {
                    for (i = 1; i < n; i += 3)
                        if (at[i] == $2) {
                            print "    read " at[i + 1] " order " a
                            print "    read " at[i + 2] " order " b
                        }
                }' "$dir/$file.plan" > "$tmp/$file-$a-$b.plan"
        done
    done
}
mix joins pair0 made0 made1 pair1 made3 made2 all pair0 pair1
mix scaled times data scales again both scales

# Seeds outside: what was done when it is stopped was done for all.
seed=0
while [ $seed -lt "$seeds" ]; do
    seed=$((seed + 1))
    for f in "$dir"/*.plan; do
        for order in $(orders "$f"); do
            one "$f" "$order" 1 $seed
            one "$f" "$order" 0 $seed
        done
    done
    for f in "$tmp"/*-*-*.plan; do
        one "$f" "" 1 $seed
        one "$f" "" 0 $seed
    done
    [ -z "$FGS_TEST_VERBOSE" ] || echo "    seed $seed is done" >&2
done
for f in "$dir"/*.plan; do
    name=$(basename "$f" .plan)
    want=$(($(orders "$f" | wc -w) * 2 * seeds))
    got=$(sort "$tmp/$name.plan.digests" | uniq -c | awk '{ print $1 }')
    [ "$got" = "$want" ] && ok "${name}_has_one_digest" ||
        not_ok "${name}_has_one_digest" "$got runs of $want"
    [ ! -e "$tmp/$name.plan.open" ] && ok "${name}_is_verified_whole" ||
        not_ok "${name}_is_verified_whole" "$(head -n 1 "$tmp/$name.plan.open")"
done
for name in joins scaled; do
    want=$(sort -u "$tmp/$name.plan.digests")
    got=$(sort "$tmp/$name"-*-*.plan.digests | uniq -c |
        awk '{ print $2, $1 }')
    [ "$got" = "$want $((16 * 2 * seeds))" ] &&
        ok "${name}_of_each_mix_of_orders_has_that_digest" ||
        not_ok "${name}_of_each_mix_of_orders_has_that_digest" "$got"
    cat "$tmp/$name"-*-*.plan.open > "$tmp/open" 2> /dev/null &&
        not_ok "${name}_of_each_mix_is_verified_whole" \
            "$(head -n 1 "$tmp/open")" ||
        ok "${name}_of_each_mix_is_verified_whole"
done
end
