#!/bin/sh
# test_tool_plan.sh -- fgs plan on the software device: examples, orders, faults
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER
dir=tools/examples/plans

same()
{
    [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$3 in place of $2"
}
member()
{
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$tmp/json" |
        head -n 1
}
# plan WANT ARGUMENT...: run it; the result is in $tmp/json
plan()
{
    want=$1
    shift
    timeout 120 "$FGS" plan run --json "$@" > "$tmp/json" 2> "$tmp/err"
    got=$?
    [ $got = "$want" ] && return 0
    echo "    fgs plan run $*: exit $got: $(tail -n 1 "$tmp/err")"
    return 1
}

# ------------------------------------------------------- the comparison --
# A kernel that is not what it says it is: the mirror sees it, and where.
sed 's/mirror relay/mirror consume/; s/sub.u32   .*/&/' "$dir/own.plan" \
    > "$tmp/own.plan"
sed 's/{%w3, %w2}/{%w2, %w3}/' "$dir/turn.ptx" > "$tmp/turn.ptx"
plan 1 "$tmp/own.plan"
same wrong_result_is_a_mismatch mismatch "$(member name)"
grep -q 'buffer "out" is wrong: the first byte is [0-9]* of tile [0-9]*' \
    "$tmp/err" && ok wrong_result_has_its_place ||
    not_ok wrong_result_has_its_place "$(tail -n 1 "$tmp/err")"
sed 's/ mirror relay//' "$dir/own.plan" > "$tmp/own.plan"
plan 0 "$tmp/own.plan"
same kernel_without_mirror_is_not_verified "0 16" \
    "$(member tiles) $(member unknown_tiles)"
# Nor one that says a mirror which its buffers are not made for.
printf '%s\n' 'buffer in' 'buffer a' 'buffer few tile-bytes 32' 'buffer out' \
    'stage make produce in -> a' \
    'stage turn kernel turn.ptx turn grid 16 block 256 waits first mirror join' \
    'read few' 'read a' 'write out' 'arg buffer a' 'arg buffer out' \
    > "$tmp/few.plan"
plan 0 "$tmp/few.plan"
same mirror_of_other_tiles_is_none "0 16" \
    "$(member tiles) $(member unknown_tiles)"
sed 's/^buffer few.*/& element ue8m0/; s/mirror join/mirror scale/' \
    "$tmp/few.plan" > "$tmp/less.plan"
plan 0 "$tmp/less.plan"
same scales_before_the_data_have_no_mirror "0 16" \
    "$(member tiles) $(member unknown_tiles)"
cp "$dir/turn.ptx" "$tmp/turn.ptx"
plan 0 "$tmp/own.plan"
same digest_is_of_what_is_not_verified_too \
    "$(plan 0 "$dir/own.plan"; member digest)" \
    "$(plan 0 "$tmp/own.plan"; member digest)"

# ---------------------------------------------------------- wrong plans --
# refused NAME PLACE PATTERN: the plan on standard input
refused()
{
    cat > "$tmp/x.plan"
    "$FGS" plan check "$tmp/x.plan" > "$tmp/out" 2> "$tmp/err"
    got=$?
    if [ $got = 1 ] && grep -q -e "x.plan:$2: .*$3" "$tmp/err"; then
        ok "$1"
    else
        not_ok "$1" "exit $got, $(tail -n 1 "$tmp/err")"
    fi
}
refused cycle_is_refused '3:7' 'the plan has a cycle' <<'X'
buffer a
buffer b
stage one produce b -> a
stage two consume a -> b
X
refused tile_is_written_once '6:7' "tile 0 of buffer 'a' is written twice" <<'X'
buffer in
buffer a
buffer out
stage use consume a -> out
stage one produce in -> a
stage two produce in -> a
X
refused ring_has_three_slots '4:7' "buffer 'r' is a ring and has 2 slots" <<'X'
buffer in
buffer r slots 2 fill ring
buffer out
stage one produce in -> r
stage two relay r -> r
stage use consume r -> out
X
refused ring_has_one_reader_an_edge '6:7' 'use reads what one wrote, and two' <<'X'
buffer in
buffer r slots 3 fill ring
buffer out
stage one produce in -> r
stage two consume r -> out
stage use consume r -> out
X
refused tile_that_is_read_is_written '5:7' "waits for tile 2 of buffer 'a'" <<'X'
buffer in tiles 2
buffer a tiles 3
buffer out tiles 3
stage one produce in -> a grid 2
stage use consume a -> out
X
refused domains_are_equal '5:7' 'different memory synchronization domains' <<'X'
buffer in
buffer a
buffer out
stage one produce in -> a domain 1
stage use consume a -> out order sentinel
X
refused tile_is_in_the_buffer '5:7' 'tile 16 of buffer' <<'X'
buffer in
buffer a
buffer out tiles 2
stage one produce in -> a
stage use consume a -> out table 3,16
X
refused elements_fit '5:7' 'holds f32' <<'X'
buffer in
buffer a
buffer out element f16
stage one produce in -> a
stage use consume a -> out
X

# ----------------------------------------------------------- leaks, files --
cat > "$tmp/leak.plan" <<'X'
plan bound-ms 50
buffer in
buffer a
buffer out
stage make produce in -> a text scale_produce_leak
stage use consume a -> out
X
plan 1 "$tmp/leak.plan" --order sentinel
same leak_is_told FGS_E_LEAK "$(member name)"
plan 1 "$tmp/leak.plan" --order stream
same leak_without_sentinels_is_a_mismatch mismatch "$(member name)"
sed 's/turn.ptx/none.ptx/' "$dir/own.plan" > "$tmp/own.plan"
plan 1 "$tmp/own.plan"
same missing_kernel_file_is_told FGS_E_FILE "$(member name)"
sed 's/turn.ptx turn/turn.ptx tern/' "$dir/own.plan" > "$tmp/own.plan"
plan 1 "$tmp/own.plan"
grep -q 'turn.ptx: tern: CUDA_ERROR_NOT_FOUND' "$tmp/err" &&
    ok missing_entry_is_told || not_ok missing_entry_is_told \
        "$(tail -n 1 "$tmp/err")"
echo '.version 8.3 nonsense' > "$tmp/turn.ptx"
cp "$dir/own.plan" "$tmp/own.plan"
plan 1 "$tmp/own.plan"
grep -q 'turn.ptx: CUDA_ERROR_INVALID_PTX: .*nonsense' "$tmp/err" &&
    ok refused_kernel_is_told || not_ok refused_kernel_is_told \
        "$(tail -n 1 "$tmp/err")"

# ----------------------------------------------------------------- usage --
usage()
{
    name=$1 want=$2
    shift 2
    "$FGS" plan "$@" > "$tmp/out" 2> "$tmp/err"
    got=$?
    [ $got = 2 ] && grep -q -e "$want" "$tmp/err" && ok "$name" ||
        not_ok "$name" "exit $got, $(head -n 1 "$tmp/err")"
}
usage mode_is_needed 'expand FILE, check FILE, run FILE or words'
usage mode_is_known 'expand FILE, check FILE' draw x
usage file_is_needed 'expand FILE, check FILE' run
usage words_has_no_file 'expand FILE, check FILE' words x
usage rounds_are_for_run 'are for run' check x --rounds 2
usage dot_is_for_check '--dot is for check' run x --dot
usage dot_is_no_json 'exclude each other' check x --dot --json
usage expand_has_no_order 'need no device' expand x --order pdl
usage order_is_an_order '"event" is none of auto' run x --order event
usage engine_is_an_engine '"bluk" is no engine' run x --engine bluk
usage picture_has_a_known_end 'ends in none of' run x --trace x.png
"$FGS" plan words > "$tmp/out"
for w in produce tile-bytes spread-ns can max-tries; do
    grep -q "^    $w " "$tmp/out" && ok "words_has_$w" ||
        not_ok "words_has_$w" "it is not there"
done

# In CUDA C++, by NVRTC.
cp "$dir/turn.cu" "$tmp/turn.cu"
sed 's/turn.ptx/turn.cu/' "$dir/own.plan" > "$tmp/own.plan"
if [ -f "$TC/lib/libnvrtc.so.13" ]; then
    FGS_NVRTC=$TC/lib/libnvrtc.so.13
    # ASan's dlopen forgets where the library lies that opens another one.
    LD_LIBRARY_PATH=$TC/lib:$LD_LIBRARY_PATH
    export FGS_NVRTC LD_LIBRARY_PATH
    plan 0 "$tmp/own.plan"
    same kernel_in_cuda_has_the_digest_of_its_twin \
        "$(plan 0 "$dir/own.plan"; member digest)" \
        "$(plan 0 "$tmp/own.plan"; member digest)"
    sed -i 's/fgs::trigger()/fgs::tricker()/' "$tmp/turn.cu"
    plan 1 "$tmp/own.plan"
    grep -q 'turn.cu(13): error: .*tricker' "$tmp/err" &&
        ok compiler_is_quoted || not_ok compiler_is_quoted \
            "$(tail -n 3 "$tmp/err")"
else
    skip kernel_in_cuda "no NVRTC; make toolchain gets it"
fi
FGS_NVRTC=none plan 1 "$tmp/own.plan"
grep -q 'turn.cu: FGS_NVRTC hides it' "$tmp/err" &&
    ok missing_compiler_is_told || not_ok missing_compiler_is_told \
        "$(tail -n 1 "$tmp/err")"

# ------------------------------------------------------------- examples --
# Those by a model in Python of the values, the doubling and the turns.
while read -r name model; do
    plan 0 "$dir/$name.plan"
    same "${name}_has_the_model's_digest" "$model" "$(member digest)"
done <<'X'
diamond af27610d42ea9855
fanin 6e1e564bf010a5f8
chain20 bbaa3fb06ca68d87
fanout8 16544e3b11623245
own 093503f70020d427
rotate2 093503f70020d427
rotate3 093503f70020d427
scaled 7e8e657e49fb7906
streams2 af27610d42ea9855
X

# The library's joins are what join.ptx is.
{
    awk '/kernel join.ptx/ { exit } { print }' "$dir/diamond.plan"
    echo 'stage join join left far -> out'
} > "$tmp/join.plan"
plan 0 "$tmp/join.plan"
same diamond_by_the_librarys_join "af27610d42ea9855" "$(member digest)"
sed '/^stage last/d; /^buffer out/d; s/-> all$/-> out/; s/^buffer all/buffer out/' \
    "$dir/joins.plan" > "$tmp/join.plan"
plan 0 "$tmp/join.plan"
same fanin_by_the_librarys_joins "6e1e564bf010a5f8" "$(member digest)"
sed 's/^buffer pair0/& fill reader/' "$dir/joins.plan" > "$tmp/join.plan"
plan 0 "$tmp/join.plan" --order sentinel --rounds 3 &&
    ok join_clears_its_first_input || not_ok join_clears_its_first_input ""
sed 's/^buffer pair1/& fill reader/' "$dir/joins.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan" --order sentinel
same join_does_not_clear_its_second_input 1 \
    "$(grep -c 'all clears its first input alone' "$tmp/json")"

# A join of data and scales: each input of its element, in tiles of its size.
sed 's/^\(buffer scales\).*/\1 tile-bytes 32/; s/128$/32/' \
    "$dir/scaled.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan"
same scales_are_ue8m0 1 \
    "$(grep -c "times: buffer 'scales' holds f32, kernel .* works on ue8m0" \
        "$tmp/json")"
sed 's/^\(buffer scales.*\) 32$/\1 64/; s/^\(buffer powers.*\) 128$/\1 256/' \
    "$dir/scaled.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan"
same a_scale_is_for_32_elements 1 \
    "$(grep -c "'scales' has tiles of 64 bytes; the second input's tile .* has 32" \
        "$tmp/json")"
sed 's/^stage times scale data scales/stage times scale scales data/' \
    "$dir/scaled.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan"
same scales_stand_behind_the_data 1 \
    "$(grep -c "times: buffer 'scales' holds ue8m0, kernel .* works on f32" \
        "$tmp/json")"
sed 's/^buffer data$/& tile-bytes 1024/; s/^buffer both$/& tile-bytes 1024/; s/^buffer in$/& tile-bytes 1024/' \
    "$dir/scaled.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan"
grep -q 'scaled_join has a scale for each 32 elements, in whole chunks: tiles of a multiple of 2048 bytes, not 1024' \
    "$tmp/err" && ok scales_of_a_tile_are_whole_chunks ||
    not_ok scales_of_a_tile_are_whole_chunks "$(tail -n 1 "$tmp/err")"
sed 's/^buffer scales.*/& fill reader/; /^stage again/d; /^buffer more/d
    s/consume more/consume both/' "$dir/scaled.plan" > "$tmp/join.plan"
plan 1 "$tmp/join.plan" --order sentinel
same scales_are_not_cleared_by_their_reader 1 \
    "$(grep -c 'times clears its first input alone' "$tmp/json")"

# A block that loops writes as many tiles as it reads, no more.
cat > "$tmp/loop.plan" <<'X'
buffer in
buffer a
buffer b
buffer out
stage make produce in -> a
stage some relay a -> b persistent grid 2
    read a table 4,3,2,1,0
stage all consume b -> out
X
plan 1 "$tmp/loop.plan"
same what_a_loop_does_not_write_is_not_waited_for 1 \
    "$(grep -c "tile 5 of buffer 'b', which no" "$tmp/json")"

# Engines leave the same bits.
for f in chain20 diamond moe joins scaled; do
    : > "$tmp/digests"
    for e in report bulk poll async; do
        for order in sentinel auto; do
            plan 0 "$dir/$f.plan" --engine $e --order $order ||
                not_ok "$f" "$e, $order"
            member digest >> "$tmp/digests"
        done
    done
    same "${f}_has_one_digest_by_all_engines" 8 \
        "$(sort "$tmp/digests" | uniq -c | awk '{ print $1 }')"
done

# What stands in the way of a stage or buffer has its place.
printf 'buffer a\nbuffer b\n  stage s kernel no.ptx e grid 16 block 32\nread a\n' \
    > "$tmp/no.plan"
plan 1 "$tmp/no.plan"
grep -q 'no.plan:3:9: .*no.ptx: No such file' "$tmp/err" &&
    ok file_of_a_kernel_has_its_place ||
    not_ok file_of_a_kernel_has_its_place "$(tail -n 1 "$tmp/err")"
printf 'buffer a\nbuffer b tile-bytes 1048576\nstage s produce a -> b\n' \
    > "$tmp/no.plan"
plan 1 "$tmp/no.plan"
grep -q 'no.plan:3:7: a tile of 1048576 bytes' "$tmp/err" &&
    ok tile_that_no_block_holds_has_its_place ||
    not_ok tile_that_no_block_holds_has_its_place "$(tail -n 1 "$tmp/err")"

# A producer's table says what it reads and what it writes.
cat > "$tmp/table.plan" <<'X'
default buffer tiles 4
buffer in
buffer mid
buffer out
stage make produce in -> mid table 2,0,3,1
stage use consume mid -> out
X
for order in stream sentinel; do
    plan 0 "$tmp/table.plan" --order $order
    same producer_follows_its_table_by_$order "4 0" \
        "$(member tiles) $(member unknown_tiles)"
done

# A kernel that stores the sentinel as data: whoever reads it does not look for
# sentinels, nor does who reads what a relay makes of it.
cat > "$tmp/minus.ptx" <<'X'
.version 7.0
.target sm_70
.address_size 64
.visible .entry minus(.param .u64 p_out)
{
    .reg .b32 %b, %t;
    .reg .b64 %out, %at;
    ld.param.u64 %out, [p_out];
    mov.u32 %b, %ctaid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %t, %b, 256, %t;
    mul.wide.u32 %at, %t, 4;
    add.u64 %out, %out, %at;
    mov.b32 %t, 0x80000000;
    st.global.b32 [%out], %t;
    ret;
}
X
cat > "$tmp/minus.plan" <<'X'
default buffer tiles 4 tile-bytes 1024
plan bound-ms 50
buffer a
buffer b
buffer out
stage minus kernel minus.ptx minus grid 4 block 256
    write a
    arg buffer a
stage turn relay a -> b
stage use consume b -> out
X
for order in stream pdl auto; do
    plan 0 "$tmp/minus.plan" --order $order &&
        ok sentinels_are_data_by_$order ||
        not_ok sentinels_are_data_by_$order "$(tail -n 1 "$tmp/err")"
done

# What was asked for is what is taken.
for order in stream pdl flag sentinel; do
    plan 0 "$dir/chain20.plan" --order $order
    same "${order}_is_taken_on_all_edges" 19 \
        "$(grep -c "\"taken\": \"$order\"" "$tmp/json")"
