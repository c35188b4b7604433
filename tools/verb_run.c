/* verb_run.c -- fgs run: the guide's example, verified */
#include "run.h"
#include "run_pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char usage_run[] =
    "usage: fgs run [OPTION]...\n"
    "\n"
    "Fill a buffer with the sentinel, let a producer double float32 values\n"
    "into its tiles and a consumer reverse each tile as soon as it is ready;\n"
    "compare the result bit by bit.\n"
    "\n"
    "  --provider cuda|sim  a GPU or the software device; default: a GPU that\n"
    "                       can run an engine, else the software device\n"
    "  --device N           its N-th device (default 0)\n"
    "  --pipeline NAME      a consumer with several tiles in flight; it has\n"
    "                       other options: fgs run --pipeline NAME --help\n"
    "  --engine NAME        auto, report, bulk, poll or async (default auto)\n"
    "  --element NAME       what the tiles hold (default f32)\n"
    "  --mechanism WORDS    report mechanism, which must be the element's\n"
    "  --saturate S         integers that are the sentinel: up (default),\n"
    "                       down or refuse\n"
    "  --tile BYTES         of a tile, multiple of 16 (default 4096)\n"
    "  --threads N          of a block, multiple of 32 (default 256)\n"
    "  --language ptx|cuda  the kernels in PTX (default), or their twins in\n"
    "                       CUDA C++, compiled by NVRTC\n"
    "  --bulk-store         the producer stores tiles by bulk copies\n"
    "  --weak               bulk: the weak copy, for PTX 8.6\n"
    "  --tiles N            tiles (default 64)\n"
    "  --rounds N           rounds, each with a new fill (default 1)\n"
    "  --input FILE         float32 values: a NumPy file or raw\n"
    "  --output FILE        the result: NumPy if FILE ends in .npy, else raw\n"
    "  --seed N             seed of the values, and of the software device\n"
    "                       (default 1, and FGS_SIM_SEED)\n"
    "  --slow-producer NS   extra time of a producer block\n"
    "  --inject WHAT        leak[:TILE[:CHUNK]] never writes a chunk,\n"
    "                       sentinel[:TILE[:CHUNK]] writes the sentinel into\n"
    "                       it (default: the middle tile, chunk 0)\n"
    "  --bound-ms N         time bound of each wait loop (default 2000)\n"
    "  --max-tries N        bound on tries of each wait loop (default none)\n"
    "  --order ORDER        auto, stream, pdl, flag or sentinel: what the\n"
    "                       consumer waits for (default: the sentinel)\n"
    "  --no-pdl             plain stream order, no early start\n"
    "  --json               the result as JSON\n"
    "\n"
    "Exit: 0 verified, 1 failed, 2 wrong usage, 77 no such device.\n";

static const struct {
    const char *word, *stem;
} faults[] = {
    {"leak", "scale_produce_leak"},
    {"sentinel", "scale_produce_sentinel"},
};

/* A number that ends at ':' or at the text's end; -1 = good. */
static int inject_number(const char **text, const char *what, uint64_t count,
                         uint64_t *out)
{
    char digits[32];
    size_t len = strcspn(*text, ":");
    const char *wrong = "is too large";

    if (len < sizeof digits) {
        memcpy(digits, *text, len);
        digits[len] = 0;
        wrong = number_parse(digits, 0, count - 1, out);
    }
    if (wrong)
        return usage_error("run", "--inject: %s \"%.*s\" %s (0 to %" PRIu64 ")",
                           what, (int)len, *text, wrong, count - 1);
    *text += len;
    return -1;
}

