/* test_canonical.c -- no producer's output is the sentinel: every code, counted
 *
 * The real producers on the software device, with each way of converting: by
 * hand, by the target's conversion, by a .pzo one.  What they store is compared
 * with the C mirror and with element_model.h.
 */
#include "variant_rig.h"

#include "element_model.h"

#include <unistd.h>

/* By hand alone; bf16 and then fp8 by a conversion; clusters and dependent
 * launches; .pzo. */
static const uint32_t ccs[] = { 75, 80, 89, 90, 107 };
enum { CCS = sizeof ccs / sizeof *ccs, TILE = 16384, CODES = 65536 };

/* Inputs, as bits of f32. */
struct cases {
    uint32_t *x;
    uint64_t count, room;
};

static void add(struct cases *c, uint32_t x)
{
    if (c->count + 2 > c->room) {
        c->room = c->room ? 2 * c->room : 4096;
        c->x = realloc(c->x, c->room * sizeof *c->x);
        assert_non_null(c->x);
    }
    c->x[c->count++] = x;
    c->x[c->count++] = x ^ 0x80000000u;
}

/* The inputs that double to y, and one place beside it. */
static void around(struct cases *c, double y)
{
    float x = (float)(y / 2);
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    add(c, bits);
    add(c, bits + 1);
    if (bits)
        add(c, bits - 1);
}

/* All exponents: both zeros, the ends of the subnormals, infinity and NaNs
 * are among them. */
static void add_exponents(struct cases *c)
{
    static const uint32_t man[] = {
        0, 1, 2, 3, 0x3ffffe, 0x3fffff, 0x400000, 0x400001, 0x400002,
        0x7ffffd, 0x7ffffe, 0x7fffff, 0x555555, 0x2aaaaa,
    };

    for (uint32_t e = 0; e < 256; e++) {
        for (size_t k = 0; k < sizeof man / sizeof *man; k++)
            add(c, e << 23 | man[k]);
        for (int bit = 2; bit < 22; bit++)
            add(c, e << 23 | 1u << bit);
    }
}

/* All codes, and what is half way from each to the next. */
static void add_codes(struct cases *c, const struct model *m, uint32_t bits)
{
    uint32_t end = 1u << (bits - m->has_sign), man = (1u << m->man) - 1;

    for (uint32_t code = 0; code <= m->max; code++) {
        double v = model_value(m, code), next = model_value(m, code + 1);

        around(c, v);
        around(c, (v + next) / 2);
    }
    for (uint32_t code = m->max + 1; code < end; code++)
        add(c, 0x7f800000 | (code & man) << (23 - m->man));
}

static void add_integers(struct cases *c, const struct model *m)
{
    double end = m->most + 3;

    if (m->most < CODES) {
        for (double k = 0; k < end; k++) {
            around(c, k);
            around(c, k + 0.5);
        }
        return;
    }
    for (int e = 0; e < 34; e++) {
        for (int k = -3; k <= 3; k++) {
            around(c, ldexp(1, e) + k);
            around(c, ldexp(1, e) + k + 0.5);
            around(c, ldexp(1, e) + k * ldexp(1, e - 24));
        }
    }
}

static struct cases all_cases(const struct model *m)
{
    struct cases c = { 0 };

    add_exponents(&c);
    if (m->kind == MODEL_INT)
        add_integers(&c, m);
    else if (m->man != 23)
        add_codes(&c, m, model_info(m)->bits);
    return c;
}

static fgs_element element_of(const struct model *m)
{
    int e = 0;

    while (strcmp(fgs_element_get_info((fgs_element)e)->name, m->name))
        e++;
    return (fgs_element)e;
}

/* The least integer has nothing below it. */
static int aways(const struct model *m)
{
    if (m->kind == MODEL_FLOAT || m->least >= 0)
        return 1;
    return strcmp(m->name, "i8ff") ? FGS_SATURATE_UP + 1 : FGS_SATURATE_COUNT;
}

static float doubled(uint32_t bits)
{
    volatile float x;
    float f;

    memcpy(&f, &bits, sizeof f);
    x = f;
    return 2.0f * x;
}