done
plan 0 "$dir/chain20.plan" --order stream
same stream_order_does_not_overlap 0 "$(grep -c '"overlap": true' "$tmp/json")"
plan 0 "$dir/chain20.plan" --order sentinel
# Which of them do is up to when the launches come.
[ "$(grep -c '"overlap": true' "$tmp/json")" -gt 0 ] &&
    ok sentinels_let_grids_overlap || not_ok sentinels_let_grids_overlap "none"
FGS_SIM_OVERLAP=0 plan 0 "$dir/chain20.plan" --order sentinel
same held_back_grids_do_not_overlap 0 \
    "$(grep -c '"overlap": true' "$tmp/json")"
plan 0 "$dir/streams2.plan" --order sentinel
grep -q '"form": ".*event' "$tmp/json" &&
    ok streams_meet_by_events || not_ok streams_meet_by_events "$(grep '"form"' "$tmp/json" | sort -u)"

# An order of one edge alone.
cat > "$tmp/mix.plan" <<'X'
buffer in
buffer a
buffer b
buffer out
stage make produce in -> a
stage pass relay a -> b order flag
stage use consume b -> out order stream
X
plan 0 "$tmp/mix.plan"
same edges_have_their_own_orders "flag stream " \
    "$(sed -n 's/.*"taken": "\(.*\)",/\1/p' "$tmp/json" | tr '\n' ' ')"