static int inject_parse(struct run_asked *a)
{
    const char *text = a->inject;
    size_t i, len = strcspn(text, ":");
    int code;

    for (i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (strlen(faults[i].word) == len &&
            !strncmp(text, faults[i].word, len))
            a->stem = faults[i].stem;
    if (!a->stem)
        return usage_error("run", "--inject: \"%.*s\" is none of leak|sentinel",
                           (int)len, text);
    a->fault_tile = a->tiles / 2;
    text += len;
    if (*text) {
        text++;
        code = inject_number(&text, "tile", a->tiles, &a->fault_tile);
        if (code >= 0)
            return code;
    }
    if (*text) {
        text++;
        code = inject_number(&text, "chunk", a->tile_bytes / 16,
                             &a->fault_chunk);
        if (code >= 0)
            return code;
    }
    if (*text)
        return usage_error("run", "--inject: \"%s\" is left over", text);
    return -1;
}

/* What element and tile come to. */
static int ask_shape(struct run_asked *a)
{
    const fgs_element_info *e;
    fgs_mechanism m;

    if (fgs_element_find(a->element_name, &a->element) < 0)
        return usage_error("run", "--element: \"%s\" is no element type",
                           a->element_name);
    if (a->mechanism && fgs_mechanism_find(a->mechanism, &m) < 0)
        return usage_error("run", "--mechanism: \"%s\" is none",
                           a->mechanism);
    if (a->tile_bytes % 16)
        return usage_error("run", "--tile: %" PRIu64 " is no multiple of 16",
                           a->tile_bytes);
    if (a->threads % 32)
        return usage_error("run", "--threads: %" PRIu64 " is no multiple of 32",
                           a->threads);
    if (a->bulk_store && a->inject)
        return usage_error("run", "--bulk-store: not with --inject");
    /* Integers take the next value, unless asked; floats have no choice. */
    e = fgs_element_get_info(a->element);
    if (!a->saturate_given)
        a->saturate = e->rule == FGS_RULE_NEVER_SENTINEL ? "up" : "refuse";
    a->tile_elements = a->tile_bytes * 8 / e->bits;
    return -1;
}

static int ask(int argc, char **argv, struct run_asked *a)
{
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &a->provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a->ordinal, 0, INT32_MAX, NULL, NULL},
        {"--engine", OPT_TEXT, &a->engine, 0, 0,
         "auto|report|bulk|poll|async", NULL},
        {"--element", OPT_TEXT, &a->element_name, 0, 0, NULL, NULL},
        {"--mechanism", OPT_TEXT, &a->mechanism, 0, 0, NULL, NULL},
        {"--saturate", OPT_TEXT, &a->saturate, 0, 0, SATURATE_WORDS,
         &a->saturate_given},
        {"--tile", OPT_NUMBER, &a->tile_bytes, 16, 1 << 20, NULL, NULL},
        {"--threads", OPT_NUMBER, &a->threads, 32, 1024, NULL, NULL},
        {"--language", OPT_TEXT, &a->language, 0, 0, "ptx|cuda", NULL},
        {"--bulk-store", OPT_FLAG, &a->bulk_store, 0, 0, NULL, NULL},
        {"--weak", OPT_FLAG, &a->weak, 0, 0, NULL, NULL},
        {"--tiles", OPT_NUMBER, &a->tiles, 1, INT32_MAX, NULL, &a->tiles_given},
        {"--rounds", OPT_NUMBER, &a->rounds, 1, UINT32_MAX, NULL, NULL},
        {"--input", OPT_TEXT, &a->input, 0, 0, NULL, NULL},
        {"--output", OPT_TEXT, &a->output, 0, 0, NULL, NULL},
        {"--seed", OPT_NUMBER, &a->seed, 0, UINT64_MAX, NULL, &a->seed_given},
        {"--slow-producer", OPT_NUMBER, &a->work_ns, 0, UINT64_MAX, NULL, NULL},
        {"--inject", OPT_TEXT, &a->inject, 0, 0, NULL, NULL},
        {"--bound-ms", OPT_NUMBER, &a->bound_ms, 1, UINT64_MAX / 1000000, NULL,
         NULL},
        {"--max-tries", OPT_NUMBER, &a->max_tries, 0, UINT64_MAX, NULL, NULL},
        {"--order", OPT_TEXT, &a->order, 0, 0,
         "auto|stream|pdl|flag|sentinel", NULL},
        {"--no-pdl", OPT_FLAG, &a->no_pdl, 0, 0, NULL, NULL},
        {"--json", OPT_FLAG, &a->json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code;

    code = opt_parse(verb_find("run"), argc, argv, table, &operands);
    if (code >= 0)
        return code;
    if (operands)
        return usage_error("run", "\"%s\": no file or word is expected",
                           argv[1]);
    if (a->weak && strcmp(a->engine, "bulk"))
        return usage_error("run", "--weak: needs --engine bulk");
    if (a->order && a->no_pdl)
        return usage_error("run", "--no-pdl: not with --order");
    return ask_shape(a);
}

/* The input: from the file, else from the seed. */
static int fetch(struct run_asked *a, uint32_t **in)
{
    uint64_t count = a->tiles * a->tile_elements;
    int code;

    if (!a->input) {
        *in = calloc(count, sizeof **in);
        if (!*in)
            return failure("run", "no memory for %" PRIu64 " tiles", a->tiles);
        values_make(*in, count, a->seed);
        return -1;
    }
    code = values_read("run", a->input, a->tile_elements, in, &count);
    if (code != EXIT_GOOD)
        return code;
    count /= a->tile_elements;
    if (a->tiles_given && a->tiles != count)
        return usage_error(
            "run", "--tiles: %" PRIu64 " was given and %s holds %" PRIu64,
            a->tiles, a->input, count);
    a->tiles = count;
    return -1;
}

/* What must come of the input; a value that the producer refuses ends the run,
 * so what is behind it does not matter. */
static void expect(const struct run_asked *a, const uint32_t *in,
                   unsigned char *want, unsigned char *room)
{
    fgs_ref_produce(a->element, saturate_value(a->saturate), in, room,
                    a->tiles * a->tile_elements, NULL);
    fgs_ref_consume(a->element, room, want, a->tiles, a->tile_bytes);
}

static bool is_pipeline(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--pipeline") ||
            !strncmp(argv[i], "--pipeline=", 11))
            return true;
    return false;
}

int verb_run(int argc, char **argv)
{
    struct run_asked a = {.engine = "auto", .element_name = "f32",
                          .language = "ptx",
                          .tile_bytes = TILE_BYTES, .threads = 256,
                          .tiles = 64, .rounds = 1, .seed = 1};
    struct run_done done = {.alive = -1};
    unsigned char *want = NULL, *out = NULL;
    uint32_t *in = NULL;
    size_t bytes;
    int code = is_pipeline(argc, argv) ? -2 : ask(argc, argv, &a);

    if (code == -2)
        return run_pipeline(argc, argv);
    if (code < 0)
        code = fetch(&a, &in);
    if (code < 0 && a.inject)
        code = inject_parse(&a);
    if (code >= 0)
        goto end;

    bytes = a.tiles * a.tile_bytes;
    want = malloc(bytes);
    out = malloc(bytes);
    if (!want || !out) {
        code = failure("run", "no memory for %" PRIu64 " tiles", a.tiles);
        goto end;
    }
    expect(&a, in, want, out);
    run_execute(&a, in, want, out, &done);
    code = done.ok ? EXIT_GOOD : code_of(done.result);
    if (!done.ok)
        failure("run", "%s", done.error.text);
    if (a.json)
        run_print_json(&a, &done);
    else
        run_print(&a, &done);
    if (done.verified && a.output &&
        values_write("run", a.output, a.element, out, a.tiles, a.tile_bytes))
        code = EXIT_BAD;
end:
    free(out);
    free(want);
    free(in);
    return code;
}
