/* test_ptx_files.c -- each text of tests/ptx/run does what its comments say
 *
 * A file has one .entry with the parameters p_in and p_out, both .u64, and
 * says in lines of its own (several `in` and several `out` are joined):
 *
 *   //: launch G x B          blocks and threads; N or X,Y,Z each
 *   //: shared N              dynamic shared bytes                 (default 0)
 *   //: cluster N             blocks of a cluster, N or X,Y,Z   (default none)
 *   //: in TYPE VALUE...      bytes behind p_in
 *   //: out TYPE VALUE...     bytes behind p_out, zero before the launch
 *   //: tensormap ...        a third parameter, p_map: see map_line.h
 *   //: texture ...          a further parameter each, .u64: see tex_line.h
 *   //: surface ...
 *   //: fault WORDS           instead of out: the kernel faults, and the
 *                             sentence holds these words
 *
 * TYPE is u8 ... u64, s8 ... s64, b8 ... b128, f32, f64.  A value is a decimal
 * number or the bits as 0x...; VALUE*N is N times the same.  Values lie one
 * behind the other without gaps.  Each file runs at every level of vectors
 * that the CPU has.
 */
#include "base/compat.h"
#include "fgs/fgs_sim.h"
#include "ptx/module.h"
#include "sim/device.h"
#include "sim/isa.h"
#include "map_line.h"
#include "tex_line.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { FILES = 4096, TEXT = 1 << 17, BYTES = 1 << 18, PATH = 300 };
static const char folder[] = "tests/ptx/run";

struct bytes {
    unsigned char at[BYTES];
    unsigned char width[BYTES]; /* of the element that begins here, else 0 */
    size_t len;
};

static struct file {
    const char *path;
    char text[TEXT];
    size_t len;
    unsigned grid[3], block[3], cluster[3], shared;
    bool launch, has_out;
    char fault[200];
    struct bytes in, out;
    struct map_line map;
    struct tex_line tex[TEX_LINES];
    unsigned texs;
    char entry[200]; /* filled from the text's module */
    int cc, level;
} now;

static unsigned char got[BYTES];
static bool covered[FGS__OP_COUNT];

/* ------------------------------------------------------------ the format -- */

static void refuse(const struct file *f, unsigned line, const char *fmt, ...)
    FGS__PRINTF(3, 4);
