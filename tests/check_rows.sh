#!/bin/sh
# check_rows.sh -- a row more is an element type more, and a mechanism
#
# A copy of the tables gets rows for e3m4 (sign, 3 exponent bits, 4 of mantissa,
# bias 3, no infinity) and for a mechanism that no target has.  The copy's
# producer text then runs in place of i8's, whose consumer looks for the same
# sentinel, and leaves what the format says.
. tests/lib.sh

copy=$tmp/tree
mkdir -p "$copy/core"
cp -r include src/base src/table src/text "$copy"
cp src/core/ref*.[ch] "$copy/core"

row='ELEM(E3M4, "e3m4", 8, 0x80u, 0x80808080u, W8, NEG0_TO_POS0, MINI, 1, 3, 4, 3, 0x7fu, 0x7fu)'
odd='ELEM(Q8, "q8", 8, 0x7Fu, 0x7F7F7F7Fu, W8_7F, NEVER_SENTINEL, UINT, 0, 0, 8, 0, 0x7Eu, 0)'
mech='MECH(W8_7F, "validity::per_16bytes::7f", 0x7Fu, 8, SAMPLED)'
echo "$row
$odd" >> "$copy/table/element.def"
echo "$mech" >> "$copy/table/mechanism.def"
sed -i 's/^    FGS_ELEMENT_COUNT/    FGS_ELEMENT_E3M4, FGS_ELEMENT_Q8,\n&/
    s/^    FGS_MECHANISM_COUNT/    FGS_MECHANISM_W8_7F,\n&/' \
    "$copy/include/fgs/fgs.h"

cat > "$copy/main.c" << 'END'
#include <fgs/fgs.h>
#include <stdio.h>
#include <stdlib.h>

/* text STEM ELEMENT CC, or codes: f32 from stdin, doubled, as e3m4 */
int main(int argc, char **argv)
{
    fgs_ptx_desc d = {.size = sizeof d};
    static char text[1 << 20];
    static float in[1 << 16];
    static unsigned char out[1 << 16];
    size_t size = sizeof text, n;
    fgs_error err;

    if (argc == 4) {
        d.stem = argv[1];
        d.cc = atoi(argv[3]);
        if (fgs_element_find(argv[2], &d.element) < 0 ||
            fgs_ptx_expand(&d, text, &size, &err) < 0)
            return 1;
        return fputs(text, stdout) < 0;
    }
    n = fread(in, 4, sizeof in / 4, stdin);
    if (fgs_ref_produce(FGS_ELEMENT_E3M4, FGS_SATURATE_REFUSE, in, out, n,
                        NULL) < 0)
        return 1;
    return fwrite(out, 1, n, stdout) != n;
}
END
cp "$B/gen/embed_data.c" "$copy"
( cd "$copy" && $CC -std=c11 -D_GNU_SOURCE -Iinclude -I. -o rows main.c \
    base/*.c table/*.c text/*.c core/*.c embed_data.c -lm -lpthread ) \
    > "$tmp/log" 2>&1
if [ ! -x "$copy/rows" ]; then
    not_ok rows_compile "$(grep -m 1 error "$tmp/log")"
    exit 1
fi
ok rows_compile

# 1, -1, halves between codes, zeros, what becomes -0 by rounding, overflow.
printf '\000\000\000\077\000\000\000\277\000\000\000\200\000\000\000\000' \
    > "$tmp/few"                                   # 0.5 -0.5 -0 0
printf '\000\000\000\243\000\000\310\102\000\000\310\302\000\000\204\076' \
    >> "$tmp/few"                                  # -2^-57 100 -100 0.2578125
want=' 30 b0 00 00 00 7f ff 20'
have=$("$copy/rows" < "$tmp/few" | od -An -tx1 | tr -d '\n')
[ "$have" = "$want" ] && ok element_is_converted_by_its_row ||
    not_ok element_is_converted_by_its_row "$have, not$want"

case_is mechanism_is_in_the_text "no such words" grep -q \
    'mbarrier::report::validity::per_16bytes::7f' << END
$("$copy/rows" report_consume q8 107)
END

# The producer's text for e3m4, run on the software device.
mkdir "$tmp/ptx"
"$copy/rows" scale_produce e3m4 107 > "$tmp/ptx/scale_produce.i8.ptx"
awk 'BEGIN { srand(7); for (i = 0; i < 16384; i++) printf "%c", 1 + int(rand() * 126) }' \
    > "$tmp/in" # one tile: 4096 f32, no byte 0 for awk's sake
FGS_PROVIDER=sim FGS_PTX_DIR=$tmp/ptx "$FGS" run --element i8 --tiles 1 \
    --input "$tmp/in" --output "$tmp/out" > "$tmp/log" 2>&1
"$copy/rows" < "$tmp/in" > "$tmp/codes"
od -An -v -w1 -tx1 "$tmp/out" > "$tmp/a" 2> "$tmp/err"
od -An -v -w1 -tx1 "$tmp/codes" | tac > "$tmp/b"
if [ -s "$tmp/a" ] && cmp -s "$tmp/a" "$tmp/b"; then
    ok kernel_makes_the_new_element
else
    not_ok kernel_makes_the_new_element "$(tail -n 1 "$tmp/log")"
fi
exit $failed
