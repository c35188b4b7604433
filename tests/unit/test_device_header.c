/* test_device_header.c -- <fgs/fgs_device.cuh>: tables, conversions, refusals
 *
 * What the header computes, for targets with and without the instructions,
 * against element_model.h and the library's tables.
 */
#include "device_rig.h"
#include "element_model.h"
#include "table/record.h"
#include "text/text.h"

enum { MOST = 1 << 19 };

static const char *const targets[] = { "compute_75", "compute_80",
                                       "compute_90", "compute_100f",
                                       "compute_107a" };
enum { TARGETS = sizeof targets / sizeof *targets };

static float in[MOST];
static uint32_t out[2 * MOST];
static unsigned count;

static uint32_t bits_of(float v)
{
    uint32_t u;

    memcpy(&u, &v, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float v;

    memcpy(&v, &u, sizeof v);
    return v;
}

/* A number, its neighbours, and all of that negative. */
static void put(double v)
{
    float f = (float)v;

    assert_true(count + 6 <= MOST);
    for (int k = -1; k < 2; k++) {
        in[count] = float_of(bits_of(f) + (f > 0 || k > 0 ? (uint32_t)k : 0));
        in[count + 1] = -in[count];
        count += 2;
    }
}

/* Every exponent with corner mantissas, zeros and NaNs among them. */
static void put_exponents(void)
{
    static const uint32_t corner[] = { 0, 1, 2, 0x3fffff, 0x400000, 0x400001,
                                       0x7ffffe, 0x7fffff, 0x123456 };

    for (uint32_t e = 0; e < 512; e++)
        for (size_t k = 0; k < sizeof corner / sizeof *corner; k++)
            in[count++] = float_of(e << 23 | corner[k]);
}

/* What is near to codes of a format and to the middle between two; of 16-bit
 * ones every code, of f32 a few. */
static void make_inputs(const struct model *m)
{
    uint32_t step = m->man > 12 ? 0x3ffff : 1;

    count = 0;
    put_exponents();
    for (uint32_t c = 0; m->kind == MODEL_FLOAT && c < m->max &&
         m->max - c > step; c += step) {
        put(model_value(m, c));
        put((model_value(m, c) + model_value(m, c + 1)) / 2);
    }
    for (int k = 0; m->kind == MODEL_INT && k < 1200; k++)
        put(k * 0.25);
    for (int k = -9; m->kind == MODEL_INT && k < 9; k++) {
        put(0x1p15 + k * 0.5);
        put(0x1p31 + k * 128.0);
    }
    count -= count % 32;
}

static CUdeviceptr alloc(size_t size)
{
    CUdeviceptr at;

    OK(cuMemAlloc(&at, size));
    return at;
}

static CUmodule load_element(const char *source, const char *arch,
                             const char *element, int saturate)
{
    char name[40], away[32];
    const char *options[] = { name, away, NULL };

    snprintf(name, sizeof name, "-DELEMENT=%s", element);
    snprintf(away, sizeof away, "-DSATURATE=%d", saturate);
    return load_source(source, arch, options);
}

/* One kernel of convert.cu over `n` words at `from`, to out[0..words). */
static void run_on(CUmodule m, const char *entry, const void *from, unsigned n,
                   unsigned words)
{
    CUdeviceptr a = alloc(4ull * n), b = alloc(4ull * words);

    OK(cuMemcpyHtoD(a, from, 4ull * n));
    OK(cuMemsetD8(b, 0, 4ull * words));
    launch_on(NULL, m, entry, (n + 127) / 128, 128, 0, false,
              (void *[]){ &a, &b, &n });
    finish();
    OK(cuMemcpyDtoH(out, b, 4ull * words));
    OK(cuMemFree(a));
    OK(cuMemFree(b));
}

static void compare_codes(const struct model *m, const fgs_element_info *e,
                          int away, const char *arch)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t want = model_convert(m, e, in[i], away);

        if (out[i] != want)
            fail_msg("%s for %s: %08x (%g) is %x, not %x", m->name, arch,
                     bits_of(in[i]), in[i], out[i], want);
        if (away || m->kind == MODEL_FLOAT)
            assert_int_not_equal(out[i], e->sentinel);
    }
}

static void compare_packed(const struct model *m, const fgs_element_info *e,
                           int away)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i * e->bits;
        uint32_t got = out[at / 32] >> at % 32 & 0xffffffffu >> (32 - e->bits);

        assert_int_equal(got, model_convert(m, e, in[i], away));
    }
}

/* Where an integer may go from its sentinel. */
static int ways(const struct model *m)
{
    return m->kind == MODEL_FLOAT || m->least >= 0 ? 1
        : strcmp(m->name, "i8ff")                  ? 2
                                                   : 3;
}

static void floats_become_the_nearest_codes(void **state)
{
    const struct model *m = *state;
    const fgs_element_info *e = model_info(m);

    need_nvrtc(false);
    make_inputs(m);
    for (int t = 0; t < TARGETS; t++)
        for (int away = 0; away < ways(m) && can_run(targets[t]); away++) {
            CUmodule mod = load_element("tests/device/convert.cu", targets[t],
                                        m->name, away);

            run_on(mod, "run", in, count, count);
            compare_codes(m, e, away, targets[t]);
            run_on(mod, "packed", in, count, count * e->bits / 32);
            compare_packed(m, e, away);
            OK(cuModuleUnload(mod));
        }
}

