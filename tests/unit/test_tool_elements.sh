#!/bin/sh
# test_tool_elements.sh -- fgs run: every element, mechanism and engine
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

# element, the qualifier of its mechanism (guide, tables 15 and 16)
pairs="f32 validity::per_16bytes::80000000
f16 validity::per_16bytes::8000
bf16 validity::per_16bytes::8000
e4m3 validity::per_16bytes::80
e5m2 validity::per_16bytes::80
e2m1 validity::per_16bytes::8
ue8m0 validity::per_element::ff
ue5m3 validity::per_element::ff
x8 validity::per_element::ff
meta4 validity::per_element::ff
i32 validity::per_16bytes::80000000
i16 validity::per_16bytes::8000
i8 validity::per_16bytes::80
i8ff validity::per_element::ff"

digest_of()
{
    "$FGS" run --tiles 4 --json "$@" 2> "$tmp/err" |
        sed -n 's/.*"digest": "\(.*\)".*/\1/p'
}

echo "$pairs" | while read -r element mechanism; do
    first=$(digest_of --element "$element" --engine report)
    if [ -z "$first" ]; then
        not_ok "$element" "$(tail -n 1 "$tmp/err")"
        continue
    fi
    for engine in report bulk poll async; do
        got=$(digest_of --element "$element" --mechanism "$mechanism" \
            --engine $engine)
        [ "$got" = "$first" ] && ok "${element}_by_$engine" ||
            not_ok "${element}_by_$engine" "digest $got, not $first"
    done
    got=$(digest_of --element "$element" --bulk-store)
    [ "$got" = "$first" ] && ok "${element}_by_bulk_store" ||
        not_ok "${element}_by_bulk_store" "digest $got, not $first"
done

# refused NAME WORDS OPTION...: exit 1, and the rule
refused()
{
    name=$1 words=$2
    shift 2
    "$FGS" run "$@" > "$tmp/out" 2> "$tmp/err"
    code=$?
    [ $code = 1 ] && grep -q -- "$words" "$tmp/err" && ok "$name" ||
        not_ok "$name" "exit $code: $(tail -n 1 "$tmp/err")"
}
refused wider_data_than_sentinel "looks for a 16-bit sentinel, element f32" \
    --mechanism validity::per_16bytes::8000
refused all_ones_are_data "takes all ones for not written, and e4m3" \
    --element e4m3 --mechanism validity::per_element::ff
refused nothing_below_the_least "sentinel is its least value" \
    --element i8 --saturate down
refused sentinel_is_refused "of the f32 input" --element i16 --saturate refuse
grep -q '^context    alive' "$tmp/out" && ok context_is_usable_after_it ||
    not_ok context_is_usable_after_it "$(cat "$tmp/out")"
refused tile_larger_than_shared_memory "fit into the shared memory" \
    --tile 262144
