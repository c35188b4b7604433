/* run_execute.c -- fgs run: device, kernels, buffers, rounds, comparison */
#include "run.h"

#include <fgs/fgs_sim.h>

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Everything of a run that the library owns; zeroed = nothing. */
struct parts {
    fgs_device *dev;
    fgs_kernel *init, *producer, *consumer, *ordered;
    fgs_buffer *in, *mid, *out;
    fgs_plan *plan;
    double began; /* seconds */
};

/* What the output holds before each batch, so that nothing left over passes
 * for a result: a NaN that the example never makes. */
enum { POISON = 0xA5 };

/* Copy a text that its owner frees; NULL counts as "". */
#define KEEP(to, from) snprintf(to, sizeof(to), "%s", (from) ? (from) : "")

/* Rounds between two looks at the result. */
static uint32_t batch_rounds(uint64_t rounds)
{
    uint64_t n = (rounds + 31) / 32;

    return (uint32_t)(n < 64 ? 64 : n);
}

static fgs_result seed_software_device(uint64_t seed, fgs_error *err)
{
    fgs_sim_config cfg = {.size = sizeof cfg};
    fgs_result r = fgs_sim_config_get(&cfg, err);

    if (r < 0)
        return r;
    cfg.seed = seed;
    return fgs_sim_config_set(&cfg, err);
}

static fgs_result open_device(const struct run_asked *a, struct parts *p,
                              struct run_done *d)
{
    fgs_device_opts opts = {.size = sizeof opts};
    fgs_result r = FGS_OK;

    opts.provider = a->provider;
    opts.ordinal = (int32_t)a->ordinal;
    if (a->seed_given)
        r = seed_software_device(a->seed, &d->error);
    if (r == FGS_OK)
        r = fgs_device_open(&p->dev, &opts, &d->error);
    if (r < 0)
        return r;
    d->device.size = sizeof d->device;
    r = fgs_device_get_info(p->dev, &d->device, &d->error);
    if (r < 0)
        return r;
    d->device_open = true;
    say_device("", &d->device);
    KEEP(d->provider, d->device.provider);
    return FGS_OK;
}

static fgs_result make_buffers(const struct run_asked *a, struct parts *p,
                               fgs_error *err)
{
    const struct {
        fgs_buffer **to;
        const char *name;
    } rows[] = {{&p->in, "in"}, {&p->mid, "mid"}, {&p->out, "out"}};
    fgs_buffer_desc desc = {.size = sizeof desc};
    fgs_result r = FGS_OK;
    size_t i;

    desc.tiles = a->tiles;
    for (i = 0; i < sizeof rows / sizeof rows[0] && r == FGS_OK; i++) {
        desc.name = rows[i].name;
        desc.element = i ? a->element : FGS_ELEMENT_F32;
        desc.tile_bytes = i ? a->tile_bytes : a->tile_elements * sizeof(float);
        r = fgs_buffer_make(rows[i].to, p->dev, &desc, err);
    }
    return r;
}

/* A kernel's description: what all roles share. */
static fgs_result describe(const struct run_asked *a, fgs_role role,
                           fgs_kernel_desc *d)
{
    fgs_result r = FGS_OK;

    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    d->role = role;
    d->element = a->element;
    d->tile_bytes = (uint32_t)a->tile_bytes;
    d->threads = (uint32_t)a->threads;
    d->language = *a->language == 'c' ? FGS_LANGUAGE_CUDA : FGS_LANGUAGE_PTX;
    if (a->mechanism)
        r = fgs_mechanism_find(a->mechanism, &d->mechanism);
    return r;
}

/* The same plan by its edges, where an order was asked for: the consumer that
 * looks for sentinels, or the one that is told when to load. */
static fgs_result compose(const struct run_asked *a, struct parts *p,
                          const fgs_kernel_desc *consume,
                          const fgs_plan_desc *d, fgs_error *err)
{
    fgs_access made[2] = {{.buffer = p->in}, {.buffer = p->mid, .write = 1}};
    fgs_access used[2] = {{.buffer = p->mid}, {.buffer = p->out, .write = 1}};
    fgs_stage_desc stages[2] = {
        {.size = sizeof stages[0], .name = "producer", .kernel = p->producer,
         .accesses = made, .access_count = 2, .work_ns = d->work_ns,
         .fault_tile = d->fault_tile, .fault_chunk = d->fault_chunk},
        {.size = sizeof stages[1], .name = "consumer", .kernel = p->consumer,
         .accesses = used, .access_count = 2}};
    fgs_use use = {.buffer = p->mid, .fill = FGS_FILL_KERNEL,
                   .kernel = p->init};
    fgs_plan_spec spec = {.size = sizeof spec, .stages = stages, .uses = &use,
                          .stage_count = 2, .use_count = 1, .receipt = 1,
                          .bound_ns = d->bound_ns, .max_tries = d->max_tries};
    fgs_kernel_desc ordered = *consume;
    fgs_result r = fgs_order_find(a->order, &spec.order);

    ordered.engine = FGS_ENGINE_PLAIN;
    ordered.weak = 0;
    if (r == FGS_OK)
        r = fgs_kernel_make(&p->ordered, p->dev, &ordered, err);
    stages[1].ordered = p->ordered;
    return r < 0 ? r : fgs_plan_compose(&p->plan, p->dev, &spec, err);
}