/* Take out what an integer's producer refuses; as many as `to` has room for
 * are kept there. */
static uint64_t drop_refused(struct cases *c, const struct model *m,
                             uint32_t *to, uint64_t room)
{
    const fgs_element_info *e = model_info(m);
    uint64_t kept = 0, n = 0;

    for (uint64_t i = 0; i < c->count; i++) {
        if (model_convert(m, e, doubled(c->x[i]), 0) != e->sentinel)
            c->x[kept++] = c->x[i];
        else if (n++ < room)
            to[n - 1] = c->x[i];
    }
    c->count = kept;
    return n < room ? n : room;
}

/* What came out of some cases. */
struct outcome {
    uint64_t cases, differ, leaks;
    uint64_t tiny;  /* differ where the input is subnormal                   */
    uint64_t below; /* -0.0 only by rounding: negative numbers that are 0    */
    uint64_t codes; /* that came out, of those of up to 16 bits              */
    uint32_t first; /* input that differs                                    */
};

static uint32_t element(const uint8_t *from, unsigned bits, uint64_t k)
{
    uint32_t v = 0;

    if (bits == 4)
        return from[k / 2] >> k % 2 * 4 & 15;
    memcpy(&v, from + k * bits / 8, bits / 8);
    return v;
}

static void judge(struct outcome *o, const struct model *m, int away,
                  const uint32_t *x, const uint8_t *mid, const uint8_t *ref,
                  uint64_t count)
{
    static uint8_t seen[CODES];
    const fgs_element_info *e = model_info(m);

    memset(o, 0, sizeof *o);
    memset(seen, 0, sizeof seen);
    o->cases = count;
    for (uint64_t i = 0; i < count; i++) {
        float y = doubled(x[i]);
        uint32_t want = model_convert(m, e, y, away);
        uint32_t got = element(mid, e->bits, i);

        assert_int_equal(element(ref, e->bits, i), want);
        o->leaks += got == e->sentinel;
        o->below += y < 0 && !want;
        if (got != want) {
            if (!o->differ++)
                o->first = x[i];
            o->tiny += !(x[i] & 0x7f800000);
        }
        if (got < CODES && !seen[got]) {
            seen[got] = 1;
            o->codes++;
        }
    }
}

/* The cases in whole tiles through the producer and a consumer. */
static struct outcome run(const struct model *m, int away, struct cases *c,
                          uint64_t max_tries)
{
    const fgs_element_info *e = model_info(m);
    uint64_t per = TILE * 8 / e->bits, n = (c->count + per - 1) / per * per;
    struct job j = { element_of(m), FGS_ENGINE_POLL, (fgs_saturate)away, 0,
                     TILE, 256, n / per, FGS_LANGUAGE_PTX, max_tries };
    uint64_t bytes = j.tiles * TILE;
    uint8_t *mid = malloc(bytes), *out = malloc(bytes), *want = malloc(bytes);
    uint32_t *x = calloc(n, sizeof *x);
    struct outcome o;
    fgs_error err;
    fgs_result r;

    assert_true(mid && out && want && x);
    memcpy(x, c->x, c->count * sizeof *x);
    assert_int_equal(fgs_ref_produce(j.element, j.saturate, x, want, n, NULL),
                     FGS_OK);
    r = hand_over(&j, x, mid, out, &err);
    judge(&o, m, away, x, mid, want, n);
    o.cases = c->count;
    if (r < 0 && !max_tries)
        fail_msg("%s: %s", m->name, err.text);
    if (!max_tries) {
        fgs_ref_consume(element_of(m), mid, want, j.tiles, TILE);
        assert_memory_equal(out, want, bytes);
    }
    free(mid);
    free(out);
    free(want);
    free(x);
    return o;
}

/* How many codes a producer makes; 0 = more than are counted. */
static uint64_t codes_of(const struct model *m)
{
    uint32_t bits = model_info(m)->bits;

    if (bits == 32)
        return 0;
    if (m->kind == MODEL_INT)
        return (1u << bits) - 1;
    return (m->max + 1) * (1u + m->has_sign) - m->has_sign +
           (m->nan != m->max);
}

