#!/bin/sh
# test_tool_gpu.sh -- fgs run on the first GPU: engines, digests, faults
. tests/lib.sh

member()
{
    sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$tmp/json" |
        head -n 1
}
# run CODE ARGUMENT...: true when it exits with CODE
run()
{
    want=$1
    shift
    "$FGS" run --json "$@" > "$tmp/json" 2> "$tmp/err"
    got=$?
    [ $got = "$want" ] && return 0
    echo "    fgs run $*: exit $got: $(tail -n 1 "$tmp/err")"
    return 1
}
can()
{
    "$FGS" device --provider cuda --json 2> /dev/null |
        awk -v e="\"$1\"" '$1 == "\"engine\":" { on = ($2 == e ",") }
            on && $1 == "\"can\":" { print $2; exit }' | grep -q true
}

tiles=256
run 0 --provider sim --engine poll --tiles $tiles
sim=$(member digest)
[ -n "$sim" ] || not_ok software_device_runs "no digest"

# engine NAME ENGINE FLAG...: verified, with the software device's digest
engine()
{
    name=$1 e=$2
    shift 2
    if ! can "$e"; then
        run 1 --provider cuda --engine "$e" && grep -q . "$tmp/err" &&
            ok "${name}_is_refused_with_a_reason" ||
            not_ok "${name}_is_refused_with_a_reason" "see above"
        sed -n 's/^fgs run: /    /p' "$tmp/err"
        return
    fi
    if run 0 --provider cuda --engine "$e" --tiles $tiles "$@"; then
        [ "$(member digest)" = "$sim" ] &&
            ok "${name}_has_the_software_devices_digest" ||
            not_ok "${name}_has_the_software_devices_digest" \
                "$(member digest) in place of $sim"
    else
        not_ok "${name}_has_the_software_devices_digest" "see above"
    fi
    run 0 --provider cuda --engine "$e" --tiles 4096 --rounds 20 "$@" &&
        ok "${name}_runs_20_rounds_of_4096_tiles" ||
        not_ok "${name}_runs_20_rounds_of_4096_tiles" "see above"
    echo "    $(member assembled_by), PTX $(member ptx_version) for" \
        "$(member ptx_target), overlap $(member overlap)," \
        "$(member reissues) re-issues, $(member elapsed_ns) ns"
    for fault in leak sentinel; do
        run 1 --provider cuda --engine "$e" "$@" --inject $fault:17:3 \
            --bound-ms 100 && [ "$(member tile)" = 17 ] &&
            [ "$(member chunk)" = 3 ] && [ -n "$(member bits)" ] &&
            [ "$(member context_alive)" = true ] &&
            ok "${name}_names_the_place_of_a_$fault" ||
            not_ok "${name}_names_the_place_of_a_$fault" \
                "tile $(member tile) chunk $(member chunk)"
    done
}
said=$(FGS_PROVIDER=cuda "$B/examples/readme" 2>&1)
[ "$said" = "6 4 2" ] && ok readme_example_runs ||
    not_ok readme_example_runs "$said"
engine report report
engine bulk bulk
engine weak_bulk bulk --weak
engine poll poll
export FGS_NVJITLINK=none
engine bulk_without_nvjitlink bulk
unset FGS_NVJITLINK
run 0 --provider cuda --no-pdl --tiles $tiles && [ "$(member pdl)" = false ] &&
    [ "$(member overlap)" = false ] && ok plain_stream_order_does_not_overlap ||
    not_ok plain_stream_order_does_not_overlap "overlap $(member overlap)"
end
