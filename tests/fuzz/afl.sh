#!/bin/sh
# afl.sh -- run afl-fuzz for some time, and say what it did: DIR SECONDS NAME[:INSTANCES]...
#
# DIR has plain_NAME, NAME.seeds and maybe NAME.dict; words.so, which changes
# PTX by words, helps targets that take PTX.  All instances run at once.  What
# they find is in DIR/NAME.afl/*/crashes and hangs, and a next run goes on from
# there.  LEAKS=0: look for none.  Exit 1: something was found.
dir=$1 seconds=$2
shift 2
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_AUTORESUME=1 \
    AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_HANG_TMOUT=20000 \
    AFL_FAST_CAL=1
# plain.c looks for leaks itself, at the text that leaves something; what
# afl-fuzz would set where nothing is set would overrule.
ASAN_OPTIONS=abort_on_error=1:symbolize=0:halt_on_error=1:detect_leaks=${LEAKS:-1}
ASAN_OPTIONS=$ASAN_OPTIONS:leak_check_at_exit=0:allocator_may_return_null=1
UBSAN_OPTIONS=$ASAN_OPTIONS LSAN_OPTIONS=$ASAN_OPTIONS
export ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS

start()
{
    name=$1 id=$2
    set -- -m none -t 5000 -V "$seconds" -i "$dir/$name.seeds" \
        -o "$dir/$name.afl"
    [ ! -f "$dir/$name.dict" ] || set -- "$@" -x "$dir/$name.dict"
    if [ "$id" = 1 ]; then
        set -- "$@" -M 1
    else
        set -- "$@" -S "$id"
    fi
    case $name in
    load | run) export AFL_CUSTOM_MUTATOR_LIBRARY=$dir/words.so ;;
    *) unset AFL_CUSTOM_MUTATOR_LIBRARY ;;
    esac
    FGS_CACHE_DIR=none "${AFL_FUZZ:-afl-fuzz}" "$@" -- "$dir/plain_$name" \
        > "$dir/$name.afl.$id.log" 2>&1 &
}

stat_of()
{
    sed -n "s/^$1 *: *//p" "$dir/$2.afl"/*/fuzzer_stats |
        awk '{ n += $1 } END { print n + 0 }'
}

for t in "$@"; do
    name=${t%:*} n=${t#*:}
    [ "$n" != "$t" ] || n=1
    i=1
    while [ "$i" -le "$n" ]; do
        start "$name" "$i"
        i=$((i + 1))
    done
done
wait
found=0
for t in "$@"; do
    name=${t%:*}
    if ! ls "$dir/$name.afl"/*/fuzzer_stats > /dev/null 2>&1; then
        tail -n 20 "$dir/$name.afl".*.log
        found=1
        continue
    fi
    bad=$(($(stat_of saved_crashes "$name") + $(stat_of saved_hangs "$name")))
    echo "$name: $(stat_of execs_done "$name") executions in" \
        "$(stat_of run_time "$name") s of a core," \
        "$(stat_of saved_crashes "$name") crashes," \
        "$(stat_of saved_hangs "$name") hangs," \
        "$(stat_of corpus_found "$name") texts that reach more"
    [ "$bad" = 0 ] || found=1
done
exit $found
