/* plan_tell.c -- a composed plan and its run, as text, JSON or for Graphviz */
#include "plan_run.h"

#include <inttypes.h>
#include <string.h>

static void put_us(uint64_t ns)
{
    printf("%" PRIu64 ".%03u us", ns / 1000, (unsigned)(ns % 1000));
}

static uint64_t volume(const uint32_t dim[3])
{
    return (uint64_t)dim[0] * dim[1] * dim[2];
}

static const char *stage_name(const struct plan_parts *p, uint32_t i)
{
    fgs_stage_info s = {.size = sizeof s};

    return fgs_plan_get_stage(p->plan, i, &s, NULL) == FGS_OK ? s.name : "?";
}

static void get_info(const struct plan_parts *p, fgs_plan_info *info)
{
    memset(info, 0, sizeof *info);
    info->size = sizeof *info;
    fgs_plan_get_info(p->plan, info, NULL);
}

/* ----------------------------------------------------------------- text -- */

static void put_dim(const uint32_t dim[3])
{
    printf("%" PRIu32, dim[0]);
    if (dim[1] > 1 || dim[2] > 1)
        printf("x%" PRIu32, dim[1]);
    if (dim[2] > 1)
        printf("x%" PRIu32, dim[2]);
}

static void put_stage(const struct plan_parts *p, uint32_t i)
{
    fgs_stage_info s = {.size = sizeof s};

    if (fgs_plan_get_stage(p->plan, i, &s, NULL) < 0)
        return;
    printf("stage      %s: %s%s%s, ", s.name, s.entry, *s.engine ? ", " : "",
           s.engine);
    put_dim(s.grid);
    fputs(" blocks of ", stdout);
    put_dim(s.block);
    if (volume(s.cluster)) {
        fputs(", clusters of ", stdout);
        put_dim(s.cluster);
    }
    printf(", %" PRIu32 " bytes shared\n", s.shared_bytes);
    if (*s.attributes)
        printf("           %s\n", s.attributes);
    if (s.last_ns) {
        fputs("           ", stdout);
        put_us(s.last_ns - s.first_ns);
        printf(" in the last round, %" PRIu64 " re-issues\n", s.reissues);
    }
}

/* Nothing without a trace. */
static void put_waits(const struct plan_parts *p, uint32_t edge)
{
    fgs_edge_waits w = {.size = sizeof w};

    if (fgs_plan_get_waits(p->plan, edge, &w, NULL) < 0 || !w.blocks)
        return;
    printf("           %" PRIu64 " blocks waited ", w.blocks);
    put_us(w.min_ns);
    fputs(" at least, half of them ", stdout);
    put_us(w.p50_ns);
    fputs(" at most, 90 % ", stdout);
    put_us(w.p90_ns);
    fputs(", 99 % ", stdout);
    put_us(w.p99_ns);
    fputs(", all ", stdout);
    put_us(w.max_ns);
    putchar('\n');
}

static void put_edge(const struct plan_parts *p, uint32_t i, bool why)
{
    fgs_edge_info e = {.size = sizeof e};

    if (fgs_plan_get_edge(p->plan, i, &e, NULL) < 0)
        return;
    printf("edge       %s -> ", stage_name(p, e.from));
    printf("%s over %s: %s, %s", stage_name(p, e.to), e.buffer,
           fgs_order_name(e.taken), e.form);
    if (e.overlap_ns) {
        fputs(", overlap ", stdout);
        put_us(e.overlap_ns);
        if (e.early_blocks)
            printf(" (%" PRIu32 " early blocks)", e.early_blocks);
    }
    putchar('\n');
    if (!why)
        return;
    if (*e.why)
        printf("           %s\n", e.why);
    if (*e.form_why)
        printf("           %s: %s\n", e.form, e.form_why);
    if (*e.reuse)
        printf("           fill %s, %" PRIu32 " %s\n", fgs_fill_name(e.fill),
               e.slots, e.reuse);
    put_waits(p, i);
}