static void refuse(const struct file *f, unsigned line, const char *fmt, ...)
{
    char why[200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    fail_msg("%s:%u: %s", f->path, line, why);
}

/* Bits of a float, a decimal one. */
static bool float_bits(const char *v, char **end, unsigned width, uint64_t *out)
{
    float f = strtof(v, end);
    double d = strtod(v, end);
    uint32_t word;

    if (d != d) /* which one must be said in bits */
        return false;
    memcpy(&word, &f, sizeof word);
    memcpy(out, &d, sizeof d);
    if (width == 4)
        *out = word;
    return true;
}

/* 0x and up to 32 digits. */
static bool hex_bits(const char *v, char **end, uint64_t out[2])
{
    out[0] = out[1] = 0;
    for (v += 2; ; v++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *d = *v ? strchr(digits, *v) : NULL;

        if (!d)
            break;
        if (out[1] >> 60)
            return false;
        out[1] = out[1] << 4 | out[0] >> 60;
        out[0] = out[0] << 4 | (uint64_t)(d - digits) % 16;
    }
    *end = (char *)(uintptr_t)v;
    return true;
}

/* One value in the bits of its type; false = it is none of that type. */
static bool value_bits(char kind, unsigned width, const char *v, char **end,
                       uint64_t out[2])
{
    uint64_t top = width < 8 ? (1ull << 8 * width) - 1 : UINT64_MAX;

    out[1] = 0;
    errno = 0;
    if (v[0] == '0' && (v[1] == 'x' || v[1] == 'X'))
        return hex_bits(v, end, out) && *end > v + 2 && out[0] <= top &&
               (width == 16 || !out[1]);
    if (kind == 'f')
        return float_bits(v, end, width, &out[0]);
    if (kind == 's') {
        int64_t most = (int64_t)(top >> 1), n = strtoll(v, end, 10);

        out[0] = (uint64_t)n & top;
        return !errno && n <= most && n >= -most - 1;
    }
    out[0] = strtoull(v, end, 10);
    return !errno && v[0] != '-' && out[0] <= top;
}

static void add(struct file *f, unsigned line, struct bytes *b,
                const uint64_t bits[2], unsigned width, uint64_t times)
{
    if (times > BYTES || b->len + times * width > BYTES)
        refuse(f, line, "more than %d bytes", BYTES);
    for (; times; times--) {
        memcpy(b->at + b->len, bits, width);
        b->width[b->len] = (unsigned char)width;
        b->len += width;
    }
}

static void parse_values(struct file *f, unsigned line, struct bytes *b,
                         char *s)
{
    unsigned width = 0;
    char kind = 0, *end, *word, *save = NULL;

    word = strtok_r(s, " ", &save);
    if (!word || sscanf(word, "%c%u", &kind, &width) != 2 || width % 8 ||
        !strchr("usbf", kind) || width < (kind == 'f' ? 32 : 8) ||
        width > (kind == 'b' ? 128 : 64) || (width & (width - 1)))
        refuse(f, line, "\"%s\" is no type", word ? word : "");
    for (unsigned n = 0; ; n++) {
        uint64_t bits[2], times = 1;

        word = strtok_r(NULL, " ", &save);
        if (!word && n)
            return;
        if (!word)
            refuse(f, line, "no value");
        if (!value_bits(kind, width / 8, word, &end, bits) || end == word)
            refuse(f, line, "\"%s\" is no %c%u", word, kind, width);
        if (*end == '*')
            times = strtoull(end + 1, &end, 10);
        if (*end || !times)
            refuse(f, line, "\"%s\" is no %c%u", word, kind, width);
        add(f, line, b, bits, width / 8, times);
    }
}

/* N or X,Y,Z; where it ends. */
static char *parse_size(struct file *f, unsigned line, char *s, unsigned out[3])
{
    for (int d = 0; d < 3; d++)
        out[d] = 1;
    for (int d = 0; d < 3; d++) {
        out[d] = (unsigned)strtoul(s, &s, 10);
        if (!out[d])
            refuse(f, line, "a size that is no number above 0");
        if (*s != ',')
            break;
        s++;
    }
    return s;
}

static void parse_launch(struct file *f, unsigned line, char *s)
{
    unsigned *const size[2] = { f->grid, f->block };
    char *x = strstr(s, " x "), *end = s;

    if (f->launch || !x)
        refuse(f, line, "a second launch, or not G x B");
    for (int k = 0; k < 2; k++) {
        end = parse_size(f, line, end, size[k]);
        if (k ? *end : end != x)
            refuse(f, line, "not G x B");
        end = x + 3;
    }
    f->launch = true;
}

static void parse_line(struct file *f, unsigned line, char *word)
{
    char *rest = word + strcspn(word, " "), *end;

    if (*rest)
        *rest++ = 0;
    rest += strspn(rest, " ");
    if (!*rest)
        refuse(f, line, "nothing behind \"%s\"", word);
    if (!strcmp(word, "launch")) {
        parse_launch(f, line, rest);
    } else if (!strcmp(word, "cluster")) {
        if (*parse_size(f, line, rest, f->cluster))
            refuse(f, line, "cluster is not N or X,Y,Z");
    } else if (!strcmp(word, "shared")) {
        f->shared = (unsigned)strtoul(rest, &end, 10);
        if (*end)
            refuse(f, line, "shared is no number");
    } else if (!strcmp(word, "in")) {
        parse_values(f, line, &f->in, rest);
    } else if (!strcmp(word, "out")) {
        f->has_out = true;
        parse_values(f, line, &f->out, rest);
    } else if (!strcmp(word, "tensormap")) {
        if (!map_parse(&f->map, rest))
            refuse(f, line, "this describes no tensor map");
    } else if (!strcmp(word, "texture") || !strcmp(word, "surface")) {
        if (f->texs == TEX_LINES ||
            !tex_parse(&f->tex[f->texs++], word[0] == 's', rest))
            refuse(f, line, "this describes no %s", word);
    } else if (!strcmp(word, "fault")) {
        snprintf(f->fault, sizeof f->fault, "%s", rest);
    } else {
        refuse(f, line, "unknown word \"%s\"", word);
    }
}

static void read_file(struct file *f, const char *path)
{
    FILE *h = fopen(path, "rb");
    unsigned line = 1;

    memset(f, 0, sizeof *f);
    f->path = path;
    assert_non_null(h);
    f->len = fread(f->text, 1, sizeof f->text - 1, h);
    fclose(h);
    if (f->len == sizeof f->text - 1)
        refuse(f, 1, "a longer text than %d bytes", TEXT);
    for (char *s = f->text, *end; *s; s = end + 1, line++) {
        char copy[400];

        end = strchr(s, '\n');
        if (!end)
            refuse(f, line, "no line end");
        if (strncmp(s, "//:", 3))
            continue;
        if (end - s >= (long)sizeof copy)
            refuse(f, line, "a long line");
        snprintf(copy, sizeof copy, "%.*s", (int)(end - s), s);
        parse_line(f, line, copy + 3 + strspn(copy + 3, " "));
    }
    if (!f->launch || f->has_out == !!f->fault[0])
        refuse(f, 1, "it needs a launch, and out or fault");
}

/* The one entry, and which rows of opcode.def the text holds. */
static void find_entry(struct file *f)
{
    struct fgs__ptx_diags diags;
    struct fgs__ptx_module *m;
    unsigned entries = 0;

    fgs__ptx_diags_init(&diags, &fgs__malloc);
    if (fgs__ptx_load(&m, f->text, f->len, &fgs__malloc, &diags))
        refuse(f, diags.count ? diags.item[0].pos.line : 0, "%s",
               diags.count ? diags.item[0].text : "it is not loaded");
    f->cc = m->target_cc;
    for (const struct fgs__ptx_func *k = m->funcs; k; k = k->next) {
        for (uint32_t i = 0; i < k->insn_count; i++)
            covered[k->insn[i].op] = true;
        if (!k->entry)
            continue;
        entries++;
        snprintf(f->entry, sizeof f->entry, "%s", k->name);
        if (k->param_count > 2u + f->map.there + f->texs)
            refuse(f, k->pos.line, "an entry with other parameters");
    }
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&diags);
    if (entries != 1)
        refuse(f, 1, "%u entries", entries);
}

