#!/bin/sh
# check_dropin.sh -- drop-in/libcuda.so.1 serves programs that know no fgsync
. tests/lib.sh
dir=$B/drop-in
if [ ! -f "$dir/libcuda.so.1" ]; then
    skip dropin "no shared library in this kind of build"
    end
fi
LD_LIBRARY_PATH=$dir:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
build()
{
    $CC -std=c11 -O1 -Wall -Wextra -Werror -o "$tmp/$1" "tests/clients/$1.c" \
        -L"$dir" $2
}
case_is linked_program_builds "-lcuda does not link" build linked -lcuda
said=$("$tmp/linked" 2>&1)
[ "$said" = "16 SMs" ] && ok linked_program_runs ||
    not_ok linked_program_runs "$said"
said=$(FGS_SIM_SMS=3 "$tmp/linked" 2>&1)
[ "$said" = "3 SMs" ] && ok knobs_reach_the_library ||
    not_ok knobs_reach_the_library "$said"

# Every name of the tables is a symbol, and by that name is found.
names=$(awk -v make=forms -f src/table/words.awk -f src/table/forms.awk \
    src/table/entry.def src/sim/absent.def | sed -n 's/^    { "\([^"@]*\)".*/\1/p'
    sed -n 's/^ABSENT(\([A-Za-z0-9_]*\)).*/\1/p' src/sim/absent.def)
case_is opening_program_builds "-ldl does not link" build opened -ldl
case_is all_names_are_found "a name is missing" "$tmp/opened" $names
twice=$(echo "$names" | tr ' ' '\n' | sort | uniq -d)
[ -z "$twice" ] && ok present_and_absent_are_apart ||
    not_ok present_and_absent_are_apart "$twice"
end