static void put_counts(const struct plan_parts *p)
{
    fgs_plan_info info;

    get_info(p, &info);
    printf("stages     %" PRIu32 ", %" PRIu32 " edges, %" PRIu32
           " buffers, longest path %" PRIu32 "\n",
           info.stages, info.edges, info.buffers, info.depth);
}

void plan_show(const struct plan_parts *p, bool all)
{
    fgs_plan_info info;
    uint32_t i;

    get_info(p, &info);
    put_counts(p);
    for (i = 0; all && i < info.stages; i++)
        put_stage(p, i);
    for (i = 0; i < info.edges; i++)
        put_edge(p, i, all);
}

void plan_tell(const struct plan_parts *p, const struct plan_done *d,
               bool receipt)
{
    if (d->ok)
        printf("verified   %" PRIu32 " result%s, %" PRIu64 " tiles, %" PRIu32
               " round%s\n",
               d->results, d->results == 1 ? "" : "s", d->tiles, d->rounds,
               d->rounds == 1 ? "" : "s");
    else
        printf("failed     %s\n", d->error.name);
    if (d->unknown)
        printf("unknown    %" PRIu64 " tiles of kernels without a mirror\n",
               d->unknown);
    if (d->compared)
        printf("digest     %016" PRIx64 "\n", d->digest);
    if (d->composed)
        plan_show(p, receipt);
    if (d->ran) {
        printf("re-issues  %" PRIu64 "\n", d->receipt.reissues);
        fputs("elapsed    ", stdout);
        put_us(d->receipt.elapsed_ns);
        putchar('\n');
    }
}

/* ----------------------------------------------------------------- JSON -- */

static void json_dim(struct json *j, const char *key, const uint32_t dim[3])
{
    int i;

    json_open(j, key, '[');
    for (i = 0; i < 3; i++)
        json_number(j, NULL, dim[i]);
    json_close(j, ']');
}

static void json_stage(const struct plan_parts *p, struct json *j, uint32_t i)
{
    fgs_stage_info s = {.size = sizeof s};

    if (fgs_plan_get_stage(p->plan, i, &s, NULL) < 0)
        return;
    json_open(j, NULL, '{');
    json_text(j, "name", s.name);
    json_text(j, "entry", s.entry);
    json_text(j, "engine", *s.engine ? s.engine : NULL);
    json_text(j, "assembled_by", *s.assembled_by ? s.assembled_by : NULL);
    json_text(j, "attributes", s.attributes);
    json_dim(j, "grid", s.grid);
    json_dim(j, "block", s.block);
    json_dim(j, "cluster", s.cluster);
    json_number(j, "shared_bytes", s.shared_bytes);
    json_number(j, "reissues", s.reissues);
    json_number(j, "reread_bytes", s.reread_bytes);
    json_number(j, "first_ns", s.first_ns);
    json_number(j, "last_ns", s.last_ns);
    json_close(j, '}');
}

static void json_waits(const struct plan_parts *p, struct json *j,
                       uint32_t edge)
{
    fgs_edge_waits w = {.size = sizeof w};
    int i, end = FGS_WAIT_BUCKETS;

    if (fgs_plan_get_waits(p->plan, edge, &w, NULL) < 0)
        return;
    json_open(j, "waits", '{');
    json_number(j, "blocks", w.blocks);
    json_number(j, "sum_ns", w.sum_ns);
    json_number(j, "min_ns", w.min_ns);
    json_number(j, "p50_ns", w.p50_ns);
    json_number(j, "p90_ns", w.p90_ns);
    json_number(j, "p99_ns", w.p99_ns);
    json_number(j, "max_ns", w.max_ns);
    json_open(j, "log2", '[');
    while (end && !w.log2[end - 1])
        end--;
    for (i = 0; i < end; i++)
        json_number(j, NULL, w.log2[i]);
    json_close(j, ']');
    json_close(j, '}');
}

