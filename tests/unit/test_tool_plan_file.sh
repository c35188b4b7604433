#!/bin/sh
# test_tool_plan_file.sh -- plan files: what is read, what is refused and where
. tests/lib.sh

# bad NAME PATTERN: the file on standard input is refused with that alone
bad()
{
    sed '1{/^$/d;}' > "$tmp/x.plan"
    "$FGS" plan expand "$tmp/x.plan" > "$tmp/out" 2> "$tmp/err"
    got=$?
    if [ $got != 1 ]; then
        not_ok "$1" "exit $got: $(head -n 1 "$tmp/out")"
    elif ! grep -q -e "x.plan:$2" "$tmp/err"; then
        not_ok "$1" "no \"$2\" in: $(head -n 1 "$tmp/err")"
    elif [ "$(wc -l < "$tmp/err")" != "${3:-1}" ]; then
        not_ok "$1" "$(wc -l < "$tmp/err") errors: $(tail -n 1 "$tmp/err")"
    else
        ok "$1"
    fi
}
# line NAME PATTERN LINE: that line below two buffers and a stage
line()
{
    printf '%s\n' 'buffer a' 'buffer b' 'stage s produce a -> b' "$3" |
        bad "$1" "4:$2"
}
# good NAME WANT: the file on standard input expands to lines with WANT
good()
{
    cat > "$tmp/x.plan"
    "$FGS" plan expand "$tmp/x.plan" > "$tmp/out" 2> "$tmp/err"
    got=$?
    if [ $got != 0 ]; then
        not_ok "$1" "exit $got: $(head -n 1 "$tmp/err")"
    elif ! grep -q -e "$2" "$tmp/out"; then
        not_ok "$1" "no \"$2\" in: $(tail -n 2 "$tmp/out")"
    else
        ok "$1"
    fi
}

# ------------------------------------------------------------ statements --
line statement_is_unknown '1: "stge" is no statement' 'stge x'
line statement_has_its_column '3: "stge" is no statement' '  stge x'
line buffer_needs_a_name '7: buffer: its name is missing' buffer
line stage_needs_a_name '6: stage: its name is missing' stage
line name_is_a_name '8: buffer: "a+b" is no name' 'buffer a+b'
line name_begins_with_a_letter '8: buffer: "->" is no name' 'buffer ->'
line name_has_31_letters '8: buffer: a name has 31 letters at most' \
    'buffer a123456789b123456789c123456789d1'
line buffer_twice_names_the_first \
    '8: buffer "b": is there already, from line 2' 'buffer b'
line stage_twice_names_the_first \
    '7: stage "s": is there already, from line 3' 'stage s relay b -> a'
line role_is_unknown '9: stage "t": "realy" is no role' 'stage t realy b -> a'
line role_is_missing '8: stage "t": "" is no role' 'stage t'
line input_is_unknown '15: "x": no buffer above' 'stage t relay x -> a'
line output_is_unknown '20: "x": no buffer above' 'stage t relay b -> x'
line relay_reads_one '17: relay: reads 1 buffer, then' 'stage t relay b a -> a'
line join_reads_two '16: join: reads 2 buffers, and 1 stands' \
    'stage t join b -> a'
line join_reads_not_three '18: join: reads 2 buffers, then' \
    'stage t join b a b -> a'
line relay_reads_something '14: relay: reads 1 buffer, and 0 stand here' \
    'stage t relay'
line output_is_missing '16: relay: "-> BUFFER" is missing' 'stage t relay b'
line buffer_behind_the_arrow_is_missing '19: relay: "-> BUFFER" is missing' \
    'stage t relay b ->'
line kernel_needs_file_and_entry '21: kernel: FILE and ENTRY' \
    'stage t kernel x.ptx'
line default_is_of_two '9: default: "plan" is neither' 'default plan order pdl'
line read_needs_a_buffer '5: read: its buffer is missing' read
line read_is_of_a_buffer_that_is_read '6: stage "s": does not read "b"' \
    'read b order pdl'
line write_is_of_a_buffer_that_is_written '7: stage "s": does not write "a"' \
    'write a'
line arg_is_of_kernels_of_yours '1: arg: stage "s" is the library' 'arg round'
bad read_needs_a_stage '2:1: read: no stage stands above' <<'X'
buffer a
read a
X
bad no_stage_is_no_plan '2:1: no stage stands in this file' <<'X'
buffer a
X

# --------------------------------------------------------------- options --
line option_is_unknown '10: buffer: "tile" is no option' 'buffer c tile 3'
line plan_option_is_unknown '6: plan: "tiles" is no option' 'plan tiles 3'
line access_option_is_unknown '8: read/write: "grid" is no option' \
    'read a grid 3'
