#!/bin/sh
# test_tool_rings.sh -- fgs run --pipeline retry-warp, cta-pair, full-empty
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

# run NAME OPTIONS: a run that must be verified; its digest in $digest
run()
{
    name=$1
    shift
    "$FGS" run "$@" > "$tmp/out" 2> "$tmp/err"
    code=$?
    digest=$(sed -n 's/^digest *//p' "$tmp/out")
    if [ $code = 0 ] && grep -q '^verified' "$tmp/out"; then
        ok "$name"
    else
        not_ok "$name" "exit $code: $(tail -n 1 "$tmp/err")"
    fi
}
# same NAME: the digest is that of before
same()
{
    if [ -n "$digest" ] && [ "$digest" = "$want" ]; then
        ok "$1"
    else
        not_ok "$1" "digest $digest, not $want"
    fi
}

for element in f32 e2m1; do
    run single_stage_$element --element $element --engine poll --tiles 40
    want=$digest
    for engine in bulk report; do
        for stages in 1 3 8; do
            run ${engine}_${stages}_stages_$element --pipeline retry-warp \
                --engine $engine --stages $stages --element $element \
                --tiles 40 --slow-producer 15000 --rounds 2
            same ${engine}_${stages}_stages_${element}_digest
        done
    done
done
run single_stage --tiles 31
want=$digest
run pair --pipeline cta-pair --tiles 31 --slow-producer 15000
same pair_digest
pair=$digest

for stages in 1 2 5 8; do
    run chain_$stages --pipeline full-empty --tiles 2 --stages $stages
    [ $stages != 1 ] || want=$digest
    same chain_${stages}_digest
done
run chain_report --pipeline full-empty --engine report --tiles 2 \
    --slow-producer 20000
same chain_report_digest

# Their twins leave the same bits.
if [ -f "$TC/lib/libnvrtc.so.13" ]; then
    export FGS_NVRTC="$TC/lib/libnvrtc.so.13"
    for engine in bulk report; do
        run chain_twin_$engine --pipeline full-empty --engine $engine \
            --tiles 2 --stages 3 --language cuda
        same chain_twin_${engine}_digest
    done
    want=$pair
    run pair_twin --pipeline cta-pair --tiles 31 --slow-producer 15000 \
        --language cuda
    same pair_twin_digest
    "$FGS" bench retry --provider sim --repeat 1 --loops 20 --language cuda \
        > "$tmp/out" 2> "$tmp/err"
    [ $? = 0 ] && [ "$(grep -c '  [0-9.]*%  ' "$tmp/out")" = 7 ] &&
        ok twins_are_measured ||
        not_ok twins_are_measured "$(tail -n 1 "$tmp/err")"
else
    skip twins_of_rings "no NVRTC; make toolchain gets it"
fi

# leak NAME STAGE OPTIONS: it ends as a record with tile and stage
leak()
{
    name=$1 stage=$2
    shift 2
    "$FGS" run "$@" --inject leak:13:7 --bound-ms 2 > "$tmp/out" 2> "$tmp/err"
    code=$?
    if [ $code != 1 ]; then
        not_ok "$name" "exit $code"
    elif ! grep -q "tile 13, chunk 7, stage $stage\$" "$tmp/out"; then
        not_ok "$name" "$(grep '^place' "$tmp/out")"
    elif ! grep -q '^context *alive' "$tmp/out"; then
        not_ok "$name" "the context is lost"
    else
        ok "$name"
    fi
}
# tile 13 of 8 blocks is the second of block 5
leak leak_by_report 1 --pipeline retry-warp --engine report --stages 5
leak leak_by_scan 1 --pipeline retry-warp --engine bulk --stages 4
leak leak_of_one_stage 0 --pipeline retry-warp --stages 1
leak leak_in_a_pair 0 --pipeline cta-pair

"$FGS" run --pipeline retry-warp --threads 64 > "$tmp/out" 2> "$tmp/err"
code=$?
if [ $code = 2 ] && grep -q 'are 96' "$tmp/err"; then
    ok two_warps_are_refused
else
    not_ok two_warps_are_refused "exit $code: $(tail -n 1 "$tmp/err")"
fi
end
