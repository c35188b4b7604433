/* run_print.c -- fgs run: the result as a table or as JSON */
#include "run.h"

#include <inttypes.h>
#include <string.h>

static const char *yes_no(int32_t yes)
{
    return yes ? "yes" : "no";
}

static void bits_text(const uint8_t bits[16], char text[33])
{
    int i;

    for (i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
}

/* Did a kernel or the comparison name a place? */
static bool has_place(const fgs_error *e)
{
    return e->kernel[0] != 0;
}

/* ------------------------------------------------------------ as a table -- */

static void print_error(const struct run_done *d)
{
    const fgs_error *e = &d->error;
    char bits[33];

    printf("failed     %s\n", e->name);
    if (has_place(e)) {
        bits_text(e->bits, bits);
        printf("place      kernel %s, buffer %s, tile %" PRIu64
               ", chunk %" PRIu32 "\n"
               "bits       %s (in memory order)\n",
               e->kernel, e->buffer, e->tile, e->chunk, bits);
    }
    if (e->tries || e->elapsed_ns)
        printf("waited     %" PRIu64 " tries, %" PRIu64 " ns\n", e->tries,
               e->elapsed_ns);
    if (d->alive >= 0)
        printf("context    %s\n",
               d->alive ? "alive: a healthy round was verified after it"
                        : "lost");
}

static void print_receipt(const struct run_asked *a, const struct run_done *d)
{
    const fgs_receipt *r = &d->receipt;

    printf("engine     %s, PTX %d.%d for %s, assembled by %s\n",
           fgs_engine_name(r->engine), (int)r->ptx_version / 10,
           (int)r->ptx_version % 10, r->ptx_target, d->assembled_by);
    if (a->order)
        printf("order      %s, %s: %s\n", d->order, d->form, d->order_why);
    printf("re-issues  %" PRIu64 "\n", r->reissues);
    printf("overlap    %s%s\n", yes_no(r->overlap),
           r->overlap ? ": a consumer block started before the last producer "
                        "block ended"
                      : "");
    printf("early      %s: %s\n", yes_no(r->pdl), d->pdl_why);
    printf("elapsed    %" PRIu64 ".%03u us\n", r->elapsed_ns / 1000,
           (unsigned)(r->elapsed_ns % 1000));
    if (r->compiled || r->cached)
        printf("compiled   %" PRIu64 ", %" PRIu64 " from the cache\n",
               r->compiled, r->cached);
    if (d->note[0])
        printf("note       %s\n", d->note);
}

void run_print(const struct run_asked *a, const struct run_done *d)
{
    if (d->ok)
        printf("verified   %" PRIu64 " elements in %" PRIu64 " tiles, %" PRIu64
               " round%s\n",
               a->tiles * a->tile_elements, a->tiles, d->rounds,
               d->rounds == 1 ? "" : "s");
    else
        print_error(d);
    if (d->verified)
        printf("digest     %016" PRIx64 "\n", d->digest);
    if (d->have_receipt)
        print_receipt(a, d);
}

/* --------------------------------------------------------------- as JSON -- */

static void json_error(struct json *j, const struct run_done *d)
{
    const fgs_error *e = &d->error;
    char bits[33];

    json_open(j, "error", '{');
    json_text(j, "name", e->name);
    json_text(j, "text", e->text);
    if (has_place(e)) {
        bits_text(e->bits, bits);
        json_text(j, "kernel", e->kernel);
        json_text(j, "buffer", e->buffer);
        json_number(j, "tile", e->tile);
        json_number(j, "chunk", e->chunk);
        json_text(j, "bits", bits);
        json_number(j, "tries", e->tries);
        json_number(j, "elapsed_ns", e->elapsed_ns);
    } else {
        json_null(j, "kernel");
        json_null(j, "buffer");
        json_null(j, "tile");
        json_null(j, "chunk");
        json_null(j, "bits");
        json_null(j, "tries");
        json_null(j, "elapsed_ns");
    }
    json_close(j, '}');
    if (d->alive >= 0)
        json_bool(j, "context_alive", d->alive);
    else
        json_null(j, "context_alive");
}

static void json_version(struct json *j, const char *key, int32_t tenths)
{
    char text[32];

    snprintf(text, sizeof text, "%d.%d", (int)tenths / 10, (int)tenths % 10);
    json_text(j, key, tenths ? text : NULL);
}

static void json_device(struct json *j, const struct run_done *d)
{
    json_text(j, "provider", d->device_open ? d->provider : NULL);
    json_text(j, "device", d->device_open ? d->device.name : NULL);
    json_version(j, "cc", d->device.cc);
}

static void json_kernel(struct json *j, const struct run_asked *a,
                        const struct run_done *d)
{
    const fgs_element_info *e = fgs_element_get_info(a->element);
    const fgs_mechanism_info *m = fgs_mechanism_get_info(e->mechanism);
    const fgs_kernel_info *k = &d->consumer;

    json_text(j, "engine", d->loaded ? fgs_engine_name(k->engine) : NULL);
    json_version(j, "ptx_version", k->ptx_version);
    json_text(j, "ptx_target", d->loaded ? k->ptx_target : NULL);
    json_text(j, "assembled_by", d->loaded ? d->assembled_by : NULL);
    json_text(j, "language", a->language);
    json_text(j, "element", e->name);
    json_text(j, "mechanism", m->qualifier);
}

void run_print_json(const struct run_asked *a, const struct run_done *d)
{
    const fgs_receipt *r = &d->receipt;
    struct json j = {.to = stdout};
    char digest[17];

    snprintf(digest, sizeof digest, "%016" PRIx64, d->digest);
    json_open(&j, NULL, '{');
    json_device(&j, d);
    json_kernel(&j, a, d);
    json_number(&j, "tiles", a->tiles);
    json_number(&j, "tile_bytes", a->tile_bytes);
    json_number(&j, "threads", a->threads);
    json_number(&j, "rounds", a->rounds);
    json_bool(&j, "ok", d->ok);
    if (d->verified)
        json_number(&j, "mismatches", d->mismatches);
    else
        json_null(&j, "mismatches");
    json_text(&j, "digest", d->verified ? digest : NULL);
    json_number(&j, "reissues", r->reissues);
    json_text(&j, "order", d->order[0] ? d->order : NULL);
    json_bool(&j, "pdl", r->pdl);
    json_bool(&j, "overlap", r->overlap);
    json_number(&j, "elapsed_ns", r->elapsed_ns);
    json_number(&j, "compiled", r->compiled);
    json_number(&j, "cached", r->cached);
    if (!d->ok)
        json_error(&j, d);
    json_close(&j, '}');
}
