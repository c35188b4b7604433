#!/bin/sh
# check_map.sh -- what the libraries export is what the map lists
. tests/lib.sh
so=$B/libfgs.so.$VERSION

case_is map_and_headers_agree "see tests/map.sh" sh tests/map.sh

sed -n 's/^ *\(fgs_[a-z0-9_]*\);$/\1/p' src/fgs.map | sort > "$tmp/map"
nm -D --defined-only "$so" | sed -n 's/.* [TDRB] \([^@]*\).*/\1/p' |
    sort > "$tmp/so"
case_is library_exports_the_map_alone "differs from src/fgs.map" \
    diff "$tmp/map" "$tmp/so"

readelf -d "$so" | grep -q "SONAME.*\[libfgs.so.${VERSION%.*}\]" &&
    ok soname_has_the_minor_number ||
    not_ok soname_has_the_minor_number "$(readelf -d "$so" | grep SONAME)"

# Inside libfgs.a every global name carries the prefix (style: fgs_, fgs__).
nm -g --defined-only "$B/libfgs.a" 2> /dev/null |
    sed -n 's/^[0-9a-f]* [A-Z] //p' | grep -v '^fgs_' > "$tmp/names"
if [ -s "$tmp/names" ]; then
    not_ok archive_names_carry_the_prefix "$(head -n 3 "$tmp/names" | tr '\n' ' ')"
else
    ok archive_names_carry_the_prefix
fi
end