line option_is_of_the_scope '24: stage: "slots" is no option' \
    'stage t consume b -> a slots 2'
line value_is_missing '15: tiles: its value is missing' 'buffer c tiles'
line comment_ends_the_line '16: tiles: its value is missing' \
    'buffer c tiles # 3'
line option_is_given_twice '18: tiles: is given twice' \
    'buffer c tiles 1 tiles 2'
line number_is_a_number '16: tiles: "x" is not a whole number' \
    'buffer c tiles x'
line number_has_a_least '16: tiles: "0" is too small (1 to' 'buffer c tiles 0'
line number_has_a_most '16: slots: "65" is too large (1 to 64)' \
    'buffer c slots 65'
line tile_is_a_multiple_of_16 '8: "c": tile-bytes is no multiple of 16' \
    'buffer c tile-bytes 40'
line fill_is_a_word '15: fill: "full" is none of auto|kernel|' \
    'buffer c fill full'
line order_is_a_word '30: order: "event" is none of auto|stream|' \
    'stage t consume b -> a order event'
line plan_order_is_a_word '12: order: "event" is none' 'plan order event'
line element_is_an_element '18: element: "f33" is no element type' \
    'buffer c element f33'
line engine_is_an_engine '31: engine: "bluk" is no engine' \
    'stage t consume b -> a engine bluk'
line grid_is_a_number '29: grid: "8y" is not a whole number (8, 8x4' \
    'stage t consume b -> a grid 8y'
line grid_has_numbers '29: grid: "8x" needs a number' \
    'stage t consume b -> a grid 8x'
line grid_has_three_parts '29: grid: "8x4x2x1" has more than three' \
    'stage t consume b -> a grid 8x4x2x1'
line block_has_a_most '30: block: "1x2048" is too large' \
    'stage t consume b -> a block 1x2048'
line priority_is_a_number '33: priority: "--1" is not a whole' \
    'stage t consume b -> a priority --1'
line tiles_are_three '33: tiles: COUNT: "" needs a number' \
    'stage t consume b -> a tiles 0 1'
line tiles_count_is_positive '34: tiles: COUNT: "0" is too small' \
    'stage t consume b -> a tiles 0 1 0'
line table_has_an_entry '30: table: has no entry' \
    'stage t consume b -> a table ,'
line table_is_a_file '30: table: .*/no.such: No such file' \
    'stage t consume b -> a table no.such'
line table_or_tiles '17: "t": table and tiles exclude each other' \
    'stage t consume b -> a table 1 tiles 0 1 1'
line waits_is_of_yours '7: "t": waits is for kernels of yours' \
    'stage t consume b -> a waits last'
line can_is_of_yours '6: "s": can is for kernels of yours' 'read a can flag'
line can_is_a_list_of_orders '12: can: "flog" is none of auto|stream|' \
    'read a can pdl,flog'
line engine_is_of_the_library '7: "t": engine is for stages of the library' \
    'stage t kernel x.ptx k grid 1 block 1 engine poll
read a'
line kernel_touches_something '7: "t": no line says what it reads' \
    'stage t kernel x.ptx k grid 1 block 1'
line kernel_needs_its_shape '7: "t": a kernel of yours needs grid and block' \
    'stage t kernel x.ptx k grid 1
read a'
printf '1 2\n3x\n' > "$tmp/table"
line table_entry_is_a_number '30: table: entry 2, "3x", is not a whole' \
    'stage t consume b -> a table table'

# ------------------------------------------------------------ parameters --
arg()
{
    printf '%s\n' 'buffer a' 'stage s kernel x k grid 1 block 1' ' read a' \
        " arg $3" | bad "$1" "4:$2"
}
arg arg_has_a_kind '6: arg: "" is no kind' ''
arg arg_kind_is_unknown '6: arg: "ptr" is no kind' 'ptr a'
arg arg_needs_its_buffer '12: arg buffer: its buffer is missing' buffer
arg arg_buffer_is_unknown '13: "x": no buffer above' 'buffer x'
arg arg_needs_its_value '9: arg u32: its value is missing' u32
arg arg_value_fits '10: u32: "4294967296" is too large' 'u32 4294967296'
arg arg_value_is_a_number '10: f32: "one" is no number' 'f32 one'
arg arg_ends '12: arg: nothing is expected' 'round 1'

# --------------------------------------------------------------- repeats --
line repeat_needs_a_variable '8: repeat: a variable of small' 'repeat 1 3'
line repeat_needs_a_range '11: repeat: FROM and TO.*needs a number' \
    'repeat i 1'