static void keep_order(struct parts *p, struct run_done *d)
{
    fgs_edge_info e = {.size = sizeof e};

    if (fgs_plan_get_edge(p->plan, 0, &e, NULL) < 0)
        return;
    KEEP(d->order, fgs_order_name(e.taken));
    KEEP(d->form, e.form);
    KEEP(d->order_why, e.why);
}

/* Kernels and plan; `stem` is the producer's text, NULL = the healthy one. */
static fgs_result make_plan(const struct run_asked *a, const char *stem,
                            struct parts *p, fgs_error *err)
{
    fgs_kernel_desc init, produce, consume;
    fgs_plan_desc desc = {.size = sizeof desc};
    fgs_result r = describe(a, FGS_ROLE_INIT, &init);

    describe(a, FGS_ROLE_PRODUCER, &produce);
    describe(a, FGS_ROLE_CONSUMER, &consume);
    produce.stem = stem;
    produce.bulk_store = a->bulk_store && !stem;
    produce.saturate = saturate_value(a->saturate);
    consume.weak = a->weak;
    if (r == FGS_OK)
        r = fgs_engine_find(a->engine, &consume.engine);
    if (r < 0 || (r = fgs_kernel_make(&p->init, p->dev, &init, err)) < 0 ||
        (r = fgs_kernel_make(&p->producer, p->dev, &produce, err)) < 0 ||
        (r = fgs_kernel_make(&p->consumer, p->dev, &consume, err)) < 0)
        return r;
    desc.init = p->init;
    desc.producer = p->producer;
    desc.consumer = p->consumer;
    desc.in = p->in;
    desc.mid = p->mid;
    desc.out = p->out;
    desc.no_pdl = a->no_pdl;
    if (stem || !a->stem) { /* a round after a failure has the defaults */
        desc.bound_ns = a->bound_ms * 1000000;
        desc.max_tries = a->max_tries;
        desc.work_ns = a->work_ns;
        desc.fault_tile = a->fault_tile;
        desc.fault_chunk = (uint32_t)a->fault_chunk;
    }
    return a->order ? compose(a, p, &consume, &desc, err)
                    : fgs_plan_make(&p->plan, p->dev, &desc, err);
}

static void drop_plan(struct parts *p)
{
    fgs_plan_free(p->plan);
    fgs_kernel_free(p->ordered);
    fgs_kernel_free(p->consumer);
    fgs_kernel_free(p->producer);
    fgs_kernel_free(p->init);
    p->plan = NULL;
    p->init = p->producer = p->consumer = p->ordered = NULL;
}

static void drop_all(struct parts *p)
{
    drop_plan(p);
    fgs_buffer_free(p->out);
    fgs_buffer_free(p->mid);
    fgs_buffer_free(p->in);
    fgs_device_close(p->dev);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* On a terminal, say twice a second how far it is. */
static void show_progress(struct parts *p, uint64_t done, uint64_t rounds)
{
    struct timespec nap = {.tv_nsec = 1000000};
    double next = seconds() + 0.5;
    bool shown = false;

    if (!isatty(STDERR_FILENO))
        return;
    while (fgs_plan_query(p->plan, NULL) == FGS_E_BUSY) {
        if (seconds() >= next) {
            fprintf(stderr, "\rfgs: %" PRIu64 " of %" PRIu64 " rounds, %.0f s ",
                    done, rounds, seconds() - p->began);
            shown = true;
            next += 0.5;
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < 100000000)
            nap.tv_nsec *= 2;
    }
    if (shown)
        fputs("\r\033[K", stderr);
}

static void add_receipt(fgs_receipt *sum, const fgs_receipt *r)
{
    uint64_t reissues = sum->reissues + r->reissues;
    uint64_t elapsed = sum->elapsed_ns + r->elapsed_ns;
    int32_t overlap = sum->overlap || r->overlap;

    *sum = *r;
    sum->reissues = reissues;
    sum->elapsed_ns = elapsed;
    sum->overlap = overlap;
}

static uint32_t element_at(const unsigned char *p, uint64_t i, uint32_t bits)
{
    uint32_t v = 0;

    if (bits == 4)
        return (uint32_t)p[i / 2] >> (i % 2 * 4) & 0xf;
    memcpy(&v, p + i * (bits / 8), bits / 8);
    return v;
}

static void compare(const struct run_asked *a, const unsigned char *want,
                    const unsigned char *out, struct run_done *d)
{
    uint32_t bits = fgs_element_get_info(a->element)->bits;
    uint64_t i, count = a->tiles * a->tile_elements;

    if (!memcmp(want, out, a->tiles * a->tile_bytes))
        return;
    for (i = 0; i < count; i++) {
        uint32_t should = element_at(want, i, bits);
        uint32_t is = element_at(out, i, bits);

        if (should == is)
            continue;
        if (!d->mismatches++) {
            d->first_bad = i;
            d->want = should;
            d->have = is;
        }
    }
}

/* A wrong result as an error: the library itself saw none. */
static void tell_mismatch(const struct run_asked *a, const unsigned char *out,
                          struct run_done *d)
{
    uint64_t tile = d->first_bad / a->tile_elements;
    unsigned element = (unsigned)(d->first_bad % a->tile_elements);
    uint32_t bits = fgs_element_get_info(a->element)->bits;
    uint64_t chunk = element * (uint64_t)bits / 128;
    fgs_error *e = &d->error;

    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "mismatch");
    snprintf(e->buffer, sizeof e->buffer, "out");
    snprintf(e->kernel, sizeof e->kernel, "%s", d->stem);
    snprintf(e->text, sizeof e->text,
             "%" PRIu64 " elements are wrong; the first is tile %" PRIu64
             " element %u: 0x%0*" PRIx32 " in place of 0x%0*" PRIx32,
             d->mismatches, tile, element, (int)bits / 4, d->have,
             (int)bits / 4, d->want);
    e->tile = tile;
    e->chunk = (uint32_t)chunk;
    memcpy(e->bits, out + tile * a->tile_bytes + chunk * sizeof e->bits,
           sizeof e->bits);
}

