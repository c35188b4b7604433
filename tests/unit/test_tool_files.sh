#!/bin/sh
# test_tool_files.sh -- files that fgs run reads and writes
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

# npy FILE MAJOR DICT [FILE OF DATA]: a NumPy file of format MAJOR.0; bytes
# are printed in octal, header padded with blanks as the format wants
npy()
{
    len=118
    [ "$2" = 1 ] || len=116
    {
        if [ "$2" = 1 ]; then
            printf '\223NUMPY\001\000\166\000'
        else
            printf "\\223NUMPY\\00$2\\000\\164\\000\\000\\000"
        fi
        printf "%-$((len - 1))s\n" "$3"
        [ -z "$4" ] || cat "$4"
    } > "$1"
}
dict()
{
    printf "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" "$1" "$2" "$3"
}

# run NAME ARGUMENT...: must verify
good()
{
    name=$1
    shift
    "$FGS" run "$@" > "$tmp/out" 2> "$tmp/err" && ok "$name" ||
        not_ok "$name" "$(tail -n 1 "$tmp/err")"
}
# bad NAME PATTERN FILE
bad()
{
    "$FGS" run --input "$3" > "$tmp/out" 2> "$tmp/err"
    code=$?
    if [ $code != 1 ]; then
        not_ok "$1" "exit $code in place of 1"
    elif ! grep -q -- "$2" "$tmp/err"; then
        not_ok "$1" "no \"$2\" in: $(tail -n 1 "$tmp/err")"
    else
        ok "$1"
    fi
}
same()
{
    cmp "$2" "$3" > "$tmp/cmp" 2>&1 && ok "$1" || not_ok "$1" "$(cat "$tmp/cmp")"
}

# Two tiles by hand: element i of tile 0 is 1.0, but the first is -0.0 and the
# last 3.0; tile 1 is the NaN 0x7fc12345.  The result: tile 0 begins with 6.0
# (0x40c00000), is 2.0 (0x40000000), ends with +0.0; tile 1 is 0x7fffffff.
repeat()
{
    awk -v n="$1" -v w="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", w }'
}
printf "$(printf '\\000\\000\\000\\200'; repeat 1022 '\\000\\000\\200\\077'
    printf '\\000\\000\\100\\100'; repeat 1024 '\\105\\043\\301\\177')" \
    > "$tmp/in.f32"
printf "$(printf '\\000\\000\\300\\100'; repeat 1022 '\\000\\000\\000\\100'
    printf '\\000\\000\\000\\000'; repeat 1024 '\\377\\377\\377\\177')" \
    > "$tmp/want.f32"

good raw_file_is_read --input "$tmp/in.f32" --output "$tmp/out.f32"
same raw_result_is_right "$tmp/want.f32" "$tmp/out.f32"
grep -q '2 tiles' "$tmp/out" && ok tiles_come_from_the_file ||
    not_ok tiles_come_from_the_file "$(head -n 1 "$tmp/out")"

npy "$tmp/want.npy" 1 "$(dict '<f4' False '(2, 1024)')" "$tmp/want.f32"
for v in 1 2 3; do
    for shape in '(2048,)' '(2, 1024)' '(2, 4, 256, 1)'; do
        npy "$tmp/in.npy" $v "$(dict '<f4' False "$shape")" "$tmp/in.f32"
        good "npy_${v}_of_${shape}_is_read" --input "$tmp/in.npy" \
            --output "$tmp/out.npy"
        same "npy_${v}_of_${shape}_is_right" "$tmp/want.npy" "$tmp/out.npy"
    done
done
mv "$tmp/in.npy" "$tmp/in.dat"
good npy_is_known_by_its_first_bytes --input "$tmp/in.dat" \
    --output "$tmp/out.f32"
same npy_under_another_name_is_right "$tmp/want.f32" "$tmp/out.f32"
cat "$tmp/in.f32" | "$FGS" run --input /dev/stdin --output "$tmp/out.f32" \
    > /dev/null 2>&1
same pipe_is_read "$tmp/want.f32" "$tmp/out.f32"

# What must be refused, with the rule.
f=$tmp/bad.npy
npy "$f" 1 "$(dict '<f8' False '(1024,)')" "$tmp/in.f32"
bad float64_is_refused "float32 ('<f4')" "$f"
npy "$f" 1 "$(dict '>f4' False '(2048,)')" "$tmp/in.f32"
bad big_endian_is_refused "float32 ('<f4')" "$f"
npy "$f" 1 "$(dict '<f4' True '(2, 1024)')" "$tmp/in.f32"
bad fortran_order_is_refused "C order" "$f"
npy "$f" 1 "$(dict '<f4' False '(2047,)')" "$tmp/in.f32"
bad longer_data_is_refused "longer than its shape" "$f"
npy "$f" 1 "$(dict '<f4' False '(3, 1024)')" "$tmp/in.f32"
bad shorter_data_is_refused "shorter than its shape" "$f"
npy "$f" 1 "$(dict '<f4' False '(4294967296, 4294967296)')" "$tmp/in.f32"
bad shape_past_64_bits_is_refused "shape .* is not valid" "$f"
npy "$f" 1 "$(dict '<f4' False '(2, x)')" "$tmp/in.f32"
bad shape_with_a_word_is_refused "shape .* is not valid" "$f"
npy "$f" 1 "$(dict '<f4' False '(2048')" "$tmp/in.f32"
bad shape_without_an_end_is_refused "shape .* is not valid" "$f"
npy "$f" 1 "{'descr': '<f4', 'shape': (2048,), }" "$tmp/in.f32"
bad header_without_order_is_refused "C order" "$f"
npy "$f" 4 "$(dict '<f4' False '(2048,)')" "$tmp/in.f32"
bad format_4_is_refused "none of 1, 2, 3" "$f"
npy "$f" 1 "$(dict '<f4' False '()')"
printf '\000\000\000\000' >> "$f"
bad scalar_is_refused "1 elements; a tile is 1024" "$f"
npy "$f" 1 "$(dict '<f4' False '(0, 1024)')"
bad empty_array_is_refused "0 elements" "$f"
for n in 6 9 11 60; do
    npy "$tmp/whole" 1 "$(dict '<f4' False '(2048,)')" "$tmp/in.f32"
    head -c $n "$tmp/whole" > "$f"
    bad "header_cut_at_${n}_is_refused" "cut off" "$f"
done
cp "$tmp/in.f32" "$f"
bad name_without_magic_is_refused "does not start as a NumPy file" "$f"
f=$tmp/bad.f32
head -c 4097 /dev/zero > "$f"
bad size_of_4097_is_refused "no multiple of 4" "$f"
head -c 4100 /dev/zero > "$f"
bad elements_past_a_tile_are_refused "1025 elements; a tile is 1024" "$f"
: > "$f"
bad empty_file_is_refused "0 elements" "$f"
bad missing_file_is_refused "No such file" "$tmp/none"
bad folder_is_refused "Is a directory" "$tmp"

"$FGS" run --input "$tmp/in.f32" --tiles 3 > "$tmp/out" 2> "$tmp/err"
[ $? = 2 ] && grep -q -- '--tiles: 3 was given and .* holds 2' "$tmp/err" &&
    ok tiles_that_differ_from_the_file_are_refused ||
    not_ok tiles_that_differ_from_the_file_are_refused "$(cat "$tmp/err")"
end