/* --------------------------------------------------------------- the run -- */

static void ok(const struct file *f, const char *what, CUresult cu,
               const char *log)
{
    if (cu)
        fail_msg("%s: %s: error %d %s %s", f->path, what, (int)cu, log,
                 fgs_sim_last_fault());
}

/* Textures and surfaces: parameters from `at` on, or what references hold. */
static void make_textures(struct file *f, CUmodule mod, CUdeviceptr in,
                          void **at)
{
    for (unsigned k = 0; k < f->texs; k++) {
        struct tex_line *t = &f->tex[k];
        CUdeviceptr var;

        ok(f, "texture", tex_make(t, in), "");
        if (!t->ref[0]) {
            *at++ = &t->object;
            continue;
        }
        ok(f, t->ref, fgs__sim_cuModuleGetGlobal(&var, NULL, mod, t->ref), "");
        ok(f, t->ref, fgs__sim_cuMemcpyHtoD(var, &t->object, 8), "");
    }
}

/* Launch and wait. */
static CUresult launch(struct file *f, CUmodule mod, CUdeviceptr in,
                       CUdeviceptr out)
{
    FGS__ALIGN(64) CUtensorMap map;
    void *params[3 + TEX_LINES] = { &in, &out, &map };
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig c = { f->grid[0], f->grid[1], f->grid[2], f->block[0],
                         f->block[1], f->block[2], f->shared, NULL, &attr,
                         !!f->cluster[0] };
    CUfunction k;
    CUresult cu;

    attr.value.clusterDim.x = f->cluster[0];
    attr.value.clusterDim.y = f->cluster[1];
    attr.value.clusterDim.z = f->cluster[2];
    if (f->map.there)
        ok(f, "map", map_encode(&f->map, f->map.out ? out : in, &map), "");
    make_textures(f, mod, in, params + 2 + f->map.there);
    ok(f, f->entry, fgs__sim_cuModuleGetFunction(&k, mod, f->entry), "");
    ok(f, f->entry, fgs__sim_cuFuncSetAttribute(
        k, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1), "");
    cu = fgs__sim_cuLaunchKernelEx(&c, k, params, NULL);
    return cu ? cu : fgs__sim_cuCtxSynchronize();
}

static void compare(const struct file *f)
{
    unsigned bad = 0;

    for (size_t at = 0, n = 0; at < f->out.len; at += f->out.width[at], n++) {
        unsigned w = f->out.width[at];
        uint64_t want[2] = { 0, 0 }, have[2] = { 0, 0 };

        if (!memcmp(f->out.at + at, got + at, w))
            continue;
        memcpy(want, f->out.at + at, w);
        memcpy(have, got + at, w);
        if (bad++ < 8)
            printf("%s: out[%zu] (b%u, level %d): expected 0x%llx'%016llx "
                   "got 0x%llx'%016llx\n", f->path, n, 8 * w, f->level,
                   (unsigned long long)want[1], (unsigned long long)want[0],
                   (unsigned long long)have[1], (unsigned long long)have[0]);
    }
    if (bad)
        fail_msg("%s: %u values differ", f->path, bad);
}

