#!/bin/sh
# test_tool_usage.sh -- exit codes and usage errors of every verb
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

# expect CODE PATTERN ARGUMENT...: exit code, and the pattern on stderr, or on
# stdout where the code is 0
expect()
{
    code=$1 pattern=$2
    shift 2
    "$FGS" "$@" > "$tmp/out" 2> "$tmp/err" < /dev/null
    got=$?
    text=$tmp/err
    [ "$code" != 0 ] || text=$tmp/out
    if [ $got != "$code" ]; then
        not_ok "fgs $*" "exit $got in place of $code"
    elif ! grep -q -e "$pattern" "$text"; then
        not_ok "fgs $*" "no \"$pattern\" in: $(head -n 2 "$text")"
    else
        ok "fgs $*"
    fi
}

expect 2 'no verb was given'
expect 2 'no verb is named "dance"' dance
expect 2 'no verb is named "dance"' help dance
expect 2 'help takes one verb' help run ptx
expect 0 'fgs help VERB' help
expect 0 'fgs help VERB' --help
expect 0 "^fgs $VERSION\$" --version
for verb in run plan trace device ptx check sass bench; do
    expect 0 "^usage: fgs $verb" help $verb
    expect 0 "^usage: fgs $verb" $verb --help
    expect 0 "^usage: fgs $verb" $verb -h
    expect 2 '--bogus: no such option' $verb --bogus
    expect 2 '--bogus: no such option' $verb --bogus=1
    expect 2 '--json: takes no value' $verb --json=yes
done

