#!/bin/sh
# assemble.sh -- every kernel text against the real assembler, every target
. tests/ptx/common

# Which devices a text serves: written down here, not asked of the code.  The
# lowest target that the pinned assembler makes code for is sm_75.
early="75 80 86 87 89"
late="90 100 103 107 110 120 121"
serves() {
    case $1 in
    report_* | gemm_report_stage | fused_report | fused_claim_report) echo 107 ;;
    fused_claim_*) echo 100 103 107 110 120 121 ;;
    gemm_regs_stage | gemm_wgmma_stage) echo 90 ;;
    gemm_* | bulk_* | scale_produce_bulk | fused_bulk) echo $late ;;
    async_consume | async_relay | async_join | async_scaled_join | async_stages_consume | lab_async) echo 80 86 87 89 $late ;;
    *) echo $early $late ;;
    esac
}

# A text that has no instruction of its own kind fails its target, so that
# .target is what the assembler is asked for, not only -arch.
target_of() {
    sed -n 's/^\.target \(.*\)$/\1/p' "$out/$1.ptx"
}

for stem in $("$expand"); do
    served=" $(serves $stem) "
    for cc in $early $late; do
        case $served in
        *" $cc "*) ;;
        *)
            if text $stem $cc; then
                not_ok $stem.$cc "a text for a device that it does not serve"
            fi
            continue
            ;;
        esac
        if ! text $stem $cc; then
            not_ok $stem.$cc "$(first_line $out/$stem.$cc.log)"
            continue
        fi
        arch=sm_$cc
        case $(target_of $stem.$cc) in
        sm_*a) arch=$(target_of $stem.$cc) ;;
        esac
        if ! assemble $stem.$cc $arch; then
            not_ok $stem.$cc "$(first_line $out/$stem.$cc.log)"
        elif ! grep -q ' 0 bytes spill stores, 0 bytes spill loads' \
            $out/$stem.$cc.log; then
            not_ok $stem.$cc "spills registers"
        else
            ok "$stem as $(target_of $stem.$cc) for $arch"
        fi
    done
done

# The report text is for sm_107a; sm_107f takes it too, nothing else does.
retarget() {
    sed "s/^\.target .*/.target $1/" $out/report_consume.107.ptx \
        > $out/report_consume.$1.ptx
}
retarget sm_107f
if assemble report_consume.sm_107f sm_107f; then
    ok "report_consume as sm_107f"
else
    not_ok report_consume.sm_107f "$(first_line $out/report_consume.sm_107f.log)"
fi
for t in sm_107 sm_100f sm_100a sm_103f sm_120f sm_90; do
    retarget $t
    if assemble report_consume.$t $t; then
        not_ok "report_consume refused for $t" "it assembles"
    elif grep -q "mbarrier::report::" $out/report_consume.$t.log; then
        ok "report_consume refused for $t"
    else
        not_ok "report_consume refused for $t" \
            "$(first_line $out/report_consume.$t.log)"
    fi
done
exit $failed