/* By fields, one after the other. */
static uint32_t canonical(const fgs_element_info *e, const struct model *m,
                          uint32_t w, int away, bool *held)
{
    uint32_t ones = 0xffffffffu >> (32 - e->bits), r = 0;

    *held = false;
    for (unsigned at = 0; at < 32; at += e->bits) {
        uint32_t c = w >> at & ones;

        if (c == e->sentinel) {
            *held = true;
            if (m->kind == MODEL_FLOAT && m->has_sign)
                c = 0;
            else if (ways(m) == 1 || away == 2)
                c--;
            else if (away == 1)
                c++;
        }
        r |= (c & ones) << at;
    }
    return r;
}

/* All 2^16 halves, below and above another one; of 32-bit types what is near
 * the sentinel. */
static void packed_words_lose_their_sentinels_alone(void **state)
{
    const struct model *m = *state;
    const fgs_element_info *e = model_info(m);
    static uint32_t word[1 << 18];
    unsigned n = 1 << 18;

    need_nvrtc(false);
    for (uint32_t k = 0; k < n; k++)
        word[k] = k < 1 << 16   ? k | k << 16
                  : k < 1 << 17 ? k << 16 | (k * 40503 & 0xffff)
                  : k < 3 << 16 ? (k & 0xffff) | (k * 40503 << 16)
                                : (e->fill ^ 1u << k % 32) + (k >> 5 & 3) - 1;
    for (int away = 0; away < ways(m) && can_run("compute_75"); away++) {
        CUmodule mod = load_element("tests/device/convert.cu", "compute_75",
                                    m->name, away);

        run_on(mod, "words", word, n, 2 * n);
        for (uint32_t k = 0; k < n; k++) {
            bool held;
            uint32_t want = canonical(e, m, word[k], away, &held);

            if (out[k] != want || out[n + k] != held)
                fail_msg("%s: %08x is %08x, not %08x", m->name, word[k],
                         out[k], want);
        }
        OK(cuModuleUnload(mod));
    }
}

/* The end of table.cu's output. */
#define C(member) offsetof(struct fgs__ctl, member)
#define S(member) offsetof(struct fgs__stat, member)
#define T(member) offsetof(struct fgs__trace, member)
#define R(member) offsetof(struct fgs__rec, member)
static const size_t shared[] = {
    FGS__GIVEUP_TIME, FGS__GIVEUP_TRIES, FGS__GIVEUP_LANDING,
    FGS_ROLE_INIT, FGS_ROLE_PRODUCER, FGS_ROLE_CONSUMER, FGS__NO_CHUNK,
    sizeof(struct fgs__ctl), sizeof(struct fgs__stat),
    sizeof(struct fgs__trace), sizeof(struct fgs__rec),
    C(abort), S(reissues), S(first), S(last),
    T(start), T(ready), T(end), T(sm), T(tries),
    R(code), R(role), R(block), R(tile), R(chunk), R(bits0), R(bits1),
    R(tries), R(elapsed_ns)
};

static void header_has_the_rows_of_the_tables(void **state)
{
    enum { ROW = 18, MORE = sizeof shared / sizeof *shared };
    CUmodule mod;

    (void)state;
    need_nvrtc(false);
    if (!can_run("compute_75"))
        skip();
    mod = load_source("tests/device/table.cu", "compute_75", NULL);
    run_on(mod, "run", in, 1, ROW * FGS_ELEMENT_COUNT + MORE);
    for (unsigned k = 0; k < MORE; k++)
        assert_int_equal(out[ROW * FGS_ELEMENT_COUNT + k], shared[k]);
    for (int id = 0; id < FGS_ELEMENT_COUNT; id++) {
        const fgs_element_info *e = fgs_element_get_info((fgs_element)id);
        const uint32_t *row = out + ROW * id;

        assert_int_equal(row[0], e->bits);
        assert_int_equal(row[1], e->sentinel);
        assert_int_equal(row[2], e->fill);
        assert_int_equal(row[3], ~row[4]);
        assert_int_equal(row[7], 128 / e->bits);
        assert_int_equal(row[5], e->mechanism);
        assert_string_equal((const char *)(row + 8),
                            fgs_mechanism_get_info(e->mechanism)->qualifier);
    }
    OK(cuModuleUnload(mod));
}

