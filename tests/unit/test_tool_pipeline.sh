#!/bin/sh
# test_tool_pipeline.sh -- fgs run --pipeline: digests, leaks, refusals
. tests/lib.sh

export FGS_PROVIDER=sim
plan=4b987ad400b87e9a # of the plan, by every engine
digest=$plan

run()
{
    name=$1
    shift
    "$FGS" run --provider sim "$@" > "$tmp/out" 2> "$tmp/err"
    grep -q "^digest     $digest" "$tmp/out" && ok "$name" ||
        not_ok "$name" "$(cat "$tmp/out" "$tmp/err" | head -n 4)"
}

for n in 1 2 5 8; do
    run "double_buffer_of_$n" --pipeline double-buffer --stages $n \
        --slow-producer 2000
done
for e in poll bulk report; do
    run "fused_by_$e" --pipeline fused --engine $e --rounds 3
done
for e in poll bulk report; do
    FGS_SIM_SMS=2 FGS_SIM_SM_BLOCKS=3 run "launch_control_by_$e" \
        --pipeline fused --claim launch-control --engine $e --rounds 3
    grep -q '^taken *[1-9]' "$tmp/out" && ok "blocks_taken_by_$e" ||
        not_ok "blocks_taken_by_$e" "$(cat "$tmp/out")"
done
digest=$("$FGS" run --provider sim --pipeline histogram --seed 3 \
    2> "$tmp/err" | sed -n 's/^digest *//p')
for p in global global_gpu direct; do
    run "histogram_$p" --pipeline histogram --seed 3 --private $p
done

# Their twins leave the same bits.
if [ -f "$TC/lib/libnvrtc.so.13" ]; then
    export FGS_NVRTC="$TC/lib/libnvrtc.so.13"
    run histogram_twin --pipeline histogram --seed 3 --language cuda
    digest=$plan
    run double_buffer_twin --pipeline double-buffer --language cuda
    ! grep -q '^engine.*PTX 8.3 ' "$tmp/out" && ok twin_is_compiled ||
        not_ok twin_is_compiled "$(grep engine "$tmp/out")"
    for e in bulk report; do
        run "retry_warp_twin_by_$e" --pipeline retry-warp --engine $e \
            --language cuda
        run "fused_twin_by_$e" --pipeline fused --engine $e --language cuda
    done
else
    skip twins_of_pipelines "no NVRTC; make toolchain gets it"
fi

# refuse NAME WORDS OPTIONS...: exit 1 or 2 and a sentence
refuse()
{
    name=$1 words=$2
    shift 2
    "$FGS" run --provider sim "$@" > "$tmp/out" 2> "$tmp/err"
    code=$?
    { [ $code = 1 ] || [ $code = 2 ]; } && grep -q "$words" "$tmp/err" &&
        ok "$name" || not_ok "$name" "exit $code: $(tail -n 1 "$tmp/err")"
}
refuse unknown_pipeline 'is none of .*double-buffer' --pipeline nope
refuse too_many_stages 'has 1 to 8 stages, not 9' --pipeline double-buffer \
    --stages 9
refuse foreign_option 'does not take it' --pipeline double-buffer --bins 4
refuse foreign_engine 'serves poll, not "bulk"' --pipeline histogram \
    --engine bulk
refuse odd_width 'is no positive number' --pipeline histogram --width 0
refuse too_many_bins 'take --private global' --pipeline histogram \
    --bins 100000
refuse not_resident 'cannot be resident at once' --pipeline fused \
    --blocks 100000
refuse blocks_of_claims 'a block for each tile' --pipeline fused --blocks 8 \
    --claim launch-control
FGS_SIM_CC=90 refuse no_launch_control \
    'needs cluster launch control, which compute capability 9.0' \
    --pipeline fused --engine poll --claim launch-control
FGS_SIM_CC=90 refuse wgmma_by_name "instruction 'wgmma' is not supported" \
    --pipeline full-empty --product wgmma
for c in fixed launch-control; do
    refuse "leak_of_fused_$c" 'tile 9 chunk 5 (.*kept its sentinel' \
        --pipeline fused --claim $c --inject leak:9:5 --bound-ms 3 --rounds 2
    grep -q 'tile 9, chunk 5, stage 1' "$tmp/out" &&
        grep -q 'alive: a healthy round' "$tmp/out" && ok "round_of_leak_$c" ||
        not_ok "round_of_leak_$c" "$(head -n 3 "$tmp/out")"
done
for e in bulk report; do
    refuse "leak_of_product_by_$e" 'tile 5 chunk 1000 (.*kept its sentinel' \
        --pipeline full-empty --engine $e --tiles 6 --stages 3 \
        --inject leak:5:1000 --bound-ms 3
    grep -q 'tile 5, chunk 1000, stage [0-2]$' "$tmp/out" &&
        grep -q 'alive: a healthy round' "$tmp/out" &&
        ok "stage_of_leak_by_$e" ||
        not_ok "stage_of_leak_by_$e" "$(head -n 3 "$tmp/out")"
done
refuse one_block 'a producer and a consumer block' --pipeline fused --blocks 1
FGS_SIM_SMS=1 FGS_SIM_SM_BLOCKS=1 refuse cluster_without_room \
    'report_pair_consume, blocks of .*: cuLaunchKernelEx: .*CLUSTER_SIZE' \
    --pipeline cta-pair
FGS_SIM_SM_SHARED=65536 refuse too_much_shared_memory \
    'bulk_retry_consume, blocks of .* 131072 bytes of dynamic shared' \
    --pipeline retry-warp --stages 8 --tile 16384
refuse leak_is_told "tile 9 chunk 5 (.*kept its sentinel" \
    --pipeline double-buffer --inject leak:9:5 --bound-ms 3
grep -q 'tile 9, chunk 5, stage' "$tmp/out" &&
    grep -q 'alive: a healthy round' "$tmp/out" && ok leak_has_its_stage ||
    not_ok leak_has_its_stage "$(head -n 3 "$tmp/out")"

# A text of the folder takes the place of the library's, and says so.
digest=$plan
mkdir "$tmp/dir"
cp ptx/fused.ptx.in "$tmp/dir"
FGS_PTX_DIR=$tmp/dir run the_folders_own_text --pipeline fused --engine poll
grep -q 'FGS_PTX_DIR' "$tmp/err" && not_ok same_text_is_not_told "$tmp/err" ||
    ok same_text_is_not_told
echo '// changed' >> "$tmp/dir/fused.ptx.in"
FGS_PTX_DIR=$tmp/dir run the_folders_changed_text --pipeline fused \
    --engine poll
grep -q 'fused_poll: the text of FGS_PTX_DIR' "$tmp/err" &&
    ok changed_text_is_told || not_ok changed_text_is_told "$(cat "$tmp/err")"
echo 'broken' >> "$tmp/dir/fused.ptx.in"
FGS_PTX_DIR=$tmp/dir refuse broken_text_of_the_folder 'fused_poll' \
    --pipeline fused --engine poll
end
