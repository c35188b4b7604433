/* run_pipeline.c -- fgs run --pipeline: options, table of callbacks */
#include "run_pipeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct pipeline_row rows[] = {
    {"fused", ASK_ENGINE | ASK_SHAPE | ASK_ROUNDS | ASK_BLOCKS | ASK_WORK |
                  ASK_CLAIM | ASK_INJECT,
     0, fused_check, fused_run},
    {"histogram", ASK_INJECT | ASK_ROUNDS | ASK_BLOCKS | ASK_WORK | ASK_BINS |
                      ASK_THREADS,
     0, histogram_check, histogram_run},
    {"double-buffer",
     ASK_STAGES | ASK_ELEMENT | ASK_SHAPE | ASK_INJECT | ASK_ROUNDS |
         ASK_BLOCKS | ASK_WORK,
     0, NULL, double_buffer_run},
    {"cta-pair", ASK_SHAPE | ASK_INJECT | ASK_ROUNDS | ASK_WORK,
     0, cta_pair_check, cta_pair_run},
    {"full-empty",
     ASK_STAGES | ASK_ROUNDS | ASK_BLOCKS | ASK_ENGINE | ASK_INJECT |
         ASK_WORK | ASK_PRODUCT,
     FULL_EMPTY_BOX, full_empty_check, full_empty_run},
    {"retry-warp",
     ASK_STAGES | ASK_ELEMENT | ASK_SHAPE | ASK_INJECT | ASK_ROUNDS |
         ASK_BLOCKS | ASK_WORK | ASK_ENGINE,
     0, retry_warp_check, retry_warp_run},
};

static const char usage_head[] =
    "usage: fgs run --pipeline NAME [OPTION]...\n"
    "\n"
    "Run a consumer with several tiles in flight, or a kernel that is more\n"
    "than a consumer, and verify it bit by bit.\n"
    "\n";
static const char usage_tail[] =
    "\n"
    "  --provider cuda|sim  a GPU or the software device\n"
    "  --device N           its N-th device (default 0)\n"
    "  --engine NAME        of those that the pipeline serves\n"
    "  --stages N           tiles that a block has in flight\n"
    "  --element NAME       what the tiles hold (default f32)\n"
    "  --tile BYTES         of a tile, multiple of 16 (default 4096)\n"
    "  --threads N          of a block, multiple of 32 (default 256)\n"
    "  --tiles N            tiles (default 64; of full-empty rows of boxes,\n"
    "                       default 8)\n"
    "  --blocks N           consumer blocks (default: four tiles each)\n"
    "  --rounds N           rounds, each with a new fill (default 1)\n"
    "  --seed N             of the values, and of the software device\n"
    "  --slow-producer NS   extra time of a producer block\n"
    "  --inject WHAT        leak[:TILE[:CHUNK]] or sentinel[:TILE[:CHUNK]]\n"
    "  --claim HOW          how a block of `fused` gets its next tile: by\n"
    "                       its index (fixed, default), or by taking over a\n"
    "                       block that has not begun (launch-control; 10.0)\n"
    "  --product BY         the first product of full-empty by mma (default)\n"
    "                       or by wgmma (on 9.0, a GPU)\n"
    "  --bins N             of a histogram (default 100)\n"
    "  --width W            of a bin (default 10)\n"
    "  --private WHERE      a block's histogram: shared (default), global,\n"
    "                       global_gpu (the same by atomics of device scope)\n"
    "                       or direct (none)\n"
    "  --values HOW         uniform (default), skewed or equal\n"
    "  --count N            values (default: all of the tiles)\n"
    "  --bound-ms N         time bound of each wait loop (default 2000)\n"
    "  --max-tries N        bound on tries of each wait loop (default none)\n"
    "  --language ptx|cuda  the kernels in PTX (default), or their twins in\n"
    "                       CUDA C++\n"
    "  --json               the result as JSON\n"
    "\n"
    "Exit: 0 verified, 1 failed, 2 wrong usage, 77 no such device.\n";

static void print_usage(void)
{
    const fgs_pipeline_info *p;
    uint32_t i;

    fputs(usage_head, stdout);
    for (i = 0; (p = fgs_pipeline_get_info(i)); i++)
        printf("  %-14s %s\n", p->name, p->purpose);
    fputs(usage_tail, stdout);
}

bool pipeline_failed(struct pipeline_done *d, fgs_result r, const char *fmt,
                     ...)
{
    va_list ap;

    d->result = r;
    memset(&d->error, 0, sizeof d->error);
    d->error.result = r;
    snprintf(d->error.name, sizeof d->error.name, "%s", fgs_result_name(r));
    va_start(ap, fmt);
    vsnprintf(d->error.text, sizeof d->error.text, fmt, ap);
    va_end(ap);
    return false;
}

