#!/bin/sh
# modules.sh -- fgs check accepts what NVRTC made of tests/modules/
#
# The pinned assembler has made cubins of the same texts before.
. tests/lib.sh

for f in tests/modules/*.cu; do
    n=$(basename "$f" .cu)
    grep -q "^MODULE($n," tests/modules/modules.def ||
        not_ok "$n" "no row in modules.def"
done
if [ ! -f "$MODULES/reduce_shared.made" ]; then
    skip modules "no NVRTC made them"
    end
fi
for f in "$MODULES"/*.ptx "$MODULES"/system/*.ptx; do
    [ -f "$f" ] || continue
    case_is "${f#"$MODULES/"}" "fgs check refuses it" "$FGS" check "$f"
    [ -s "${f%.ptx}.cubin" ] || not_ok "${f#"$MODULES/"}" "no cubin of it"
done
end
