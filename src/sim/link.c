/* link.c -- which functions a kernel needs, in which order, and their stack */
#include "sim/call.h"

/* Most local memory of a thread (guide, technical specifications). */
enum { LOCAL_MOST = 512 * 1024 };

struct edge {
    uint32_t caller, callee;
};

struct graph {
    struct fgs__sim_code *c;
    const struct fgs__ptx_func *entry;
    struct fgs__ptx_diags *diags;
    const struct fgs__ptx_func **list; /* [0] = the kernel; number = index    */
    size_t list_cap;
    uint32_t count;
    struct edge *edge;
    size_t edge_cap, edges;
    uint32_t *left;            /* callees, or callers, that are not out yet   */
    uint8_t *out;              /* placed; then: on no cycle                   */
    uint32_t *order, ordered;
    bool nomem, bad;
};

/* --------------------------------------------------------------- reaching */

static void reach(struct graph *g, uint32_t caller,
                  const struct fgs__ptx_sym *s)
{
    struct fgs__ptx_func *f = s->func;
    void *items = g->list;

    if (!f->body)
        return; /* of the device's library, or reported at the call */
    if (f->number >= g->count || g->list[f->number] != f) {
        if (!fgs__vec_reserve(g->c->alloc, &items, &g->list_cap, g->count,
                              sizeof *g->list)) {
            g->nomem = true;
            return;
        }
        g->list = items;
        f->number = g->count;
        g->list[g->count++] = f;
    }
    items = g->edge;
    if (!fgs__vec_reserve(g->c->alloc, &items, &g->edge_cap, g->edges,
                          sizeof *g->edge)) {
        g->nomem = true;
        return;
    }
    g->edge = items;
    g->edge[g->edges++] = (struct edge){ caller, f->number };
}

/* Whatever may be called by address: the list of .calltargets, or every
 * function whose address the module uses. */
static void reach_taken(struct graph *g, uint32_t caller,
                        const struct fgs__ptx_targets *t)
{
    const struct fgs__ptx_module *m = g->entry->module;
    const struct fgs__ptx_func *f;

    for (uint32_t k = 0; t && k < t->count; k++)
        reach(g, caller, t->list[k].sym);
    if (t && t->count)
        return;
    m = m->whole ? m->whole : m;
    for (f = m->funcs; f && !g->nomem; f = f->next)
        if (!f->entry && f->body && f->sym->taken && f->sym->func == f)
            reach(g, caller, f->sym);
}

static void reach_from(struct graph *g, uint32_t n)
{
    const struct fgs__ptx_func *f = g->list[n];

    for (uint32_t k = 0; k < f->insn_count && !g->nomem; k++) {
        const struct fgs__ptx_insn *i = &f->insn[k];

        if (i->op == FGS__OP_ALLOCA || i->op == FGS__OP_STACKSAVE ||
            i->op == FGS__OP_STACKRESTORE)
            g->c->deep = true;
        if (i->op != FGS__OP_CALL)
            continue;
        g->c->fp = 0;
        if (i->operand[1].kind == FGS__O_SYM) {
            reach(g, n, i->operand[1].sym);
            continue;
        }
        g->c->deep = true;
        reach_taken(g, n, i->operand[3].sym ? i->operand[3].sym->targets
                                            : NULL);
    }
}

/* --------------------------------------------------------------- ordering */

/* Take out, one after another, functions whose `left` is 0; `up`: those that
 * call nothing that is left, else those that nothing left calls. */
static void peel(struct graph *g, bool up)
{
    uint32_t from = g->ordered, k;
    size_t e;

    for (k = 1; k < g->count; k++)
        if (!g->out[k] && !g->left[k]) {
            g->out[k] = 1;
            g->order[g->ordered++] = k;
        }
    for (; from < g->ordered; from++)
        for (e = 0; e < g->edges; e++) {
            uint32_t gone = up ? g->edge[e].callee : g->edge[e].caller;
            uint32_t other = up ? g->edge[e].caller : g->edge[e].callee;

            if (gone != g->order[from] || g->out[other] || --g->left[other] ||
                !other)
                continue;
            g->out[other] = 1;
            g->order[g->ordered++] = other;
        }
}

static void count_left(struct graph *g, bool up)
{
    memset(g->left, 0, g->count * sizeof *g->left);
    for (size_t e = 0; e < g->edges; e++)
        if (!g->out[g->edge[e].callee] && !g->out[g->edge[e].caller])
            g->left[up ? g->edge[e].caller : g->edge[e].callee]++;
}

/* Callees before callers, so that lanes that are in a call come first when
 * the lowest place in the code runs.  Where there are cycles, any order. */
static void sort(struct graph *g)
{
    uint32_t k;

    count_left(g, true);
    peel(g, true);
    for (k = 1; k < g->count && g->ordered + 1 < g->count; k++) {
        if (g->out[k])
            continue;
        g->out[k] = 1;
        g->order[g->ordered++] = k;
        count_left(g, true);
        peel(g, true);
    }
}