/* One batch: poison, run, wait, receipt, compare. */
static fgs_result run_batch(const struct run_asked *a, struct parts *p,
                            uint32_t rounds, const unsigned char *want,
                            unsigned char *out, struct run_done *d)
{
    fgs_receipt receipt = {.size = sizeof receipt};
    uint64_t bytes = a->tiles * a->tile_bytes;
    fgs_result r;

    memset(out, POISON, bytes);
    if ((r = fgs_buffer_write(p->out, 0, out, bytes, &d->error)) < 0 ||
        (r = fgs_plan_run(p->plan, NULL, rounds, &d->error)) < 0)
        return r;
    show_progress(p, d->rounds, a->rounds);
    r = fgs_plan_wait(p->plan, &d->error);
    if (fgs_plan_get_receipt(p->plan, &receipt, NULL) == FGS_OK) {
        add_receipt(&d->receipt, &receipt);
        KEEP(d->assembled_by, receipt.assembled_by);
        KEEP(d->pdl_why, receipt.pdl_why);
        KEEP(d->note, receipt.note);
        d->have_receipt = true;
    }
    if (r < 0)
        return r;
    r = fgs_buffer_read(p->out, 0, out, bytes, &d->error);
    if (r < 0)
        return r;
    compare(a, want, out, d);
    d->rounds += rounds;
    return FGS_OK;
}

/* After a failure: is the device still good for a healthy round?  Where the
 * producer refused a value, nothing is expected of it but the end. */
static bool still_alive(const struct run_asked *a, struct parts *p,
                        fgs_result failed, const unsigned char *want,
                        unsigned char *out)
{
    struct run_asked healthy = *a;
    struct run_done d = {.alive = -1};
    bool refused = failed == FGS_E_SENTINEL;

    drop_plan(p);
    healthy.bound_ms = healthy.max_tries = healthy.work_ns = 0;
    healthy.rounds = 1;
    if (refused)
        healthy.saturate = "up";
    return make_plan(&healthy, NULL, p, NULL) == FGS_OK &&
           run_batch(&healthy, p, 1, want, out, &d) == FGS_OK &&
           (refused || !d.mismatches);
}

void run_execute(const struct run_asked *a, const uint32_t *in,
                 const unsigned char *want, unsigned char *out,
                 struct run_done *d)
{
    struct parts p = {0};
    uint32_t batch = batch_rounds(a->rounds);
    fgs_result r;

    p.began = seconds();
    r = open_device(a, &p, d);
    if (r == FGS_OK)
        r = make_buffers(a, &p, &d->error);
    if (r == FGS_OK)
        r = make_plan(a, a->stem, &p, &d->error);
    if (r == FGS_OK) {
        d->consumer.size = sizeof d->consumer;
        r = fgs_kernel_get_info(p.consumer, &d->consumer);
        d->loaded = r == FGS_OK;
    }
    if (d->loaded) {
        KEEP(d->stem, d->consumer.stem);
        KEEP(d->assembled_by, d->consumer.assembled_by);
        keep_order(&p, d);
    }
    if (r == FGS_OK)
        r = fgs_buffer_write(p.in, 0, in,
                             a->tiles * a->tile_elements * sizeof *in,
                             &d->error);
    while (r == FGS_OK && !d->mismatches && d->rounds < a->rounds) {
        if (batch > a->rounds - d->rounds)
            batch = (uint32_t)(a->rounds - d->rounds);
        r = run_batch(a, &p, batch, want, out, d);
        if (r < 0)
            d->alive = still_alive(a, &p, r, want, out);
    }
    d->result = r;
    if (r == FGS_OK) {
        d->verified = true;
        d->ok = !d->mismatches;
        d->digest = values_digest(out, a->tiles * a->tile_bytes);
        if (d->mismatches)
            tell_mismatch(a, out, d);
    }
    drop_all(&p);
}