/* A device that takes the text; the one that is presented takes no later
 * family. */
static void present(int cc)
{
    static int last;
    fgs_sim_config cfg = { .size = sizeof cfg };
    fgs_error err;

    cc = cc < 110 ? 107 : cc;
    if (cc == last)
        return;
    assert_int_equal(fgs_sim_config_get(&cfg, &err), FGS_OK);
    cfg.cc = (uint32_t)cc;
    assert_int_equal(fgs_sim_config_set(&cfg, &err), FGS_OK);
    last = cc;
}

static void run_level(struct file *f)
{
    char log[600] = "";
    CUjit_option opt[] = { (CUjit_option)5, (CUjit_option)6 };
    void *val[2] = { log, (void *)sizeof log };
    CUdeviceptr in = 0, out = 0;
    CUcontext ctx;
    CUmodule mod;
    CUresult cu;

    ok(f, "context", fgs__sim_cuCtxCreate(&ctx, 0, 0), "");
    ok(f, "load", fgs__sim_cuModuleLoadDataEx(&mod, f->text, 2, opt, val), log);
    ok(f, "in", fgs__sim_cuMemAlloc(&in, f->in.len + 16), "");
    if (f->in.len)
        ok(f, "in", fgs__sim_cuMemcpyHtoD(in, f->in.at, f->in.len), "");
    ok(f, "out", fgs__sim_cuMemAlloc(&out, f->out.len + 16), "");
    ok(f, "out", fgs__sim_cuMemsetD8(out, 0, f->out.len + 16), "");
    cu = launch(f, mod, in, out);
    if (f->fault[0]) {
        if (!cu || !strstr(fgs_sim_last_fault(), f->fault))
            fail_msg("%s: expected a fault with \"%s\", got error %d %s",
                     f->path, f->fault, (int)cu,
                     cu ? fgs_sim_last_fault() : "");
    } else {
        ok(f, "kernel", cu, "");
        for (unsigned k = 0; k < f->texs; k++)
            ok(f, "back", tex_back(&f->tex[k], out), "");
        ok(f, "copy", fgs__sim_cuMemcpyDtoH(got, out, f->out.len), "");
    }
    fgs__sim_cuCtxDestroy(ctx);
    if (!f->fault[0])
        compare(f);
}

static void file_does_what_it_says(void **state)
{
    int last = -1;

    read_file(&now, *state);
    find_entry(&now);
    present(now.cc);
    for (int level = FGS__ISA_BASE; level <= FGS__ISA_AVX512; level++) {
        fgs__sim_isa_limit((enum fgs__sim_isa)level);
        now.level = (int)fgs__sim_isa_now();
        if (now.level != last)
            run_level(&now);
        last = now.level;
    }
}

/* Every row of opcode.def is used by a file of tests/ptx/run; files are read
 * before this runs. */
static void rows_have_files(void **state)
{
    unsigned missing = 0, rows = FGS__OP_COUNT - 1;

    (void)state;
    for (int op = 1; op < FGS__OP_COUNT; op++) {
        if (covered[op])
            continue;
        missing++;
        printf("no file: %s\n", fgs__ptx_op_name((enum fgs__ptx_op)op));
    }
    printf("rows of opcode.def with a file: %u of %u\n", rows - missing, rows);
    assert_int_equal(missing, 0);
}

/* ------------------------------------------------------------- the files -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct CMUnitTest *)a)->name,
                  ((const struct CMUnitTest *)b)->name);
}

/* With names as arguments only those, for work on one file. */
static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(name, argv[i]))
            return true;
    return argc < 2;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[FILES + 1];
    static char paths[FILES][PATH];
    DIR *dir = opendir(folder);
    size_t n = 0;

    if (!dir || fgs__sim_cuInit(0))
        return 1;
    for (struct dirent *e; (e = readdir(dir)); ) {
        size_t len = strlen(e->d_name);

        if (len < 5 || strcmp(e->d_name + len - 4, ".ptx") ||
            !wanted(e->d_name, argc, argv))
            continue;
        if (n == FILES)
            return 1;
        snprintf(paths[n], PATH, "%s/%.200s", folder, e->d_name);
        tests[n].name = paths[n] + sizeof folder;
        tests[n].test_func = file_does_what_it_says;
        tests[n].initial_state = paths[n];
        n++;
    }
    closedir(dir);
    qsort(tests, n, sizeof tests[0], by_name);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(rows_have_files);
    return _cmocka_run_group_tests("ptx_files", tests, n, NULL, NULL);
}