line repeat_has_numbers '10: repeat: FROM and TO.*"x" is not' 'repeat i x 3'
line repeat_goes_up '8: repeat: FROM is above TO' 'repeat i 3 1'
line repeat_ends_its_line '14: repeat: nothing is expected' 'repeat i 1 3 5'
line repeat_needs_its_end '1: repeat: its end is missing' 'repeat i 1 3'
line end_needs_a_repeat '1: end: no repeat is open' end
line end_ends_its_line '5: end: nothing is expected' 'end repeat'
{
    printf 'repeat i 0 100000\nplan\nend\n'
} | bad repeat_is_bounded '3:4: the repeats come to more than 20000'
bad repeats_are_not_too_deep '5:3: repeat: more than 4 in one' <<'X'
repeat a 1 2
repeat b 1 2
repeat c 1 2
repeat d 1 2
  repeat e 1 2
X
line variable_is_known '8: "c{k}": what stands in { } is no number, and' \
    'buffer c{k}'
line brace_is_closed '8: "c{1+": what stands in { } lacks its }' 'buffer c{1+'
line operand_is_there '8: "c{1+}": what stands in { } is no number' \
    'buffer c{1+}'
line division_by_0 '8: "c{1%0}": what stands in { } divides by 0' \
    'buffer c{1%0}'
line value_is_not_negative '8: "c{0-1}": what stands in { } is below 0' \
    'buffer c{0-1}'
bad many_errors_are_told '3:16: tiles: "0" is too small' 3 <<'X'
buffer a tiles y
buffer 7
buffer c tiles 0
stage s produce a -> c
X
{
    echo 'buffer a'
    echo 'repeat i 0 100'
    echo 'buffer b{i} tiles 0'
    echo end
} | bad errors_are_bounded '3:19: tiles: "0" is too small' 21
printf 'buffer a\0\n' > "$tmp/nul.plan"
case_is nul_is_refused "no word of it" sh -c "'$FGS' plan expand \
    '$tmp/nul.plan' 2>&1 | grep -q 'nul.plan: is no text'"
case_is missing_file_is_named "no word of it" sh -c "'$FGS' plan expand \
    '$tmp/none' 2>&1 | grep -q 'none: No such file'"
i=0
while [ $i -lt 70 ]; do printf 'plan '; i=$((i + 1)); done |
    bad words_of_a_line_are_bounded '1:321: a line has 64 words at most'

# ------------------------------------------------------------------ good --
good defaults_are_written_out \
    '^buffer a tiles 16 tile-bytes 4096 element f32 slots 1 fill auto$' <<'X'
buffer a
buffer b
stage s produce a -> b
X
good producer_input_has_the_elements_of_its_output \
    '^buffer a tiles 16 tile-bytes 2048 element f32 ' <<'X'
default buffer element e4m3 tile-bytes 512
buffer a
buffer b
stage s produce a -> b
X
good loops_reckon_from_left_to_right '^stage s7 relay b1 -> b9$' <<'X'
repeat i 1 3
    repeat k 0 2
        buffer b{i*3-3+k+1}
    end
end
repeat j 7 7   # a comment
    stage s{j} relay b{j+1%7} -> b{j+2}
end
X
good repeats_do_what_they_enclose '^stage s5 relay b4 -> b5$' <<'X'
buffer b0
repeat i 1 5
    buffer b{i}
    stage s{i} relay b{i-1} -> b{i}
end
X
good carriage_returns_are_blanks '^stage s produce a -> b' <<X
buffer a$(printf '\r')
buffer b$(printf '\r')
stage s produce a -> b$(printf '\r')
X
printf '4, 0\n2\n' > "$tmp/table"
good tables_come_from_files '^    read b table 4,0,2$' <<'X'
buffer a
buffer b
buffer c tiles 3
stage s produce a -> b
stage t consume b -> c table table
X
good reads_have_their_own_orders '^    read b order stream$' <<'X'
buffer a
buffer b
buffer c
stage s join a b -> c order flag
    read b order stream
X
good kernels_keep_their_parameters '^    arg f32 0.5$' <<'X'
buffer a
stage s kernel x.ptx entry grid 2x3 block 64 priority -2 waits last
    write a can flag,sentinel tiles 0 2 2
    arg buffer a
    arg f32 0.5
    arg u64 18446744073709551615
    arg round
X
for f in tools/examples/plans/*.plan; do
    n=$(basename "$f" .plan)
    "$FGS" plan expand "$f" > "$tmp/1.plan" 2> "$tmp/err" &&
        "$FGS" plan expand "$tmp/1.plan" > "$tmp/2.plan" 2>> "$tmp/err" &&
        cmp -s "$tmp/1.plan" "$tmp/2.plan" && ok "${n}_reads_back_the_same" ||
        not_ok "${n}_reads_back_the_same" "$(head -n 1 "$tmp/err")"
done
end
