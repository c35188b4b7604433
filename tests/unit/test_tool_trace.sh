#!/bin/sh
# test_tool_trace.sh -- fgs trace: rows of blocks, events, pictures
. tests/lib.sh
python=$(command -v python3)

# Two grids of two blocks on two SMs.  On SM 0 the second begins while the
# first one runs; on SM 1 it begins as the first one ends.
cat > "$tmp/hand.rows" <<'X'
fgs trace rows 1
device software <device> "A&B"
stage make fgs_scale_produce 2
1000 0 2000 0 0
1000 0 3000 1 0
stage use<&>" fgs_report_consume 2
1500 1800 2500 0 3
3000 3000 4000 1 1
edge 0 1 mid sentinel
X
same()
{
    [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$3 in place of $2"
}
has()
{
    grep -q -F -e "$3" "$2" && ok "$1" || not_ok "$1" "no $3"
}
trace()
{
    "$FGS" trace "$@" > "$tmp/out" 2> "$tmp/err" && return 0
    not_ok "fgs trace $*" "$(head -n 1 "$tmp/err")"
}

trace "$tmp/hand.rows" -o "$tmp/a.rows"
cmp -s "$tmp/hand.rows" "$tmp/a.rows" && ok rows_read_back_the_same ||
    not_ok rows_read_back_the_same "$(diff "$tmp/hand.rows" "$tmp/a.rows")"
same blocks_and_sms_are_counted "4 of 2 grids on 2 SMs" \
    "$(sed -n 's/^blocks *//p' "$tmp/out")"
same elapsed_is_first_start_to_last_end "3.000 us" \
    "$(sed -n 's/^elapsed *//p' "$tmp/out")"
same overlap_is_of_an_edge \
    'make -> use<&>" over mid, sentinel: overlap 1.500 us, 1 early block' \
    "$(sed -n 's/^edge *//p' "$tmp/out")"
trace "$tmp/hand.rows" -o "$tmp/a.rows" --json
has json_has_the_overlap "$tmp/out" '"overlap_ns": 1500'
has json_has_the_early_blocks "$tmp/out" '"early_blocks": 1'
sed 's/^1500 1800/3000 3000/; s/^3000 3000 2500/3000 3000 4500/' \
    "$tmp/hand.rows" > "$tmp/late.rows"
trace "$tmp/late.rows" -o "$tmp/a.rows"
same no_overlap_is_said \
    'make -> use<&>" over mid, sentinel: no overlap' \
    "$(sed -n 's/^edge *//p' "$tmp/out")"

# Events: by hand from the rows above.
trace "$tmp/hand.rows" -o "$tmp/a.json"
has block_is_a_slice_of_its_sm "$tmp/a.json" '{"ph":"X","name":"make",'\
'"cat":"block","pid":1,"tid":1,"ts":0.000,"dur":1.000,"args":{"entry":'\
'"fgs_scale_produce","block":0,"reissues":0,"wait_ns":0}}'
has second_block_of_an_sm_has_its_own_thread "$tmp/a.json" \
    '"name":"use<&>\"","cat":"block","pid":1,"tid":2,"ts":0.500,"dur":1.000,'\
'"args":{"entry":"fgs_report_consume","block":0,"reissues":2,"wait_ns":300}}'
has waiting_is_a_slice "$tmp/a.json" \
    '"name":"wait","cat":"phase","pid":1,"tid":2,"ts":0.500,"dur":0.300}'
has working_is_a_slice "$tmp/a.json" \
    '"name":"work","cat":"phase","pid":1,"tid":2,"ts":0.800,"dur":0.700}'
has block_after_a_block_keeps_the_thread "$tmp/a.json" \
    '"cat":"block","pid":1,"tid":1025,"ts":2.000,"dur":1.000'
has second_thread_of_an_sm_is_named "$tmp/a.json" '"name":"SM 0.1"'
grep -q 'SM 1\.1' "$tmp/a.json" && not_ok no_thread_is_idle "SM 1.1" ||
    ok no_thread_is_idle

# Pictures.
trace "$tmp/hand.rows" -o "$tmp/a.svg"
trace "$tmp/hand.rows" -o "$tmp/b.svg"
cmp -s "$tmp/a.svg" "$tmp/b.svg" && ok picture_is_always_the_same ||
    not_ok picture_is_always_the_same "$(cmp "$tmp/a.svg" "$tmp/b.svg")"
has names_are_escaped "$tmp/a.svg" 'use&lt;&amp;&gt;&quot;'
has device_is_escaped "$tmp/a.svg" 'software &lt;device&gt; &quot;A&amp;B&quot;'
has overlap_is_shaded "$tmp/a.svg" 'before the end of make: 1.500 us</title>'
has waiting_is_hatched "$tmp/a.svg" 'fill="url(#w1)"'
same each_waiting_part_is_hatched_once 1 \
    "$(grep -c 'fill="url(#w' "$tmp/a.svg")"
has block_says_what_it_did "$tmp/a.svg" \
    'block 0 on SM 0: 0.500 us to 1.500 us, waited 0.300 us, 2 re-issues'
# 1080 pixels are 3000 ns: the waiting part is 300 of them from 500 on, in the
# second row of SM 0.
has waiting_part_has_its_place "$tmp/a.svg" \
    '<rect x="290.00" y="122.00" width="108.00"'
grep -q -E '(href|src|@import|<script|<style)' "$tmp/a.svg" &&
    not_ok picture_needs_no_other_file "it names one" ||
    ok picture_needs_no_other_file
trace "$tmp/late.rows" -o "$tmp/c.svg"
has no_overlap_is_written "$tmp/c.svg" 'no overlap on any of 1 edges'
if [ -n "$python" ]; then
    case_is picture_is_xml "it is none" "$python" -c \
        'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$tmp/a.svg"
    # Slices of a thread nest or lie apart, as Perfetto wants them.
    case_is slices_nest "they cross" "$python" - "$tmp/a.json" <<'X'
import json, sys
threads = {}
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "X":
        a = round(e["ts"] * 1000)
        threads.setdefault(e["tid"], []).append((a, a + round(e["dur"] * 1000)))
for s in threads.values():
    for a in s:
        for b in s:
            if a[0] < b[0] < a[1] < b[1]:
                sys.exit("%s %s" % (a, b))
X
else
    skip picture_is_xml "no python3"
fi

# What is no such file, or cannot be written.
wrong()
{
    "$FGS" trace "$tmp/x.rows" -o "$tmp/x.svg" > "$tmp/out" 2> "$tmp/err"
    got=$?
    [ $got = 1 ] && grep -q -e "x.rows$2" "$tmp/err" && ok "$1" ||
        not_ok "$1" "exit $got, $(head -n 1 "$tmp/err")"
}
rows()
{
    name=$1 want=$2
    shift 2
    { echo 'fgs trace rows 1'; printf '%s\n' "$@"; } > "$tmp/x.rows"
    wrong "$name" "$want"
}
rows unknown_line_is_refused ':2: is neither device' 'stge a b 1'
rows stage_has_its_count ':2: is no stage' 'stage a b'
rows stage_has_its_rows ':3: rows of the stage are missing' 'stage a b 2' \
    '1 0 2 0 0'
rows row_has_five_numbers ':3: is no row' 'stage a b 1' '1 0 2 0'
rows row_has_five_numbers_alone ':3: is no row' 'stage a b 1' '1 0 2 0 0 0'
rows row_has_numbers ':3: is no row' 'stage a b 1' '1 0 x 0 0'
rows row_ends_after_its_start ':3: its end is before' 'stage a b 1' '2 0 1 0 0'
rows row_is_ready_within ':3: its tile was ready' 'stage a b 1' '2 4 3 0 0'
rows edge_is_of_stages_above ':4: an edge of a stage' 'stage a b 1' \
    '1 0 2 0 0' 'edge 0 1 m flag'
rows edge_has_four_words ':4: is no edge' 'stage a b 1' '1 0 2 0 0' \
    'edge 0 0 m'
rows empty_trace_is_refused ':2: no stage stands' 'device x'
usage()
{
    name=$1 code=$2 want=$3
    shift 3
    "$FGS" trace "$@" > "$tmp/out" 2> "$tmp/err"
    got=$?
    [ $got = "$code" ] && grep -q -e "$want" "$tmp/err" && ok "$name" ||
        not_ok "$name" "exit $got, $(head -n 1 "$tmp/err")"
}
usage file_is_needed 2 'one FILE is expected' -o "$tmp/x.svg"
usage output_is_needed 2 '-o OUT is missing' "$tmp/hand.rows"
usage output_has_a_known_end 2 '"x.png" ends in none of .svg, .json' \
    "$tmp/hand.rows" -o x.png
usage folder_is_there 1 'no/x.svg: No such file' "$tmp/hand.rows" -o \
    "$tmp/no/x.svg"
usage missing_rows_are_named 1 'none.rows: No such file' "$tmp/none.rows" -o \
    "$tmp/x.svg"
[ ! -w /dev/full ] || {
    ln -s /dev/full "$tmp/full.svg"
    usage full_disk_is_told 1 'full.svg: ' "$tmp/hand.rows" -o "$tmp/full.svg"
}
end
