/* attr.c -- the launch attributes of each stage, launchattr.def
 *
 * An attribute is set only where the loaded code has what it needs; the text
 * for the receipt says which were set, and which were left out and why.
 */
#include "core/compose.h"

#include <stdarg.h>

enum {
    TEXT = sizeof((struct fgs__stage *)0)->attr_text,
    CARVEOUT_SINCE = 13000 /* the oldest driver seen to take it at a launch */
};

static void say(struct fgs__stage *s, const char *fmt, ...) FGS__PRINTF(2, 3);

static void say(struct fgs__stage *s, const char *fmt, ...)
{
    size_t n = strlen(s->attr_text);
    va_list ap;

    if (n && n + 2 < TEXT) {
        memcpy(s->attr_text + n, "; ", 3);
        n += 2;
    }
    va_start(ap, fmt);
    vsnprintf(s->attr_text + n, TEXT - n, fmt, ap);
    va_end(ap);
}

static CUlaunchAttribute *set(struct fgs__stage *s, const char *name)
{
    const struct fgs__launch_attr *row = fgs__launch_attr_find(name);
    CUlaunchAttribute *a = &s->attr[s->config.numAttrs++];

    memset(a, 0, sizeof *a);
    a->id = row->id;
    return a;
}

/* -------------------------------------------- programmatic serialization -- */

static const struct fgs__stage *before(const struct fgs__plan *p,
                                       const struct fgs__stage *s)
{
    return s->before == FGS__NOWHERE ? NULL : &p->stage[s->before];
}

/*
 * Sentinels that a stage of the plan stores before it triggers: its fence
 * reaches the grid that starts behind the trigger, and no other (4.6.4.2).  A
 * grid between that one and the reader has to hand them on, by a fence of its
 * own: barrier and fence of a kernel that fills, or the fence that the plan
 * asks a consumer or relay for (p_trigger).
 */
static int hands_on(const struct fgs__stage *s)
{
    return s->self || s->role > FGS_ROLE_PRODUCER;
}

/* The stage that fills what is read over an edge, or clears for who reads it
 * (a ring's), NOWHERE = none does. */
static uint32_t filler(const struct fgs__plan *p, const struct fgs__edge *e)
{
    fgs_fill fill = p->use[e->use].fill;

    return e->taken == FGS_ORDER_SENTINEL &&
                   (fill == FGS_FILL_SELF || fill == FGS_FILL_RING)
        ? e->from : FGS__NOWHERE;
}

/* The stages behind `from` and before `stage`, the last one first.  Where one
 * was not let start early, all before it is over: the walk ends. */
static uint32_t next_between(const struct fgs__plan *p, uint32_t at,
                             uint32_t from)
{
    uint32_t before = p->stage[at].before;

    return before == from || before == FGS__NOWHERE || !p->stage[before].early
        ? FGS__NOWHERE : before;
}

static uint32_t not_handing_on(const struct fgs__plan *p, uint32_t stage,
                               uint32_t from)
{
    for (uint32_t i = next_between(p, stage, from); i != FGS__NOWHERE;
         i = next_between(p, i, from)) {
        if (!hands_on(&p->stage[i]))
            return i;
    }
    return FGS__NOWHERE;
}

/* An edge that needs the writer's grid to be over before this one starts;
 * NULL = none.  Edges from other streams have events. */
static const struct fgs__edge *holds_back(const struct fgs__plan *p,
                                          uint32_t stage, uint32_t *by)
{
    for (uint32_t i = p->stage[stage].in; i < p->stage[stage].in_end; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (p->stage[e->from].stream != p->stage[stage].stream)
            continue;
        *by = FGS__NOWHERE;
        if (e->taken == FGS_ORDER_STREAM)
            return e;
        if (filler(p, e) != FGS__NOWHERE)
            *by = not_handing_on(p, stage, filler(p, e));
        if (*by != FGS__NOWHERE)
            return e;
    }
    return NULL;
}

/* The stage before may trigger early, for this one; consumers do so by choice
 * alone. */