static void json_edge(const struct plan_parts *p, struct json *j, uint32_t i)
{
    fgs_edge_info e = {.size = sizeof e};

    if (fgs_plan_get_edge(p->plan, i, &e, NULL) < 0)
        return;
    json_open(j, NULL, '{');
    json_text(j, "from", stage_name(p, e.from));
    json_text(j, "to", stage_name(p, e.to));
    json_text(j, "buffer", e.buffer);
    json_text(j, "asked", fgs_order_name(e.asked));
    json_text(j, "taken", fgs_order_name(e.taken));
    json_text(j, "why", e.why);
    json_text(j, "form", e.form);
    json_text(j, "form_why", e.form_why);
    json_text(j, "fill", *e.reuse ? fgs_fill_name(e.fill) : NULL);
    json_number(j, "slots", e.slots);
    json_text(j, "reuse", *e.reuse ? e.reuse : NULL);
    json_bool(j, "overlap", e.overlap);
    json_number(j, "early_blocks", e.early_blocks);
    json_number(j, "overlap_ns", e.overlap_ns);
    json_waits(p, j, i);
    json_close(j, '}');
}

/* Members of the object that is open. */
void plan_show_json(const struct plan_parts *p, struct json *j)
{
    fgs_plan_info info;
    uint32_t i;

    get_info(p, &info);
    json_text(j, "provider", p->info.provider);
    json_text(j, "device", p->info.name);
    json_number(j, "depth", info.depth);
    json_open(j, "stages", '[');
    for (i = 0; i < info.stages; i++)
        json_stage(p, j, i);
    json_close(j, ']');
    json_open(j, "edges", '[');
    for (i = 0; i < info.edges; i++)
        json_edge(p, j, i);
    json_close(j, ']');
}

void plan_tell_json(const struct plan_parts *p, const struct plan_done *d)
{
    struct json j = {.to = stdout};
    char digest[17];

    snprintf(digest, sizeof digest, "%016" PRIx64, d->digest);
    json_open(&j, NULL, '{');
    json_bool(&j, "ok", d->ok);
    json_number(&j, "rounds", d->rounds);
    json_number(&j, "results", d->results);
    json_number(&j, "tiles", d->tiles);
    json_number(&j, "unknown_tiles", d->unknown);
    json_text(&j, "digest", d->compared ? digest : NULL);
    json_number(&j, "reissues", d->receipt.reissues);
    json_number(&j, "elapsed_ns", d->receipt.elapsed_ns);
    if (!d->ok) {
        json_open(&j, "error", '{');
        json_text(&j, "name", d->error.name);
        json_text(&j, "text", d->error.text);
        json_close(&j, '}');
    }
    if (d->composed)
        plan_show_json(p, &j);
    json_close(&j, '}');
}

/* ------------------------------------------------------------- Graphviz -- */

static void put_quoted(const char *s)
{
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            putchar('\\');
        putchar(*s);
    }
}

/* Grids that wait for grids are drawn solid, what is handed over tile by tile
 * broken. */
static const char *style_of(fgs_order o)
{
    return o == FGS_ORDER_SENTINEL ? "dashed"
           : o == FGS_ORDER_FLAG   ? "dotted"
           : o == FGS_ORDER_PDL    ? "bold"
                                   : "solid";
}

void plan_show_dot(const struct plan_parts *p)
{
    fgs_stage_info s = {.size = sizeof s};
    fgs_edge_info e = {.size = sizeof e};
    fgs_plan_info info;
    uint32_t i;

    get_info(p, &info);
    puts("digraph plan {\n    rankdir=LR;\n    node [shape=box];");
    for (i = 0; i < info.stages; i++) {
        if (fgs_plan_get_stage(p->plan, i, &s, NULL) < 0)
            continue;
        printf("    s%" PRIu32 " [label=\"", i);
        put_quoted(s.name);
        printf("\\n%s\\n%" PRIu64 " x %" PRIu64 "\"];\n", s.entry,
               volume(s.grid), volume(s.block));
    }
    for (i = 0; i < info.edges; i++) {
        if (fgs_plan_get_edge(p->plan, i, &e, NULL) < 0)
            continue;
        printf("    s%" PRIu32 " -> s%" PRIu32 " [style=%s label=\"", e.from,
               e.to, style_of(e.taken));
        put_quoted(e.buffer);
        printf("\\n%s\"];\n", fgs_order_name(e.taken));
    }
    puts("}");
}
