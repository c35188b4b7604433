#!/bin/sh
# check_examples.sh -- tools/examples run on the software device
. tests/lib.sh

nvrtc=$TC/lib/libnvrtc.so.13

# By the compiler of the system too, which may not know the device.
FGS_PROVIDER=sim FGS_NVRTC=libnvrtc.so.13 "$B/examples/rms_gemv" \
    > "$tmp/out" 2> "$tmp/err"
case $?:$(cat "$tmp/out") in
77:*) skip rms_gemv_by_the_system "no NVRTC there" ;;
"0:24 rows"*) ok rms_gemv_by_the_system ;;
*) not_ok rms_gemv_by_the_system "$(cat "$tmp/out" "$tmp/err" | head -n 3)" ;;
esac
for cc in 75 80 90 103 107; do
    if [ ! -f "$nvrtc" ]; then
        skip "rms_gemv_on_$cc" "no NVRTC; make toolchain gets it"
        continue
    fi
    FGS_PROVIDER=sim FGS_SIM_CC=$cc FGS_NVRTC=$nvrtc \
        "$B/examples/rms_gemv" > "$tmp/out" 2> "$tmp/err"
    case $?:$(cat "$tmp/out") in
    "0:24 rows of 1024, 128 outputs each: within 0.0"*)
        ok "rms_gemv_on_$cc" ;;
    *)
        not_ok "rms_gemv_on_$cc" "$(cat "$tmp/out" "$tmp/err" | head -n 3)" ;;
    esac
done
end