static void open_before(struct fgs__plan *p, uint32_t stage)
{
    struct fgs__stage *q = &p->stage[p->stage[stage].before];

    q->args.p_trigger = 1;
    if (q->role == FGS_ROLE_CONSUMER)
        say(q, "lets the next kernel start early, %s",
            q->args.p_clear ? "behind its clear" : "at its start");
    for (uint32_t i = p->stage[stage].in; i < p->stage[stage].in_end; i++) {
        const struct fgs__edge *e = &p->edge[i];
        uint32_t from = filler(p, e), x = stage;

        if (from == FGS__NOWHERE || p->stage[from].stream != q->stream)
            continue;
        while ((x = next_between(p, x, from)) != FGS__NOWHERE) {
            if (p->stage[x].self || p->stage[x].args.p_trigger > 1)
                continue;
            p->stage[x].args.p_trigger = 2;
            say(&p->stage[x], "behind a fence: it hands on what %s filled",
                p->stage[from].name);
        }
    }
}

/* Why the attribute is left out; NULL = it is set. */
static const char *no_serial(const struct fgs__plan *p, uint32_t stage,
                             char *why, size_t size)
{
    const struct fgs__launch_attr *row =
        fgs__launch_attr_find("PROGRAMMATIC_STREAM_SERIALIZATION");
    const struct fgs__stage *s = &p->stage[stage], *q = before(p, s);
    uint32_t by = FGS__NOWHERE;
    const struct fgs__edge *e = holds_back(p, stage, &by);

    if (p->no_pdl)
        snprintf(why, size, "no_pdl asks for plain stream order");
    else if (p->dev->cc < row->cc)
        snprintf(why, size,
                 "it needs compute capability %d.%d, this is %d.%d",
                 row->cc / 10, row->cc % 10, (int)p->dev->cc / 10,
                 (int)p->dev->cc % 10);
    else if (!q)
        snprintf(why, size, "no kernel stands right before %s in its stream",
                 s->entry);
    else if (!s->waits)
        snprintf(why, size, "%s does not execute %s", s->entry, row->needs);
    else if (!q->triggers)
        snprintf(why, size,
                 "%s does not execute griddepcontrol.launch_dependents",
                 q->entry);
    else if (by != FGS__NOWHERE)
        snprintf(why, size,
                 "%s %s buffer '%s', and %s triggers without a fence that "
                 "hands it on",
                 p->stage[filler(p, e)].name,
                 p->use[e->use].fill == FGS_FILL_RING ? "clears" : "fills",
                 p->use[e->use].name, p->stage[by].name);
    else if (e)
        snprintf(why, size, "buffer '%s' from %s is ordered by `stream`",
                 p->use[e->use].name, p->stage[e->from].name);
    else
        return NULL;
    return why;
}

static void serial(struct fgs__plan *p, uint32_t stage)
{
    struct fgs__stage *s = &p->stage[stage];
    char why[256];
    const char *no = no_serial(p, stage, why, sizeof why);

    s->early = !no;
    if (!no) {
        open_before(p, stage);
        set(s, "PROGRAMMATIC_STREAM_SERIALIZATION")
            ->value.programmaticStreamSerializationAllowed = 1;
        snprintf(why, sizeof why,
                 "%s executes griddepcontrol.wait, %s "
                 "griddepcontrol.launch_dependents",
                 s->entry, before(p, s)->entry);
    }
    say(s, "programmatic serialization %s: %s", no ? "left out" : "set", why);
    for (uint32_t i = s->in; i < s->in_end; i++) {
        if (p->stage[p->edge[i].from].stream != s->stream)
            continue;
        p->edge[i].cross = no ? FGS__CROSS_STREAM : FGS__CROSS_SERIAL;
        snprintf(p->edge[i].form_why, sizeof p->edge[i].form_why, "%.220s",
                 why);
    }
    if (stage != p->main_stage)
        return;
    p->pdl = !no;
    snprintf(p->pdl_why, sizeof p->pdl_why, "%s: %.240s",
             no ? "left out" : "set", why);
    fgs__log(&p->dev->log, FGS__LOG_PLAN_PDL, "programmatic serialization %s",
             p->pdl_why);
}

