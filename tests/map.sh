#!/bin/sh
# map.sh -- src/fgs.map lists exactly the functions that headers mark FGS_API
#
# sed, sort and comm only: this runs in every build.
set -e
cd "$(dirname "$0")/.."
LC_ALL=C
export LC_ALL

# The name before the first parenthesis; a declaration whose return type fills
# the line has it on the next one.
header=$(sed -n '/^FGS_API/{
/(/!N
s/\n */ /
s/^FGS_API[^(]*[ *]\([a-z_0-9]*\)(.*/\1/p
}' include/fgs/*.h | sort)
map=$(sed -n 's/^ *\(global: *\)\{0,1\}\(fgs_[a-z0-9_]*\);.*/\2/p' \
    src/fgs.map | sort)

[ "$header" = "$map" ] && exit 0
for name in $header; do
    echo "$map" | grep -qx "$name" ||
        echo "src/fgs.map: $name is FGS_API in a header and not listed" >&2
done
for name in $map; do
    echo "$header" | grep -qx "$name" ||
        echo "src/fgs.map: $name is listed and not FGS_API in a header" >&2
done
echo "src/fgs.map: does not agree with include/fgs" >&2
exit 1