/* One input that is the integer's sentinel among zeros ends the run. */
static void expect_refused(const struct model *m, uint32_t x)
{
    const fgs_element_info *e = model_info(m);
    struct job j = { element_of(m), FGS_ENGINE_POLL, FGS_SATURATE_REFUSE, 0,
                     4096, 256, 2, FGS_LANGUAGE_PTX, 0 };
    uint64_t per = 4096 * 8 / e->bits, at = per + per / 2 + 1;
    uint8_t mid[2 * 4096], out[2 * 4096];
    uint32_t *in = calloc(2 * per, sizeof *in);
    fgs_error err;

    assert_non_null(in);
    in[at] = x;
    if (hand_over(&j, in, mid, out, &err) != FGS_E_SENTINEL)
        fail_msg("%s: %08x is not refused", m->name, x);
    for (uint64_t k = 0; k < 2 * per; k++) {
        if (k * e->bits / 128 != at * e->bits / 128)
            assert_int_equal(element(mid, e->bits, k), 0);
    }
    free(in);
}

static void no_output_is_the_sentinel(void **state)
{
    const struct model *m = *state;
    int ways = aways(m);
    uint64_t cases = 0, below = 0, refusals = 0;

    for (int away = 0; away < ways; away++) {
        struct cases c = all_cases(m);
        uint32_t refused[6];
        uint64_t n = 0;

        if (ways > 1 && !away)
            n = drop_refused(&c, m, refused, 6);
        for (int k = 0; k < CCS; k++) {
            struct outcome o;

            open_as(ccs[k], NULL);
            o = run(m, away, &c, 0);
            for (uint64_t i = 0; i < n; i++)
                expect_refused(m, refused[i]);
            fgs_device_close(dev);
            if (o.differ || o.leaks)
                fail_msg("%s on %u: %llu differ, from %08x on, %llu leak",
                         m->name, ccs[k], (unsigned long long)o.differ,
                         o.first, (unsigned long long)o.leaks);
            if (codes_of(m))
                assert_int_equal(o.codes, codes_of(m));
            cases += o.cases;
            below += o.below;
            refusals += n;
        }
        free(c.x);
    }
    print_message("%s: %llu cases, 0 differ, 0 are the sentinel; %llu negative "
                  "ones become 0; %llu refused\n", m->name,
                  (unsigned long long)cases, (unsigned long long)below,
                  (unsigned long long)refusals);
    if (m->kind == MODEL_FLOAT && m->man && m->man != 23 && m->has_sign)
        assert_true(below > 0);
}

/* ------------------------------------------------------------- mutants -- */

static char dir[64], path[128];

/* The producer's text with each `from` replaced, in the folder. */
static void put_mutant(uint32_t cc, const struct model *m, int away,
                       const char *from, const char *to)
{
    fgs_ptx_desc d = {
        .size = sizeof d, .stem = "scale_produce", .cc = (int32_t)cc,
        .element = element_of(m), .saturate = (fgs_saturate)away,
        .tile_bytes = TILE, .threads = 256
    };
    size_t size = 0;
    char *text, *at, *next;
    bool own = element_of(m) != FGS_ELEMENT_F32;
    FILE *f;

    assert_int_equal(fgs_ptx_expand(&d, NULL, &size, NULL), FGS_E_SIZE);
    snprintf(path, sizeof path, "%s/scale_produce%s%s.ptx", dir,
             own ? "." : "", own ? m->name : "");
    f = fopen(path, "wb");
    text = malloc(size);
    assert_true(text && f);
    assert_int_equal(fgs_ptx_expand(&d, text, &size, NULL), FGS_OK);
    at = text;
    assert_non_null(strstr(text, from));
    for (; (next = strstr(at, from)) != NULL; at = next + strlen(from))
        fprintf(f, "%.*s%s", (int)(next - at), at, to);
    fputs(at, f);
    assert_int_equal(fclose(f), 0);
    free(text);
}