/* --------------------------------------------------------------- events -- */

/* Not where the blocks fill their own output first. */
int fgs__at_block_start(const struct fgs__plan *p, const struct fgs__stage *s)
{
    for (uint32_t i = 0; i < s->accesses; i++) {
        if (s->access[i].write &&
            p->use[s->access[i].use].fill == FGS_FILL_SELF)
            return 0;
    }
    return 1;
}

/* A graph has programmatic edges in place of launch completion events. */
static uint32_t early_event(const struct fgs__plan *p,
                            const struct fgs__stage *s)
{
    int in_graph = p->graphing &&
        p->dev->cc >= fgs__crosses[FGS__CROSS_EVENT_EARLY].cc;

    return in_graph && s->early_event == FGS__NOWHERE ? s->launch_event
                                                      : s->early_event;
}

static void events(struct fgs__plan *p, uint32_t stage)
{
    struct fgs__stage *s = &p->stage[stage];
    CUlaunchAttribute *a;

    if (early_event(p, s) != FGS__NOWHERE) {
        a = set(s, "PROGRAMMATIC_EVENT");
        a->value.programmaticEvent.event = p->event[early_event(p, s)].event;
        a->value.programmaticEvent.triggerAtBlockStart =
            fgs__at_block_start(p, s);
        say(s, "programmatic event set%s: a reader is in another stream",
            fgs__at_block_start(p, s) ? ", at block start" : "");
    }
    if (s->launch_event != FGS__NOWHERE && !p->graphing) {
        a = set(s, "LAUNCH_COMPLETION_EVENT");
        a->value.programmaticEvent.event = p->event[s->launch_event].event;
        say(s, "launch completion event set: a reader is in another stream");
    }
}

/* Does an edge that lets grids overlap join it with a kernel of the library? */
static int meets_ours(const struct fgs__plan *p, const struct fgs__stage *s)
{
    uint32_t me = (uint32_t)(s - p->stage);

    for (uint32_t i = 0; i < p->edges; i++) {
        const struct fgs__edge *e = &p->edge[i];

        if (fgs__orders[e->taken].early &&
            ((e->from == me && p->stage[e->to].role) ||
             (e->to == me && p->stage[e->from].role)))
            return 1;
    }
    return 0;
}

static void shape(const struct fgs__plan *p, struct fgs__stage *s)
{
    if (s->cluster[0]) {
        CUlaunchAttribute *a = set(s, "CLUSTER_DIMENSION");

        a->value.clusterDim.x = s->cluster[0];
        a->value.clusterDim.y = s->cluster[1];
        a->value.clusterDim.z = s->cluster[2];
        say(s, "cluster of %u x %u x %u", s->cluster[0], s->cluster[1],
            s->cluster[2]);
    }
    if (!s->role && p->dev->cu.version >= CARVEOUT_SINCE && meets_ours(p, s)) {
        set(s, "PREFERRED_SHARED_MEMORY_CARVEOUT")->value.sharedMemCarveout =
            CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
        say(s, "carveout as the kernels of the library");
    }
    if (s->priority) {
        set(s, "PRIORITY")->value.priority = s->priority;
        say(s, "priority %d", (int)s->priority);
    }
    if (s->domain) {
        set(s, "MEM_SYNC_DOMAIN")->value.memSyncDomain = s->domain;
        say(s, "memory synchronization domain %u", s->domain);
    }
}

void fgs__plan_attrs(struct fgs__plan *p)
{
    for (uint32_t i = 0; i < p->stages; i++) {
        struct fgs__stage *s = &p->stage[i];

        s->config.attrs = s->attr;
        s->config.numAttrs = 0;
        s->args.p_trigger = 0;
        s->early = 0;
        s->attr_text[0] = '\0';
        if (s->fills == FGS__NOWHERE)
            serial(p, i);
        events(p, i);
        shape(p, s);
        if (!s->config.numAttrs)
            s->config.attrs = NULL;
    }
}
