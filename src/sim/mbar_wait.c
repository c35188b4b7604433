/* mbar_wait.c -- test_wait and try_wait of mbarriers, with their reports
 *
 * A report is a fact of a completed phase: the phase's copies saw sentinels.
 */
#include "sim/mbar_insn.h"

#include <string.h>

/* What a wait found, as masks and values of lanes. */
struct found {
    uint32_t done, report;
    uint8_t value[32];
};

static bool look_lane(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                      int lane, struct found *f)
{
    uint32_t facts = i->aux[AUX_FACTS];
    uint64_t *bar = fgs__sim_mbar_object(w, i, lane);
    enum fgs__mbar_rule rule = FGS__MBAR_OK;
    bool done;

    if (!bar)
        return false;
    if (facts & CONDITIONAL)
        done = fgs__mbar_done_conditional(*bar, fgs__sim_mbar_arg(w, i, lane));
    else if (facts & PARITY)
        done = fgs__mbar_done_primary(*bar, fgs__sim_mbar_arg(w, i, lane));
    else
        rule = fgs__mbar_done_state(
            *bar, ((const uint64_t *)fgs__sim_at(w, i->op[OP_ARG]))[lane],
            &done);
    if (rule != FGS__MBAR_OK) {
        fgs__sim_mbar_broken(w, i, lane, rule);
        return false;
    }
    if (!done)
        return true;
    fgs__mbar_see(bar, facts & CONDITIONAL);
    f->done |= 1u << lane;
    if (fgs__mbar_reported(*bar, &f->value[lane]))
        f->report |= 1u << lane;
    return true;
}

/* Do all running lanes ask the same of one object? */
static bool alike(const struct fgs__sim_warp *w, const struct fgs__sim_insn *i)
{
    bool state = !(i->aux[AUX_FACTS] & (PARITY | CONDITIONAL));
    uint32_t facts = i->aux[FGS__SIM_AUX_SPACE];
    const uint32_t *arg = fgs__sim_at(w, i->op[OP_ARG]);
    const void *base = fgs__sim_at(w, i->op[FGS__SIM_ADDR]);
    const uint32_t *low = base;
    const uint64_t *wide = base;
    int first = fgs__sim_lane(w->exec);
    uint64_t differ = 0;

    if (state)
        return false;
    for (int l = 0; l < 32; l++)
        differ |= (arg[l] ^ arg[first]) & (0 - (w->exec >> l & 1));
    if (facts & FGS__SIM_UNIFORM)
        return !differ;
    if (facts & FGS__SIM_ADDR32)
        for (int l = 0; l < 32; l++)
            differ |= (low[l] ^ low[first]) & (0 - (w->exec >> l & 1));
    else
        for (int l = 0; l < 32; l++)
            differ |= (wide[l] ^ wide[first]) &
                      (0 - (uint64_t)(w->exec >> l & 1));
    return !differ;
}

/* The same for each running lane. */
static bool look(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                 struct found *f)
{
    int first = fgs__sim_lane(w->exec);

    if (!(w->exec & (w->exec - 1)) || !alike(w, i)) {
        for (uint32_t m = w->exec; m; m &= m - 1)
            if (!look_lane(w, i, fgs__sim_lane(m), f))
                return false;
        return true;
    }
    if (!look_lane(w, i, first, f))
        return false;
    f->done = f->done ? w->exec : 0;
    f->report = f->report ? w->exec : 0;
    if (f->done)
        memset(f->value, f->value[first], sizeof f->value);
    return true;
}

/* Report outputs of lanes that found no completed phase are undefined: they
 * get whatever the seed gives, so that no program can rely on them; while
 * spin.c looks whether all repeats, always the same. */
static void put_report(struct fgs__sim_warp *w, const struct fgs__sim_insn *i,
                       const struct found *f)
{
    uint64_t noise = 0;
    uint8_t *value;

    if (i->op[OP_REPORT] == FGS__SIM_NOREF && i->op[OP_VALUE] == FGS__SIM_NOREF)
        return;
    if (f->done != w->exec && !w->block->still_ps)
        noise = fgs__sim_random(&w->block->rng);
    fgs__sim_mbar_put_pred(w, i->op[OP_REPORT],
                           (f->report & f->done) |
                               ((uint32_t)noise & ~f->done));
    if (i->op[OP_VALUE] == FGS__SIM_NOREF)
        return;
    value = fgs__sim_at(w, i->op[OP_VALUE]);
    for (uint32_t m = w->exec; m; m &= m - 1) {
        int lane = fgs__sim_lane(m);

        value[lane] = f->done >> lane & 1 ? f->value[lane]
                                          : (uint8_t)(noise >> (lane + 24));
    }
}

/* When try_wait gives up: the hint's time, or the system's limit. */
static uint64_t deadline(const struct fgs__sim_warp *w,
                         const struct fgs__sim_insn *i)
{
    uint64_t ps = FGS__SIM_TRY_WAIT_PS;

    if (i->op[OP_HINT] != FGS__SIM_NOREF)
        ps = (uint64_t)((const uint32_t *)fgs__sim_at(
                 w, i->op[OP_HINT]))[fgs__sim_lane(w->exec)] *
             FGS__SIM_PS_PER_NS;
    return w->now_ps + ps;
}

/* try_wait suspends the split until a phase that one of its lanes waits for
 * has completed, or its time is over; test_wait never does. */
const struct fgs__sim_insn *fgs__sim_mbar_wait(struct fgs__sim_warp *w,
                                               const struct fgs__sim_insn *i)
{
    struct fgs__sim_split *split = fgs__sim_cur(w);
    struct found f = {.done = 0};

    if (!look(w, i, &f))
        return NULL;
    if (!f.done && i->aux[AUX_FACTS] & TRY) {
        uint64_t until = split->phase ? split->token : deadline(w, i);

        if (w->now_ps < until) {
            split->phase = 1;
            split->token = until;
            return fgs__sim_warp_block(w, i, FGS__SIM_WAIT_EVENT, until);
        }
    }
    fgs__sim_mbar_put_pred(w, i->op[OP_DST], f.done);
    put_report(w, i, &f);
    fgs__sim_warp_delay(w, FGS__SIM_MBAR_PS);
    return i + 1;
}
