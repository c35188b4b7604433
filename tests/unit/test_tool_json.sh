#!/bin/sh
# test_tool_json.sh -- what --json prints is JSON and has the stated members
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER
python=$(command -v python3)

# keys FILE: the outer keys, in order
keys()
{
    sed -n 's/^  "\([a-z_]*\)": .*/\1/p' "$1" | tr '\n' ' '
}
# valid NAME CODE ARGUMENT...
valid()
{
    name=$1 code=$2
    shift 2
    "$FGS" "$@" > "$tmp/json" 2> "$tmp/err"
    got=$?
    [ $got = "$code" ] || not_ok "$name" "exit $got in place of $code"
    if [ -z "$python" ]; then
        skip "$name" "no python3 to read JSON"
    elif "$python" -c 'import json, sys
json.load(open(sys.argv[1], encoding="utf-8"))' "$tmp/json" 2> "$tmp/why"; then
        ok "$name"
    else
        not_ok "$name" "$(tail -n 1 "$tmp/why")"
    fi
}
has()
{
    [ "$(keys "$tmp/json")" = "$2 " ] && ok "$1" ||
        not_ok "$1" "$(keys "$tmp/json")"
}

run="provider device cc engine ptx_version ptx_target assembled_by language \
element mechanism tiles tile_bytes threads rounds ok mismatches digest reissues order \
pdl overlap elapsed_ns compiled cached"
valid run_is_json 0 run --json
has run_has_its_members "$run"
grep -q '"digest": "[0-9a-f]\{16\}"' "$tmp/json" && ok digest_has_16_digits ||
    not_ok digest_has_16_digits "$(grep digest "$tmp/json")"
valid failed_run_is_json 1 run --json --inject leak:17:3 --bound-ms 100
has failed_run_has_its_members "$run error context_alive"
inner=$(sed -n 's/^    "\([a-z_]*\)": .*/\1/p' "$tmp/json" | tr '\n' ' ')
[ "$inner" = "name text kernel buffer tile chunk bits tries elapsed_ns " ] &&
    ok error_has_its_members || not_ok error_has_its_members "$inner"
FGS_LIBCUDA='/no/"quoted"\name' valid missing_device_is_json 77 \
    run --json --provider cuda
has missing_device_has_its_members "$run error context_alive"
valid device_is_json 0 device --json
valid rules_are_json 0 sass --rules --json
valid retry_is_json 0 bench retry --json --provider sim --repeat 1 --loops 20
has retry_has_its_members "device times_are_virtual language rows"
valid handoff_is_json 0 bench handoff --json --pairs 2 --rounds 2
has handoff_has_its_members "provider device times_are_virtual sms tile_bytes \
rounds spread_clocks clock_mhz rows"
valid launch_is_json 0 bench launch --json --repeat 1 --stages 4 --build 9
has launch_has_its_members "provider device stages rounds rows build_stages \
build_ns build_error"
valid chain_is_json 0 bench chain --json --repeat 1 --stages 2 --work-ns 500 \
    --spread-ns 500
has chain_has_its_members "provider device stages wave shared_bytes work_ns \
spread_ns rows"
valid ptx_list_is_json 0 ptx --json
valid ptx_text_is_json 0 ptx --json scale_produce
printf 'bad \t"text" \\ \001\n' > "$tmp/bad.ptx"
printf '.version 9.4\n\303\050\n' > "$tmp/utf.ptx"
valid check_is_json 1 check --json "$tmp/bad.ptx" "$tmp/utf.ptx" "$tmp/none"
"$FGS" ptx scale_produce > "$tmp/good.ptx" 2> /dev/null
valid good_check_is_json 0 check --json "$tmp/good.ptx"
if [ -x "$TC/bin/ptxas" ]; then
    PATH=$TC/bin:$PATH valid sass_is_json 0 sass --json scale_produce
    has sass_has_its_members "target assembled_by disassembled_by sass marks"
    PATH=$TC/bin:$PATH valid checked_sass_is_json 0 \
        sass --check --json scale_produce
    has checked_sass_has_its_members "kernels checked broken twins twins_left_out \
without_twin"
    sed 's/st\.relaxed\.gpu\.global\.b128/st.global.b128/' "$tmp/good.ptx" \
        > "$tmp/weak.ptx"
    PATH=$TC/bin:$PATH valid broken_rule_is_json 1 \
        sass --check --json "$tmp/weak.ptx"
    grep -q '"rule": "chunk_whole"' "$tmp/json" && ok broken_rule_is_named ||
        not_ok broken_rule_is_named "$(grep rule "$tmp/json")"
else
    skip sass_is_json "no ptxas; make toolchain"
fi
# Every symbol that the drop-in library exports is in one of the two lists.
valid api_is_json 0 device --api --json
has api_has_its_members "present absent"
"$FGS" device --api > "$tmp/api" 2> "$tmp/err"
if [ -f "$B/drop-in/libcuda.so.1" ]; then
    nm -D --defined-only "$B/drop-in/libcuda.so.1" |
        sed -n 's/.* T \(cu[A-Z].*\)/\1/p' | sort > "$tmp/exports"
    sed 's/^[a-z]* *//' "$tmp/api" | sort > "$tmp/listed"
    cmp -s "$tmp/exports" "$tmp/listed" && ok api_lists_what_is_exported ||
        not_ok api_lists_what_is_exported \
            "$(diff "$tmp/exports" "$tmp/listed" | head -n 3)"
else
    skip api_lists_what_is_exported "no drop-in library in this build"
fi

end