# Each option of a table stands in its help, once.
for file in tools/verb_*.c tools/bench_[achlr]*.c tools/run_pipeline.c; do
    grep -q OPT_FLAG "$file" || continue
    case $file in
    tools/run_pipeline.c) set -- run --pipeline fused --help ;;
    tools/bench_*) set -- bench "$(basename "${file#*bench_}" .c)" -h ;;
    *) set -- "$(basename "${file#*verb_}" .c)" -h ;;
    esac
    "$FGS" "$@" > "$tmp/help" 2>&1
    wrong=
    for o in $(sed -n 's/^ *{"\(--[a-z-]*\)", OPT_.*/\1/p' "$file"); do
        [ "$2$o" != --pipeline--pipeline ] || continue
        n=$(grep -c -e "^  *$o\>" -e "  $o [A-Z]" "$tmp/help")
        [ "$n" = 1 ] || wrong="$wrong $o"
    done
    [ -z "$wrong" ] && ok "fgs $* has each option once" ||
        not_ok "fgs $* has each option once" "not so:$wrong"
done

# Numbers: least and most, and what is none.
for o in --tiles --rounds --seed --slow-producer --bound-ms --max-tries \
    --device; do
    expect 2 "$o: its value is missing" run $o
    for bad in '' -1 +1 1x ' 1' 1.5 0x10 ten; do
        expect 2 "$o: .* \(number\|whole number\)" run "$o=$bad"
    done
    expect 2 "$o: .* is too large" run $o 18446744073709551616
done
expect 2 '--tiles: "0" is too small' run --tiles 0
expect 2 '--tiles: "2147483648" is too large' run --tiles 2147483648
expect 2 '--rounds: "0" is too small' run --rounds 0
expect 2 '--rounds: "4294967296" is too large' run --rounds 4294967296
expect 2 '--bound-ms: "0" is too small' run --bound-ms 0
expect 2 '--bound-ms: "18446744073710" is too large' run \
    --bound-ms 18446744073710

for o in --provider --engine --input --output --inject; do
    expect 2 "$o: its value is missing" run $o
    expect 2 "$o: its value is empty" run $o=
done
expect 2 '--provider: "gpu" is none of cuda|sim' run --provider gpu
expect 2 '--provider: "cuda|sim" is none' run --provider 'cuda|sim'
expect 2 '--provider: "s" is none' run --provider s
expect 2 '--provider: "gpu" is none' device --provider gpu
expect 2 '--engine: "asynk" is none' run --engine asynk
expect 2 '--order: "event" is none of auto|stream' run --order event
expect 2 '--no-pdl: not with --order' run --order pdl --no-pdl
expect 2 '--weak: needs --engine bulk' run --weak
expect 2 '"file": no file or word' run file
expect 2 '"file": no file or word' run -- file

# The place of an injected fault.
expect 2 '--inject: "hole" is none of leak|sentinel' run --inject hole
expect 2 '--inject: "lea" is none of' run --inject lea:1
expect 2 '--inject: tile "64" is too large (0 to 63)' run --inject leak:64
expect 2 '--inject: tile "4" is too large (0 to 3)' run --inject leak:4 \
    --tiles 4
expect 2 '--inject: chunk "256" is too large (0 to 255)' run \
    --inject sentinel:1:256
expect 2 '--inject: tile "" needs a number' run --inject leak:
expect 2 '--inject: chunk "" needs a number' run --inject leak:1:
expect 2 '--inject: tile "x" is not a whole number' run --inject leak:x
expect 2 '--inject: ":3" is left over' run --inject leak:1:2:3

expect 2 'one NAME is expected' ptx a b
expect 2 '--cc: "9" is too small' ptx --cc 9
expect 1 'no_such_kernel' ptx no_such_kernel
expect 2 'no word is expected' device all
expect 2 'a FILE is missing' check
expect 2 'one NAME or FILE.ptx is expected' sass
expect 2 'one NAME or FILE.ptx is expected' sass a b
for t in 90 sm_ sm_9 sm_90x sm_90ab 'sm_90 -v' compute_90; do
    expect 2 '--target: .* is no target' sass x --target "$t"
done
expect 1 'no_such_kernel' sass no_such_kernel
expect 2 '--element: "f33" is none' sass --check x --element f33
expect 2 '--all is for --check' sass --all
expect 2 '--all is for --check' sass --check --all x
expect 2 '--role: "helper" is none of' sass --check x --role helper
expect 0 '^chunk_store  *chunks are stored' sass --rules
expect 1 'No such file' sass ./no/such.ptx
expect 1 ': No such file' check /no/such/file.ptx

# No such device, as the driver or the library says it.
FGS_LIBCUDA=/no/such/libcuda.so
export FGS_LIBCUDA
expect 77 '/no/such/libcuda.so' run --provider cuda
expect 77 '/no/such/libcuda.so' device --provider cuda
unset FGS_LIBCUDA
expect 77 'device' run --provider sim --device 7

# What cannot be written is a failure.
lost()
{
    [ "$1" = 1 ] && ok "$2" || not_ok "$2" "exit $1"
}
if [ -w /dev/full ]; then
    for a in help --version "help run" "run --help" "ptx" "run --json" \
        "device"; do
        "$FGS" $a > /dev/full 2> "$tmp/err"
        lost $? "fgs $a on a full disk"
        grep -q 'standard output: No space' "$tmp/err" ||
            not_ok "fgs $a on a full disk" "$(tail -n 1 "$tmp/err")"
    done
    "$FGS" run --output /dev/full > "$tmp/out" 2> "$tmp/err"
    lost $? "fgs run --output on a full disk"
else
    skip "full disks" "no /dev/full"
fi
"$FGS" help >&- 2> /dev/null
lost $? "fgs help with standard output closed"
"$FGS" run --output "$tmp/none" >&- 2> /dev/null
lost $? "fgs run with standard output closed"
if [ -z "$SAN" ]; then
    (ulimit -v 400000 && exec "$FGS" run --tiles 2000000) > "$tmp/out" \
        2> "$tmp/err"
    [ $? = 1 ] && grep -q 'no memory for 2000000 tiles' "$tmp/err" &&
        ok "fgs run without memory" ||
        not_ok "fgs run without memory" "$(tail -n 1 "$tmp/err")"
fi
"$FGS" run --output /no/such/dir/file > /dev/null 2>&1
lost $? "fgs run --output in a folder that is not there"
expect 2 '--compile takes a NAME' ptx --compile
FGS_NVRTC=none expect 1 'there is no NVRTC' ptx scale_produce --compile
FGS_NVRTC=none expect 1 'there is no NVRTC' sass scale_produce --language cuda
expect 2 '--language: "c" is none of ptx|cuda' sass --language c x
expect 2 'what is measured must be "sim"' bench
expect 2 'what is measured must be "sim"' bench gpu
expect 2 '--only: no row is named "dance"' bench sim --only dance
expect 0 '^loop .* add, setp, bra' bench sim --only loop --ms 1 --repeat 1
expect 0 '^cores .*(mix); of plain C' bench sim --only cores --ms 1 --repeat 1
FGS_SIM_SMS=1 expect 0 '^memory .* to [0-9.]* x the registers' \
    bench sim --only memory
expect 0 '"launch_ns": [1-9]' bench sim --only launch --ms 1 --repeat 1 --json
for b in launch chain; do
    expect 0 "^usage: fgs bench $b" bench $b -h
    expect 2 "$b: \"x\" is not expected" bench $b x
    expect 2 '--repeat: "0" is too small' bench $b --repeat 0
done
expect 0 '^pdl  *[1-9].* [0-9.]*$' bench launch --repeat 1 --stages 4 --build 9
expect 0 '^sentinel  *[1-9].*  sentinel$' bench chain --repeat 1 --stages 2 \
    --work-ns 500 --spread-ns 500
expect 2 '--language: "c" is none of' bench retry --language c
expect 0 '^usage: fgs bench handoff' bench handoff -h
expect 2 'handoff: "x" is not expected' bench handoff x
expect 2 '--pairs: "0" is too small' bench handoff --pairs 0
for p in flag poll poll_warp poll_thread bulk bulk_weak; do
    expect 0 "^$p  *256     1  *[1-9][0-9.]* .*[0-9]  [a-z]" \
        bench handoff --pairs 2 --rounds 2
done
expect 2 '--threads: "33" is none of' bench handoff --threads 33
expect 2 '--loads: "3" is none of' bench handoff --loads 3
for form in '256     1' '128     4' '32     2'; do
    expect 0 "^poll  *$form " bench handoff --every --pairs 1 --rounds 1
    expect 0 "^poll_thread  *$form " bench handoff --every --pairs 1 --rounds 1
done
expect 0 '^bulk  *64     [124] ' bench handoff --threads 64 --every --pairs 1
expect 0 '^flag  *256     2 .* 1[.]000 ' bench handoff --loads 2 --pairs 1
expect 0 '^flag  *[1-9][0-9]*     1 .* 1[.]000 ' bench handoff --rounds 1 \
    --threads trial --pairs 1
[ $(grep -c '^[a-z_]* *[0-9]* *1  *[0-9.]* ' "$tmp/out") = 6 ] &&
    ok "fgs bench handoff keeps one form a protocol" ||
    not_ok "fgs bench handoff keeps one form a protocol" "$(cat "$tmp/out")"
[ "$("$FGS" bench handoff --every --pairs 1 --rounds 1 2> /dev/null |
    grep -c '^[a-z_]* *[0-9]* *[124]  *[0-9.]* ')" = 72 ] &&
    ok "fgs bench handoff --every has 72 rows" ||
    not_ok "fgs bench handoff --every has 72 rows"
expect 0 'virtual' bench handoff --pairs 1 --rounds 1 --spread 2000
FGS_SIM_SMS=1 expect 1 'two SMs are needed' bench handoff
FGS_SIM_CC=80 expect 0 '^bulk .*: not for compute 8.0' bench handoff --pairs 1
end