/* On a cycle, or between two: what neither way of taking out reaches. */
static void find_cycles(struct graph *g)
{
    uint32_t k;

    memset(g->out, 0, g->count);
    g->out[0] = 1;
    g->ordered = 0;
    count_left(g, true);
    peel(g, true);
    count_left(g, false);
    peel(g, false);
    for (k = 1; k < g->count; k++)
        if (!g->out[k])
            g->c->deep = g->c->function[g->list[k]->number].recursive = true;
}

/* ------------------------------------------------------------------ stack */

static void describe(struct graph *g, uint32_t at, uint32_t k)
{
    struct fgs__ptx_func *f = g->list[k]->sym->func;
    struct fgs__sim_function *out = &g->c->function[at];

    f->number = at;
    out->func = f;
    out->address = f->address;
    out->frame_align = f->frame_align;
    out->frame_bytes = (uint32_t)((f->local_bytes + 15) & ~15ull);
    /* Where a frame begins at a greater multiple than 16. */
    out->stack_bytes = out->frame_bytes + f->frame_align - 16;
    if (f->local_bytes <= LOCAL_MOST)
        return;
    fgs__ptx_diag_add(g->diags, f->pos, "'%s' uses %llu bytes of local memory, "
                      "a thread has %d", f->name,
                      (unsigned long long)f->local_bytes, LOCAL_MOST);
    g->bad = true;
}

/* Frames of the deepest chain; `function` has callees before callers. */
static void add_stack(struct graph *g)
{
    struct fgs__sim_code *c = g->c;

    for (uint32_t k = 0; k < c->functions; k++) {
        uint64_t most = 0;

        for (size_t e = 0; e < g->edges; e++) {
            const struct fgs__ptx_func *caller = g->list[g->edge[e].caller];
            const struct fgs__sim_function *callee =
                &c->function[g->list[g->edge[e].callee]->number];
            uint64_t bytes = callee->stack_bytes;

            /* What is passed to x[] is one of the caller's variables. */
            if (callee->func->unsized)
                bytes += fgs__sim_align_up(caller->call_bytes, 16);
            if (caller->number == k && callee < &c->function[k] && bytes > most)
                most = bytes;
        }
        c->function[k].stack_bytes += most;
    }
    c->local_bytes = (uint32_t)c->function[c->functions - 1].func->local_bytes;
    if (c->fp != FGS__SIM_NOREF || c->deep)
        c->local_bytes =
            (uint32_t)c->function[c->functions - 1].stack_bytes;
    if (c->function[c->functions - 1].stack_bytes <= LOCAL_MOST || g->bad)
        return;
    fgs__ptx_diag_add(g->diags, g->entry->pos, "the calls of '%s' use %llu "
                      "bytes of local memory, a thread has %d",
                      g->entry->name,
                      (unsigned long long)
                          c->function[c->functions - 1].stack_bytes,
                      LOCAL_MOST);
    g->bad = true;
}

static bool arrange(struct graph *g)
{
    const fgs_allocator *a = g->c->alloc;
    uint32_t k;

    g->left = fgs__alloc_array(a, g->count, sizeof *g->left);
    g->order = fgs__alloc_array(a, 2 * (size_t)g->count, sizeof *g->order);
    g->out = fgs__zalloc(a, g->count);
    g->c->function = fgs__alloc_array(a, g->count, sizeof *g->c->function);
    if (!g->left || !g->order || !g->out || !g->c->function)
        return false;
    memset(g->c->function, 0, g->count * sizeof *g->c->function);
    g->c->functions = g->count;
    sort(g);
    for (k = 0; k < g->ordered; k++)
        describe(g, k, g->order[k]);
    describe(g, g->count - 1, 0);
    find_cycles(g);
    add_stack(g);
    return true;
}

bool fgs__sim_link(struct fgs__sim_code *c, const struct fgs__ptx_func *entry,
                   struct fgs__ptx_diags *diags, bool *nomem)
{
    struct graph g = { .c = c, .entry = entry, .diags = diags };
    void *items = NULL;

    *nomem = true;
    c->fp = c->sp = FGS__SIM_NOREF;
    if (!fgs__vec_reserve(c->alloc, &items, &g.list_cap, 0, sizeof *g.list))
        return false;
    g.list = items;
    g.list[g.count++] = entry;
    entry->sym->func->number = 0;
    for (uint32_t k = 0; k < g.count && !g.nomem; k++)
        reach_from(&g, k);
    *nomem = g.nomem || !arrange(&g);
    fgs__free(c->alloc, g.list);
    fgs__free(c->alloc, g.edge);
    fgs__free(c->alloc, g.left);
    fgs__free(c->alloc, g.order);
    fgs__free(c->alloc, g.out);
    return !*nomem && !g.bad;
}

void fgs__sim_link_free(struct fgs__sim_code *c)
{
    for (uint32_t k = 0; c->function && k < c->functions; k++) {
        fgs__free(c->alloc, c->function[k].passed);
        fgs__free(c->alloc, c->function[k].place);
        fgs__free(c->alloc, c->function[k].saved);
    }
    for (uint32_t k = 0; k < c->calls; k++)
        fgs__free(c->alloc, c->call[k].passed);
    fgs__free(c->alloc, c->function);
    fgs__free(c->alloc, c->call);
}
