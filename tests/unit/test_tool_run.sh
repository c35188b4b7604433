#!/bin/sh
# test_tool_run.sh -- fgs run on the software device: engines, seeds, faults
. tests/lib.sh
FGS_PROVIDER=sim
export FGS_PROVIDER

# The outer member of the last run's JSON.
member()
{
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$tmp/json" |
        head -n 1
}
run()
{
    want=$1
    shift
    timeout 120 "$FGS" run --json "$@" > "$tmp/json" 2> "$tmp/err"
    got=$?
    [ $got = "$want" ] && return 0
    echo "    fgs run $*: exit $got: $(tail -n 1 "$tmp/err")"
    return 1
}
# same NAME WANT HAVE
same()
{
    [ "$2" = "$3" ] && ok "$1" || not_ok "$1" "$3 in place of $2"
}

run 0 --engine report
same auto_is_report "$(run 0; member engine)" report
first=$(member digest)
for e in report bulk poll; do
    run 0 --engine $e
    same "${e}_has_the_one_digest" "$first" "$(member digest)"
    same "${e}_is_named" $e "$(member engine)"
    same "${e}_starts_early" true "$(member pdl)"
done
run 0 --engine bulk --weak
same weak_bulk_has_the_one_digest "$first" "$(member digest)"
run 0 --engine bulk
same strong_bulk_is_ptx_9.3 9.3 "$(member ptx_version)"

for o in stream pdl flag sentinel; do
    run 0 --order $o
    same "order_${o}_has_the_one_digest" "$first" "$(member digest)"
    same "order_${o}_is_taken" $o "$(member order)"
done
run 0 --order stream --slow-producer 20000
same stream_order_does_not_overlap false "$(member overlap)"
run 0 --order sentinel --slow-producer 20000
same sentinels_overlap true "$(member overlap)"
run 0 --order auto --engine bulk --weak --element f16 --rounds 3
same auto_is_verified true "$(member ok)"
run 1 --order sentinel --inject leak:17:3 --bound-ms 50
same leak_by_order_names_the_place "17 3" "$(member tile) $(member chunk)"
same leak_by_order_leaves_the_device_alive true "$(member context_alive)"

run 0 --slow-producer 20000
same slow_producer_overlaps true "$(member overlap)"
[ "$(member reissues)" -gt 0 ] && ok slow_producer_costs_reissues ||
    not_ok slow_producer_costs_reissues "$(member reissues)"
run 0 --no-pdl
same plain_order_does_not_start_early false "$(member pdl)"
same plain_order_does_not_overlap false "$(member overlap)"
same plain_order_has_the_one_digest "$first" "$(member digest)"
FGS_SIM_OVERLAP=0 run 0
same forbidden_overlap_has_the_one_digest "$first" "$(member digest)"
same forbidden_overlap_is_none false "$(member overlap)"
run 0 --rounds 5 --tiles 3
same five_rounds_are_verified 5 "$(member rounds)"
run 0 --rounds 70 --tiles 1
same more_than_a_batch_is_verified true "$(member ok)"
run 0 --seed 2
[ "$(member digest)" != "$first" ] && ok another_seed_is_other_data ||
    not_ok another_seed_is_other_data "$first"
# --seed is the software device's seed too: with one host thread a run can be
# repeated exactly, and other choices take other times.
timed()
{
    FGS_SIM_THREADS=1 run 0 --slow-producer 3000 "$@"
    member elapsed_ns
}
one=$(timed --seed 1) two=$(timed --seed 2) three=$(timed --seed 3)
same seed_repeats_the_run "$two" "$(timed --seed 2)"
same seed_is_the_variables_seed "$two" "$(FGS_SIM_SEED=2 timed)"
[ "$one $one" != "$two $three" ] && ok seed_changes_the_run ||
    not_ok seed_changes_the_run "$one ns for 1, 2 and 3"

seeds="1 2 3" count=36
[ "$SAN" != thread ] || seeds=1 count=12
for seed in $seeds; do
    for sample in 0 1 2 3; do
        for sms in 1 2 7; do
            FGS_SIM_SMS=$sms FGS_SIM_SAMPLE=$sample FGS_SIM_SEED=$seed \
                run 0 --tiles 9 || not_ok "seed $seed sample $sample" "$sms SMs"
            echo "$(member digest)"
        done
    done
done | sort | uniq -c > "$tmp/digests"
same knobs_do_not_change_the_result $count "$(awk '{ print $1 }' "$tmp/digests")"
FGS_SIM_SMS=none run 1
grep -q FGS_SIM_SMS "$tmp/err" && ok bad_knob_is_named ||
    not_ok bad_knob_is_named "$(tail -n 1 "$tmp/err")"

# Faults: the place is named, and the device is good for another round.
for e in report bulk poll; do
    for fault in leak sentinel; do
        name=${e}_${fault}
        run 1 --engine $e --inject $fault:17:3 --bound-ms 50
        same "${name}_is_a_leak" FGS_E_LEAK "$(member name)"
        same "${name}_names_the_place" "17 3" "$(member tile) $(member chunk)"
        same "${name}_leaves_the_device_alive" true "$(member context_alive)"
        case $(member bits) in
        *00000080*) ok "${name}_shows_the_sentinel" ;;
        *) not_ok "${name}_shows_the_sentinel" "$(member bits)" ;;
        esac
    done
done
run 1 --inject leak --tiles 5 --bound-ms 50
same default_place_is_the_middle "2 0" "$(member tile) $(member chunk)"
run 1 --inject leak --max-tries 20
same bound_on_tries_is_kept 20 "$(member tries)"
end
