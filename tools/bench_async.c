/* bench_async.c -- fgs bench async: the cp.async lab against its baseline */
#include "bench_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage_async[] =
    "usage: fgs bench async [OPTION]...\n"
    "\n"
    "The same arithmetic on tiles of 1024 floats, four a block of 256\n"
    "threads: each tile through registers (sync), the next one by cp.async\n"
    "meanwhile (async), and what cuda::pipeline makes of that, by NVRTC\n"
    "(pipeline); each verified, then in turn.\n"
    "\n"
    "  --provider cuda|sim  default: a GPU where there is one\n"
    "  --count N    floats, rounded up to whole blocks (default 64 Mi;\n"
    "               software device 64 Ki)\n"
    "  --repeat N   launches of each (default 51; software device 3)\n"
    "  --json       as JSON\n"
    "\n"
    "Exit: 0 measured, 1 failed or wrong data, 2 wrong usage, 77 no device.\n";

enum { BLOCK_TILES = 4, BLOCK_ELEMENTS = BLOCK_TILES * TILE_ELEMENTS };

/* The pipeline of the programming guide: two stages, of a thread. */
static const char source[] =
    "#include <cuda/pipeline>\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "lab_pipeline(const float *__restrict__ in, float *__restrict__ out,\n"
    "             unsigned long long count, unsigned block_tiles)\n"
    "{\n"
    "    __shared__ alignas(128) float tiles[2][1024];\n"
    "    const unsigned long long first =\n"
    "        (unsigned long long)blockIdx.x * block_tiles * 1024;\n"
    "    auto pipe = cuda::make_pipeline();\n"
    "    auto issue = [&](unsigned k) {\n"
    "        pipe.producer_acquire();\n"
    "        for (unsigned i = 4 * threadIdx.x; i < 1024; i += 1024)\n"
    "            cuda::memcpy_async(&tiles[k % 2][i],\n"
    "                               in + first + 1024ull * k + i,\n"
    "                               cuda::aligned_size_t<16>(16), pipe);\n"
    "        pipe.producer_commit();\n"
    "    };\n"
    "    issue(0);\n"
    "    for (unsigned k = 0; k < block_tiles; k++) {\n"
    "        if (k + 1 < block_tiles)\n"
    "            issue(k + 1);\n"
    "        pipe.consumer_wait();\n"
    "        __syncthreads();\n"
    "        for (unsigned i = threadIdx.x; i < 1024; i += 256) {\n"
    "            const float v = tiles[k % 2][i];\n"
    "            out[first + 1024ull * k + i] =\n"
    "                __fmaf_rn(__fmaf_rn(v, 1.5f, 0.5f), v, 0.25f);\n"
    "        }\n"
    "        __syncthreads();\n"
    "        pipe.consumer_release();\n"
    "    }\n"
    "}\n";

struct async {
    pipe_addr in, out;
    uint64_t count;
    float *host, *want, *got;
};

static bool launch(struct bench_rows *b, struct bench_row *r)
{
    struct async *s = b->cookie;
    const struct pipe_arg args[] = {
        {"p_in", s->in, NULL}, {"p_out", s->out, NULL},
        {"p_count", s->count, NULL}, {"p_block_tiles", BLOCK_TILES, NULL},
        {NULL, 0, NULL},
    };
    struct pipe_launch l = {.threads = 256, .args = args};

    l.blocks = (unsigned)(s->count / BLOCK_ELEMENTS);
    l.shared = r->k.params ? 2 * TILE_BYTES : 0;
    return pipe_run(&b->d, &r->k, &l);
}

static bool verify(struct bench_rows *b, struct bench_row *r)
{
    struct async *s = b->cookie;
    bool good = pipe_get(&b->d, s->got, s->out, s->count * 4);

    if (!good)
        snprintf(r->why, sizeof r->why, "%.590s", b->d.why);
    else if (memcmp(s->got, s->want, s->count * 4)) {
        snprintf(r->why, sizeof r->why, "its result is wrong");
        good = false;
    }
    /* the next row's result is its own */
    return pipe_fill(&b->d, s->out, 0x5a5a5a5a, s->count * 4) && good;
}

static bool make(struct bench_rows *b, struct async *s)
{
    const fgs_ptx_desc sync = {.size = sizeof sync, .stem = "lab_sync"};
    const fgs_ptx_desc async = {.size = sizeof async, .stem = "lab_async"};
    uint64_t i, bytes = s->count * 4;

    s->host = malloc(bytes);
    s->want = malloc(bytes);
    s->got = malloc(bytes);
    if (!s->host || !s->want || !s->got) {
        snprintf(b->d.why, sizeof b->d.why, "no memory");
        return false;
    }
    for (i = 0; i < s->count; i++)
        s->host[i] = (float)(i * 2654435761u % 8191) / 64.0f - 60.0f;
    fgs_ref_transform(s->host, s->want, s->count);
    if (!pipe_memory(&b->d, &s->in, bytes) ||
        !pipe_memory(&b->d, &s->out, bytes) ||
        !pipe_put(&b->d, s->in, s->host, bytes))
        return false;
    bench_rows_stem(b, "sync", "through registers, tile after tile", &sync);
    bench_rows_stem(b, "async", "cp.async, two buffers", &async);
    bench_rows_cuda(b, "pipeline", "cuda::pipeline, two stages", source,
                    "lab_pipeline", NULL);
    return true;
}

static int report(struct bench_rows *b, bool json)
{
    struct json j = {.to = stdout};
    unsigned i, wrong = 0;

    for (i = 0; i < b->count; i++)
        wrong += !b->row[i].there && strstr(b->row[i].why, "wrong");
    if (!json) {
        bench_rows_print(b);
    } else {
        json_open(&j, NULL, '{');
        json_text(&j, "device", b->d.info.name);
        json_number(&j, "bytes", b->bytes);
        json_number(&j, "repeat", b->repeat);
        bench_rows_json(b, &j);
        json_close(&j, '}');
    }
    return wrong ? EXIT_BAD : EXIT_GOOD;
}

int bench_async(int argc, char **argv)
{
    static const struct verb verb = {"bench async", NULL, usage_async, NULL};
    struct async s = {.count = 0};
    struct bench_rows b = {.verb = "async", .launch = launch,
                           .verify = verify, .cookie = &s};
    const char *provider = NULL;
    bool json = false, sim;
    const struct opt table[] = {
        {"--provider", OPT_TEXT, &provider, 0, 0, "cuda|sim", NULL},
        {"--count", OPT_NUMBER, &s.count, 1, UINT64_C(1) << 34, NULL, NULL},
        {"--repeat", OPT_NUMBER, &b.repeat, 1, 100000, NULL, NULL},
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    int operands, code = opt_parse(&verb, argc, argv, table, &operands);

    if (code >= 0)
        return code;
    if (operands)
        return usage_error("bench", "async: \"%s\" is not expected", argv[1]);
    code = pipe_open(&b.d, "bench", provider, 0);
    sim = !strcmp(b.d.provider, "sim");
    if (!s.count)
        s.count = UINT64_C(1) << (sim ? 16 : 26);
    if (!b.repeat)
        b.repeat = sim ? 3 : 51;
    s.count = (s.count + BLOCK_ELEMENTS - 1) / BLOCK_ELEMENTS * BLOCK_ELEMENTS;
    b.bytes = s.count * 8;
    if (!code)
        code = make(&b, &s) && bench_rows_run(&b)
                   ? report(&b, json) : failure("bench", "%s", b.d.why);
    bench_rows_free(&b);
    pipe_free(&b.d, &s.in);
    pipe_free(&b.d, &s.out);
    pipe_close(&b.d);
    free(s.host);
    free(s.want);
    free(s.got);
    return code;
}
