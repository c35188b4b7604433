#!/bin/sh
# test_tool_plan_gpu.sh -- fgs plan on a GPU: the software device's digests
. tests/lib.sh
dir=tools/examples/plans

same()
{
    [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$3 in place of $2"
}
# digest PROVIDER ARGUMENT...
digest()
{
    provider=$1
    shift
    timeout 120 "$FGS" plan run "$@" --provider $provider 2> "$tmp/err" |
        sed -n 's/^digest *//p'
}
"$FGS" plan check "$dir/fanout8.plan" --provider cuda > "$tmp/out" \
    2> "$tmp/err"
[ $? != 77 ] || { skip plans "no GPU"; end; }
for f in "$dir"/*.plan; do
    name=$(basename "$f" .plan)
    orders="stream pdl flag sentinel auto"
    [ $name != own ] || orders="stream pdl auto"
    first=$(digest sim "$f")
    if [ -z "$first" ]; then
        skip "$name" "$(tail -n 1 "$tmp/err")"
        continue
    fi
    for o in $orders; do
        same "${name}_by_$o" "$first" "$(digest cuda "$f" --order $o)"
    done
done
for e in bulk poll async; do
    same "chain20_by_$e" "$(digest sim "$dir/chain20.plan")" \
        "$(digest cuda "$dir/chain20.plan" --engine $e)"
done
"$FGS" trace "$dir/chain20.plan" --provider cuda --order sentinel \
    -o "$tmp/t.svg" > "$tmp/out" 2> "$tmp/err"
grep -q '<svg ' "$tmp/t.svg" && ok chain_is_drawn || not_ok chain_is_drawn \
    "$(tail -n 1 "$tmp/err")"
end