void pipeline_tell(struct pipeline_done *d, const char *name, uint64_t value)
{
    if (d->mores == PIPELINE_MORE)
        return;
    d->more[d->mores].name = name;
    d->more[d->mores++].value = value;
}

/* --------------------------------------------------------------- options -- */

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);

    for (; *list; list += *list == ' ') {
        size_t n = strcspn(list, " ");

        if (n == len && !strncmp(list, word, n))
            return true;
        list += n;
    }
    return false;
}

/* A number up to ':' or the end, below `count`; -1 = good. */
static int inject_number(const char **text, const char *what, uint64_t count,
                         uint64_t *out)
{
    char digits[24];
    size_t len;
    const char *wrong = "is too large";

    if (!**text)
        return -1;
    ++*text;
    len = strcspn(*text, ":");
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

static int ask_inject(struct pipeline_asked *a)
{
    const char *text = a->inject;
    size_t len;
    int code;

    if (!text)
        return -1;
    len = strcspn(text, ":");
    if (len == 4 && !strncmp(text, "leak", len))
        a->fault_stem = "scale_produce_leak";
    else if (len == 8 && !strncmp(text, "sentinel", len))
        a->fault_stem = "scale_produce_sentinel";
    else
        return usage_error("run", "--inject: \"%.*s\" is none of leak|sentinel",
                           (int)len, text);
    a->fault_tile = a->tiles / 2;
    text += len;
    code = inject_number(&text, "tile", a->tiles, &a->fault_tile);
    if (code < 0)
        code = inject_number(&text, "chunk", a->tile_bytes / 16,
                             &a->fault_chunk);
    if (code < 0 && *text)
        return usage_error("run", "--inject: \"%s\" is left over", text);
    return code;
}

static int ask_engine(struct pipeline_asked *a)
{
    const fgs_pipeline_info *p = a->info;
    char first[16];

    snprintf(first, sizeof first, "%.*s", (int)strcspn(p->engines, " "),
             p->engines);
    if (a->engine_name && !has_word(p->engines, a->engine_name))
        return usage_error("run", "--engine: pipeline %s serves %s, not "
                           "\"%.40s\"", p->name, p->engines, a->engine_name);
    if (fgs_engine_find(a->engine_name ? a->engine_name : first,
                        &a->engine) < 0)
        a->engine = FGS_ENGINE_AUTO;
    return -1;
}

static int ask_shape(struct pipeline_asked *a)
{
    const fgs_pipeline_info *p = a->info;

    if (!a->stages)
        a->stages = p->stages_min > 2 ? p->stages_min
                                      : p->stages_max < 2 ? p->stages_max : 2;
    if (a->stages < p->stages_min || a->stages > p->stages_max)
        return usage_error("run", "--stages: pipeline %s has %u to %u stages, "
                           "not %" PRIu64, p->name, (unsigned)p->stages_min,
                           (unsigned)p->stages_max, a->stages);
    if (fgs_element_find(a->element_name, &a->element) < 0)
        return usage_error("run", "--element: \"%s\" is no element type",
                           a->element_name);
    if (a->tile_bytes % 16)
        return usage_error("run", "--tile: %" PRIu64 " is no multiple of 16",
                           a->tile_bytes);
    if (a->threads % 32)
        return usage_error("run", "--threads: %" PRIu64 " is no multiple of 32",
                           a->threads);
    return -1;
}

/* The row of a name, and its information. */
static const struct pipeline_row *find_row(const char *name,
                                           struct pipeline_asked *a)
{
    size_t i;
    uint32_t n;

    for (n = 0; (a->info = fgs_pipeline_get_info(n)); n++)
        if (!strcmp(a->info->name, name))
            break;
    for (i = 0; a->info && i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static int no_pipeline(const char *name)
{
    const fgs_pipeline_info *p;
    char list[256] = "";
    size_t n = 0;
    uint32_t i;

    for (i = 0; (p = fgs_pipeline_get_info(i)) && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? "|" : "",
                              p->name);
    return usage_error("run", "--pipeline: \"%s\" is none of %s", name, list);
}

static int ask(int argc, char **argv, struct pipeline_asked *a,
               const struct pipeline_row **row)
{
    enum { OWN = 16 };
    static const struct { const char *name; unsigned bit; } own[OWN] = {
        {"--stages", ASK_STAGES}, {"--element", ASK_ELEMENT},
        {"--tile", ASK_SHAPE}, {"--threads", ASK_SHAPE | ASK_THREADS},
        {"--inject", ASK_INJECT}, {"--rounds", ASK_ROUNDS},
        {"--blocks", ASK_BLOCKS}, {"--engine", ASK_ENGINE},
        {"--slow-producer", ASK_WORK}, {"--bins", ASK_BINS},
        {"--width", ASK_BINS}, {"--private", ASK_BINS}, {"--count", ASK_BINS},
        {"--values", ASK_BINS}, {"--claim", ASK_CLAIM},
        {"--product", ASK_PRODUCT},
    };
    static const struct verb verb = {"run", NULL, "", NULL};
    const char *name = NULL;
    bool given[OWN] = {false};
    const struct opt table[] = {
        {"--pipeline", OPT_TEXT, &name, 0, 0, NULL, NULL},
        {"--provider", OPT_TEXT, &a->provider, 0, 0, "cuda|sim", NULL},
        {"--device", OPT_NUMBER, &a->ordinal, 0, INT32_MAX, NULL, NULL},
        {"--stages", OPT_NUMBER, &a->stages, 1, 64, NULL, &given[0]},
        {"--element", OPT_TEXT, &a->element_name, 0, 0, NULL, &given[1]},
        {"--tile", OPT_NUMBER, &a->tile_bytes, 16, 1 << 20, NULL, &given[2]},
        {"--threads", OPT_NUMBER, &a->threads, 32, 1024, NULL, &given[3]},
        {"--inject", OPT_TEXT, &a->inject, 0, 0, NULL, &given[4]},
        {"--rounds", OPT_NUMBER, &a->rounds, 1, 1 << 20, NULL, &given[5]},
        {"--blocks", OPT_NUMBER, &a->blocks, 1, 1 << 20, NULL, &given[6]},
        {"--engine", OPT_TEXT, &a->engine_name, 0, 0, NULL, &given[7]},
        {"--slow-producer", OPT_NUMBER, &a->work_ns, 0, UINT64_MAX, NULL,
         &given[8]},
        {"--bins", OPT_NUMBER, &a->bins, 1, FGS_BINS_MAX, NULL, &given[9]},
        {"--width", OPT_TEXT, &a->width_text, 0, 0, NULL, &given[10]},
        {"--private", OPT_TEXT, &a->private_name, 0, 0,
         "shared|global|global_gpu|direct", &given[11]},
        {"--count", OPT_NUMBER, &a->count, 1, UINT32_MAX, NULL, &given[12]},
        {"--values", OPT_TEXT, &a->values, 0, 0, "uniform|skewed|equal",
         &given[13]},
        {"--claim", OPT_TEXT, &a->claim, 0, 0, "fixed|launch-control",
         &given[14]},
        {"--product", OPT_TEXT, &a->product, 0, 0, "mma|wgmma", &given[15]},
        {"--tiles", OPT_NUMBER, &a->tiles, 1, 1 << 24, NULL, &a->tiles_given},
        {"--seed", OPT_NUMBER, &a->seed, 0, UINT64_MAX, NULL, &a->seed_given},
        {"--bound-ms", OPT_NUMBER, &a->bound_ms, 1, UINT64_MAX / 1000000, NULL,
         NULL},
        {"--max-tries", OPT_NUMBER, &a->max_tries, 0, UINT64_MAX, NULL, NULL},
        {"--language", OPT_TEXT, &a->language, 0, 0, "ptx|cuda", NULL},
        {"--json", OPT_FLAG, &a->json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, i, code = opt_parse(&verb, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("run", "\"%s\": no file or word is expected",
                           argv[1]);
    *row = find_row(name, a);
    if (!*row)
        return no_pipeline(name);
    for (i = 0; i < OWN && own[i].name; i++)
        if (given[i] && !((*row)->options & own[i].bit) &&
            !(own[i].bit == ASK_ENGINE))
            return usage_error("run", "%s: pipeline %s does not take it",
                               own[i].name, name);
    a->blocks_given = given[6];
    if ((*row)->tile_bytes)
        a->tile_bytes = (*row)->tile_bytes;
    code = ask_engine(a);
    if (code < 0)
        code = ask_shape(a);
    if (code < 0)
        code = ask_inject(a);
    if (code < 0 && (*row)->check)
        code = (*row)->check(a);
    return code;
}

int run_pipeline(int argc, char **argv)
{
    struct pipeline_asked a = {.language = "ptx", .element_name = "f32",
                               .tile_bytes = TILE_BYTES, .threads = 256,
                               .tiles = 64, .rounds = 1, .seed = 1,
                               .bound_ms = 2000};
    struct pipeline_done d = {.alive = -1};
    const struct pipeline_row *row = NULL;
    int i, code;

    for (i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_usage();
            return EXIT_GOOD;
        }
    code = ask(argc, argv, &a, &row);
    if (code >= 0)
        return code;
    row->run(&a, &d);
    if (d.code)
        return d.code;
    if (!d.ok)
        failure("run", "%s", d.error.text);
    pipeline_print(&a, &d);
    return d.ok ? EXIT_GOOD : code_of(d.result);
}
