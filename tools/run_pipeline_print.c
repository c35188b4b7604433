/* run_pipeline_print.c -- fgs run --pipeline: the result as lines or JSON */
#include "run_pipeline.h"

#include <inttypes.h>
#include <string.h>

static void bits_text(const uint8_t bits[16], char text[33])
{
    int i;

    for (i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
}

static void print_error(const struct pipeline_done *d)
{
    const fgs_error *e = &d->error;
    char bits[33];

    printf("failed     %s\n", e->name);
    if (e->kernel[0]) {
        bits_text(e->bits, bits);
        printf("place      kernel %s, buffer %s, tile %" PRIu64
               ", chunk %" PRIu32 ", stage %" PRIu32 "\n"
               "bits       %s (in memory order)\n",
               e->kernel, e->buffer, e->tile, e->chunk, e->stage, bits);
    }
    if (e->tries || e->elapsed_ns)
        printf("waited     %" PRIu64 " tries, %" PRIu64 " ns\n", e->tries,
               e->elapsed_ns);
    if (d->alive >= 0)
        printf("context    %s\n",
               d->alive ? "alive: a healthy round was verified after it"
                        : "lost");
}

static void print_lines(const struct pipeline_asked *a,
                        const struct pipeline_done *d)
{
    unsigned i;

    if (d->ok)
        printf("verified   pipeline %s, %" PRIu64 " tiles, %" PRIu64
               " stage%s, %" PRIu64 " round%s\n",
               a->info->name, a->tiles, a->stages, a->stages == 1 ? "" : "s",
               d->rounds, d->rounds == 1 ? "" : "s");
    else
        print_error(d);
    if (d->verified)
        printf("digest     %016" PRIx64 "\n", d->digest);
    if (!d->stem[0])
        return;
    printf("engine     %s, %s, PTX %s for %s, assembled by %s\n",
           fgs_engine_name(a->engine), d->stem, d->version, d->target,
           d->assembled_by);
    if (d->has_counts)
        printf("re-issues  %" PRIu64 "\noverlap    %s\n", d->counts.reissues,
               d->counts.overlap ? "yes" : "no");
    for (i = 0; i < d->mores; i++)
        printf("%-10s %" PRIu64 "\n", d->more[i].name, d->more[i].value);
    printf("elapsed    %.3f us\n", d->elapsed_ns / 1e3);
}

static void json_error(struct json *j, const struct pipeline_done *d)
{
    const fgs_error *e = &d->error;
    char bits[33];

    json_open(j, "error", '{');
    json_text(j, "name", e->name);
    json_text(j, "text", e->text);
    if (e->kernel[0]) {
        bits_text(e->bits, bits);
        json_text(j, "kernel", e->kernel);
        json_text(j, "buffer", e->buffer);
        json_number(j, "tile", e->tile);
        json_number(j, "chunk", e->chunk);
        json_number(j, "stage", e->stage);
        json_text(j, "bits", bits);
        json_number(j, "tries", e->tries);
        json_number(j, "elapsed_ns", e->elapsed_ns);
    }
    json_close(j, '}');
    if (d->alive >= 0)
        json_bool(j, "context_alive", d->alive);
    else
        json_null(j, "context_alive");
}

static void print_json(const struct pipeline_asked *a,
                       const struct pipeline_done *d)
{
    struct json j = {.to = stdout};
    char digest[17], cc[16];
    unsigned i;

    snprintf(digest, sizeof digest, "%016" PRIx64, d->digest);
    snprintf(cc, sizeof cc, "%d.%d", (int)d->cc / 10, (int)d->cc % 10);
    json_open(&j, NULL, '{');
    json_text(&j, "pipeline", a->info->name);
    json_text(&j, "provider", d->open ? d->provider : NULL);
    json_text(&j, "device", d->open ? d->device : NULL);
    json_text(&j, "cc", d->open ? cc : NULL);
    json_text(&j, "engine", fgs_engine_name(a->engine));
    json_text(&j, "stem", d->stem[0] ? d->stem : NULL);
    json_text(&j, "ptx_version", d->stem[0] ? d->version : NULL);
    json_text(&j, "ptx_target", d->stem[0] ? d->target : NULL);
    json_text(&j, "assembled_by", d->open ? d->assembled_by : NULL);
    json_text(&j, "element", fgs_element_get_info(a->element)->name);
    json_number(&j, "tiles", a->tiles);
    json_number(&j, "tile_bytes", a->tile_bytes);
    json_number(&j, "threads", a->threads);
    json_number(&j, "stages", a->stages);
    json_number(&j, "rounds", d->rounds);
    json_bool(&j, "ok", d->ok);
    json_text(&j, "digest", d->verified ? digest : NULL);
    json_number(&j, "mismatches", d->mismatches);
    if (d->has_counts) {
        json_number(&j, "reissues", d->counts.reissues);
        json_bool(&j, "overlap", d->counts.overlap);
    } else {
        json_null(&j, "reissues");
        json_null(&j, "overlap");
    }
    for (i = 0; i < d->mores; i++)
        json_number(&j, d->more[i].name, d->more[i].value);
    json_number(&j, "elapsed_ns", (uint64_t)d->elapsed_ns);
    if (!d->ok)
        json_error(&j, d);
    json_close(&j, '}');
}

void pipeline_print(const struct pipeline_asked *a,
                    const struct pipeline_done *d)
{
    if (a->json)
        print_json(a, d);
    else
        print_lines(a, d);
}