static const struct mutant {
    const char *element;
    uint32_t cc;
    int away;
    const char *from, *to;
} mutants[] = {
    { "f32", 75, 0, "add.rn.f32    %v1, %v1, 0f00000000",
      "mov.f32 %v1, %v1" },
    { "f16", 75, 0, "and.b32       %w, %w, %z", "mov.b32 %w, %w" },
    { "bf16", 75, 0, "and.b32       %w, %w, %z", "mov.b32 %w, %w" },
    { "bf16", 80, 0, "and.b32       %w, %w, %z", "mov.b32 %w, %w" },
    { "e4m3", 89, 0, "and.b32       %w, %w, %z", "mov.b32 %w, %w" },
    { "e2m1", 90, 0, "and.b32       %w, %w, %z", "mov.b32 %w, %w" },
    { "f16", 107, 0, ".pzo", "" },
    { "bf16", 107, 0, ".pzo", "" },
    { "e4m3", 107, 0, ".pzo", "" },
    { "e5m2", 107, 0, ".pzo", "" },
    { "e2m1", 107, 0, ".pzo", "" },
    { "ue8m0", 90, 0, "min.u32       %x, %x, 0xfe", "mov.b32 %x, %x" },
    { "ue5m3", 90, 0, "selp.b32       %x, 0xfe, %x, %p_is",
      "selp.b32 %x, 0xff, %x, %p_is" },
    { "x8", 90, 0, "min.u32        %x, %x, 0xfe", "min.u32 %x, %x, 255" },
    { "meta4", 90, 0, "min.u32        %x, %x, 0xe", "min.u32 %x, %x, 15" },
    { "i32", 90, 1, "selp.b32       %x, %z, %x, %p_is", "mov.b32 %x, %x" },
    { "i16", 90, 1, "selp.b32       %x, %z, %x, %p_is", "mov.b32 %x, %x" },
    { "i8", 90, 1, "selp.b32       %x, %z, %x, %p_is", "mov.b32 %x, %x" },
    { "i8ff", 90, 2, "selp.b32       %x, %z, %x, %p_is", "mov.b32 %x, %x" },
};

static struct outcome run_mutant(const struct mutant *u)
{
    const struct model *m = models;
    struct cases c;
    struct outcome o;

    while (strcmp(m->name, u->element))
        m++;
    put_mutant(u->cc, m, u->away, u->from, u->to);
    c = all_cases(m);
    open_as(u->cc, dir);
    o = run(m, u->away, &c, 64);
    fgs_device_close(dev);
    remove(path);
    free(c.x);
    return o;
}

static void producer_that_leaks_is_caught(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        const struct mutant *u = &mutants[i];
        struct outcome o = run_mutant(u);

        if (!o.differ || !o.leaks)
            fail_msg("%s on %u without %s: %llu differ, %llu leak",
                     u->element, u->cc, u->from,
                     (unsigned long long)o.differ,
                     (unsigned long long)o.leaks);
    }
}

/* Flushed subnormals: where the element has values as small, they are missed;
 * where it has none, nothing changes. */
static void flush_to_zero_is_caught(void **state)
{
    (void)state;
    for (const struct model *m = models; m->kind == MODEL_FLOAT; m++) {
        for (int k = 0; k < CCS; k++) {
            const struct mutant u = { m->name, ccs[k], 0, "mul.rn.f32",
                                      "mul.rn.ftz.f32" };
            struct outcome o = run_mutant(&u);

            assert_int_equal(o.differ, o.tiny);
            if ((m->exp == 8) != (o.differ > 0))
                fail_msg("%s on %u: %llu subnormal cases differ", m->name,
                         ccs[k], (unsigned long long)o.differ);
        }
    }
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/fgs_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return remove(dir);
}

int main(void)
{
    static char name[MODELS][60];
    static struct CMUnitTest tests[MODELS + 2] = {
        cmocka_unit_test_setup_teardown(producer_that_leaks_is_caught,
                                        make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(flush_to_zero_is_caught, make_dir,
                                        remove_dir),
    };

    for (int k = 0; k < MODELS; k++) {
        snprintf(name[k], sizeof name[k], "no_output_of_%s_is_the_sentinel",
                 models[k].name);
        tests[2 + k] = (struct CMUnitTest){ name[k], no_output_is_the_sentinel,
                                            NULL, NULL, (void *)&models[k] };
    }
    return cmocka_run_group_tests_name("canonical", tests, NULL, NULL);
}