/* What does not make sense, for whom, and the sentence. */
static const struct refusal {
    const char *arch, *code, *sentence;
} refusals[] = {
    { "compute_75", "__shared__ fgs::tile_load<fgs::f16, 100, 64> l; l.init();",
      "a tile is a multiple of 16 bytes" },
    { "compute_75", "__shared__ fgs::tile_load<fgs::f16, 64, 40> l; l.init();",
      "a multiple of 32, whole warps" },
    { "compute_75",
      "__shared__ fgs::tile_load<fgs::f16, 64, 2048> l; l.init();",
      "a block has 1024 threads at most" },
    { "compute_75", "struct none {}; fgs::canonicalize<none>(1);",
      "this element type states no sentinel" },
    { "compute_75", "struct none {}; fgs::fill_tile<none, 64, 32>(p);",
      "this element type states no sentinel" },
    { "compute_90", "__shared__ fgs::tile_load<fgs::f16, 64, 64, "
      "fgs::engine::report> l; l.init();",
      "the report engine needs compute capability 10.7" },
    { "compute_107", "__shared__ fgs::tile_load<fgs::f16, 64, 64, "
      "fgs::engine::report> l; l.init();",
      "compiled for sm_107a or sm_107f" },
    { "compute_80", "__shared__ fgs::tile_load<fgs::f16, 64, 64, "
      "fgs::engine::bulk> l; l.init();",
      "the bulk engine needs sm_90" },
    { "compute_75", "__shared__ fgs::pipe<fgs::f16, 64, 2, "
      "fgs::engine::async> l; l.init(32);",
      "the async engine needs sm_80" },
    { "compute_75", "__shared__ fgs::pipe<fgs::f16, 64, 33> l; l.init(32);",
      "a pipe has 1 to 32 stages" },
    { "compute_75", "__shared__ fgs::pipe<fgs::f16, 64, 2, int> l;"
      " l.init(32);", "no such engine" },
    { "compute_75", "fgs::canonicalize<fgs::i16, fgs::saturate::down>(1);",
      "this sentinel is the least value" },
    { "compute_75", "fgs::element<32, 0x8000u, fgs::mechanism::w16, "
      "fgs::rule::never_sentinel> e; (void)e;",
      "looks for another pattern than this sentinel" },
    { "compute_75", "fgs::element<16, 0xffffu, fgs::mechanism::each_ff, "
      "fgs::rule::never_ones> e; (void)e;",
      "looks for another pattern than this sentinel" },
    { "compute_75", "fgs::element<7, 1u, fgs::mechanism::w8, "
      "fgs::rule::never_ones> e; (void)e;",
      "an element has 4, 8, 16 or 32 bits" },
    { "compute_75", "struct own : fgs::element<16, 0x8000u, "
      "fgs::mechanism::w16, fgs::rule::never_sentinel> {};"
      " fgs::convert<own>(1);", "specialize fgs::conversion" },
    { "compute_80", "fgs::bulk_store(p, p, 16);", "bulk stores need sm_90" },
    { "compute_80", "fgs::publish<fgs::results::by_bulk>();",
      "the async proxy begins with sm_90" },
};

/* A program of one statement. */
static const char *write_program(const char *code)
{
    static char path[100];
    FILE *f;

    snprintf(path, sizeof path, P_tmpdir "/fgs-misuse-%ld.cu", (long)getpid());
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#include <fgs/fgs_device.cuh>\n"
               "extern \"C\" __global__ void run(char *p)\n{\n%s\n}\n", code);
    fclose(f);
    return path;
}

static void misuse_is_a_sentence(void **state)
{
    const struct refusal *r = *state;
    const char *path;
    bool taken;

    need_nvrtc(false);
    path = write_program(r->code);
    taken = compile_by(nvrtc_path(false), path, r->arch, NULL);
    unlink(path);
    if (!taken && strstr(d.log, "invalid value for --gpu-architecture")) {
        print_message("%s: this NVRTC does not know it\n", r->arch);
        skip();
    }
    if (taken || !strstr(d.log, "fgs: ") || !strstr(d.log, r->sentence))
        fail_msg("\"%s\" for %s: %s", r->code, r->arch,
                 taken ? "is taken" : d.log);
    if (!getenv("FGS_PROVIDER"))
        close_device(NULL); /* the folder for its log goes */
}

int main(void)
{
    enum { REFUSALS = sizeof refusals / sizeof *refusals };
    static char name[2][MODELS][60], says[REFUSALS][60];
    static struct CMUnitTest tests[1 + 2 * MODELS + REFUSALS] = {
        cmocka_unit_test(header_has_the_rows_of_the_tables),
    };
    int n = 1;

    for (int k = 0; k < MODELS; k++) {
        snprintf(name[0][k], 60, "%s_floats_become_the_nearest_codes",
                 models[k].name);
        snprintf(name[1][k], 60, "%s_packed_words_lose_their_sentinels_alone",
                 models[k].name);
        tests[n++] = (struct CMUnitTest){ name[0][k],
                                          floats_become_the_nearest_codes,
                                          NULL, NULL, (void *)&models[k] };
        tests[n++] = (struct CMUnitTest){
            name[1][k], packed_words_lose_their_sentinels_alone, NULL, NULL,
            (void *)&models[k]
        };
    }
    for (int k = 0; k < REFUSALS; k++) {
        snprintf(says[k], 60, "misuse_%d_is_a_sentence", k + 1);
        tests[n++] = (struct CMUnitTest){ says[k], misuse_is_a_sentence, NULL,
                                          NULL, (void *)&refusals[k] };
    }
    return cmocka_run_group_tests_name("device_header", tests, NULL,
                                       close_device);
}