# Mixes: any order on any edge.
mixes=${FGS_PLAN_MIXES:-16}
cp "$dir/join.ptx" "$tmp"
first=$(plan 0 "$dir/diamond.plan"; member digest)
n=0 bad=
while [ $n -lt "$mixes" ]; do
    n=$((n + 1))
    awk -v seed=$n 'BEGIN {
        srand(seed)
        split("stream pdl flag sentinel", all, " ")
    }
    $1 == "read" { $0 = "    " $0 " order " all[1 + int(rand() * 4)] }
    { print }
    $1 == "stage" && $3 == "relay" {
        print "    read " $4 " order " all[1 + int(rand() * 4)] }' \
        "$dir/diamond.plan" > "$tmp/mix.plan"
    FGS_SIM_SEED=$n plan 0 "$tmp/mix.plan" &&
        [ "$(member digest)" = "$first" ] ||
        bad="$bad $n"
done
same "mixes_of_orders_have_one_digest" "" "$bad"

# Elements, tiles, rounds; another seed is other data.
for e in f16 e4m3 e2m1 x8 meta4 i16; do
    sed "s/^default.*/default buffer element $e tiles 5 tile-bytes 1536/" \
        "$dir/chain20.plan" > "$tmp/e.plan"
    plan 0 "$tmp/e.plan" && ok "chain_of_${e}_is_verified" ||
        not_ok "chain_of_${e}_is_verified" "see above"
done
first=$(plan 0 "$dir/chain20.plan"; member digest)
same rounds_do_not_change_the_result "$first" \
    "$(plan 0 "$dir/chain20.plan" --rounds 7; member digest)"
plan 0 "$dir/chain20.plan" --seed 2
[ "$(member digest)" != "$first" ] && ok another_seed_is_other_data ||
    not_ok another_seed_is_other_data "$first"
plan 0 "$dir/rotate3.plan" --rounds 1000 && ok thousand_rounds_rotate ||
    not_ok thousand_rounds_rotate "see above"
for fill in kernel memset self reader; do
    for slots in 1 2 3; do
        sed "s/^default.*/default buffer slots $slots/
            s/^buffer [ab]\$/& fill $fill/" \
            "$dir/rotate2.plan" > "$tmp/fill.plan"
        plan 0 "$tmp/fill.plan" --order sentinel &&
            ok "fill_${fill}_in_$slots" ||
            not_ok "fill_${fill}_in_$slots" "see above"
    done
done
end
