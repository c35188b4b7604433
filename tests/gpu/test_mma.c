/* test_mma.c -- products of matrices on the software device and on a GPU
 *
 * Each form of mma and wmma with a grid of warps, each with random fragments
 * of one temper: usual numbers, any bits, infinities and NaN, tiny numbers,
 * zeros, sums that cancel.  FGS_GEN_PROVIDER names the second device.
 */
#include "../gen/device.h"
#include "base/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { WARPS = 256, LANES = 32, MOST = 8 };

static struct gen_device soft, real;

static int open_both(void **state)
{
    const char *second = getenv("FGS_GEN_PROVIDER");
    fgs_error err;

    (void)state;
    if (gen_open(&real, second ? second : "cuda", &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    assert_int_equal(gen_open(&soft, "sim", &err), FGS_OK);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    gen_close(&soft);
    gen_close(&real);
    return 0;
}

/* ---------------------------------------------------------------- inputs -- */

struct element {
    const char *word;
    unsigned bits, exponent; /* 0 = an integer */
};

static const struct element elements[] = {
    { "f16", 16, 5 }, { "bf16", 16, 8 }, { "tf32", 32, 8 }, { "f32", 32, 8 },
    { "e4m3", 8, 4 }, { "e5m2", 8, 5 },  { "f64", 64, 11 }, { "s32", 32, 0 },
    { "s8", 8, 0 },   { "u8", 8, 0 },    { "s4", 4, 0 },    { "u4", 4, 0 },
    { "b1", 1, 0 },
    { "places", 4, 1 }, { "halves", 4, 1 },
};

static const struct element *element_of(const char *word)
{
    for (size_t k = 0; k < sizeof elements / sizeof elements[0]; k++)
        if (!strcmp(elements[k].word, word))
            return &elements[k];
    fail_msg("no element %s", word);
    return NULL;
}

static uint64_t seed;

static uint64_t any(void)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

enum temper { USUAL, ANY, SPECIAL, TINY, ZEROS, CANCEL, TEMPERS };

static uint64_t number(const struct element *e, unsigned temper)
{
    unsigned low = e->bits - 1 - e->exponent;
    uint64_t top = (1ull << e->exponent) - 1, bias = top >> 1;
    uint64_t sign = any() % 2 << (e->bits - 1);
    uint64_t frac = any() & ((1ull << low) - 1), exp = bias;

    switch (temper) {
    case USUAL:
        exp = bias - 5 + any() % 11;
        break;
    case ANY:
        return any() >> (64 - e->bits);
    case SPECIAL:
        exp = any() % 20 ? bias - 3 + any() % 7 : top * (any() % 2);
        frac = any() % 2 ? frac : 0;
        break;
    case TINY:
        exp = any() % 3;
        break;
    case ZEROS:
        exp = any() % 10 ? 0 : bias;
        frac = 0;
        break;
    default:
        frac &= ~(frac >> 3);
    }
    return sign | exp << low | frac;
}

/* Metadata of a chunk: two of four places, or one of two of 32 bits. */
static uint64_t place(const struct element *e)
{
    uint64_t low = any() % 4;

    if (!strcmp(e->word, "halves"))
        return any() % 2 ? 4 : 14;
    return low | (low + 1 + any() % 3) % 4 << 2;
}

static uint64_t word_of(const struct element *e, unsigned width,
                        unsigned temper)
{
    uint64_t w = 0;

    for (unsigned k = 0; e->bits == 4 && e->exponent && k < width; k += 4)
        w |= place(e) << k;
    if (w)
        return w;

    if (!e->exponent)
        return temper % 2 ? any() >> (64 - width) : any() % 2 ? 0 : UINT32_MAX;
    for (unsigned k = 0; k < width; k += e->bits)
        w |= number(e, temper) << k;
    return w;
}

/* ----------------------------------------------------------------- forms -- */

struct form {
    const char *words, *type[5]; /* of D, A, B, C, metadata */
    unsigned regs[6]; /* of each, then the selector */
};

static const struct form list[] = {
#define H "mma.sync.aligned."
    { H "m16n8k8.row.col.f32.f16.f16.f32", { "f32", "f16", "f16", "f32" },
      { 4, 2, 1, 4 } },
    { H "m16n8k8.row.col.f16.f16.f16.f16", { "f16", "f16", "f16", "f16" },
      { 2, 2, 1, 2 } },
    { H "m16n8k16.row.col.f32.f16.f16.f32", { "f32", "f16", "f16", "f32" },
      { 4, 4, 2, 4 } },
    { H "m16n8k16.row.col.f16.f16.f16.f16", { "f16", "f16", "f16", "f16" },
      { 2, 4, 2, 2 } },
    { H "m16n8k8.row.col.f32.bf16.bf16.f32", { "f32", "bf16", "bf16", "f32" },
      { 4, 2, 1, 4 } },
    { H "m16n8k16.row.col.f32.bf16.bf16.f32", { "f32", "bf16", "bf16", "f32" },
      { 4, 4, 2, 4 } },
    { H "m16n8k4.row.col.f32.tf32.tf32.f32", { "f32", "tf32", "tf32", "f32" },
      { 4, 2, 1, 4 } },
    { H "m16n8k8.row.col.f32.tf32.tf32.f32", { "f32", "tf32", "tf32", "f32" },
      { 4, 4, 2, 4 } },
    { H "m16n8k32.row.col.f32.e4m3.e5m2.f32", { "f32", "e4m3", "e5m2", "f32" },
      { 4, 4, 2, 4 } },
    { H "m16n8k32.row.col.f16.e5m2.e4m3.f16", { "f16", "e5m2", "e4m3", "f16" },
      { 2, 4, 2, 2 } },
    { H "m16n8k16.row.col.f32.e4m3.e4m3.f32", { "f32", "e4m3", "e4m3", "f32" },
      { 4, 2, 1, 4 } },
    { H "m16n8k16.row.col.f16.e5m2.e5m2.f16", { "f16", "e5m2", "e5m2", "f16" },
      { 2, 2, 1, 2 } },
    { H "m8n8k4.row.col.f64.f64.f64.f64", { "f64", "f64", "f64", "f64" },
      { 2, 1, 1, 2 } },
    { H "m16n8k4.row.col.rz.f64.f64.f64.f64", { "f64", "f64", "f64", "f64" },
      { 4, 2, 1, 4 } },
    { H "m16n8k8.row.col.rp.f64.f64.f64.f64", { "f64", "f64", "f64", "f64" },
      { 4, 4, 2, 4 } },
    { H "m16n8k16.row.col.f64.f64.f64.f64", { "f64", "f64", "f64", "f64" },
      { 4, 8, 4, 4 } },
    { H "m8n8k4.row.col.f32.f16.f16.f32", { "f32", "f16", "f16", "f32" },
      { 8, 2, 2, 8 } },
    { H "m8n8k4.col.row.f16.f16.f16.f16", { "f16", "f16", "f16", "f16" },
      { 4, 2, 2, 4 } },
    { H "m8n8k16.row.col.s32.u8.s8.s32", { "s32", "u8", "s8", "s32" },
      { 2, 1, 1, 2 } },
    { H "m16n8k32.row.col.satfinite.s32.s8.u8.s32",
      { "s32", "s8", "u8", "s32" }, { 4, 4, 2, 4 } },
    { H "m16n8k64.row.col.satfinite.s32.s4.u4.s32",
      { "s32", "s4", "u4", "s32" }, { 4, 4, 2, 4 } },
    { H "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
      { "s32", "b1", "b1", "s32" }, { 4, 4, 2, 4 } },
    { H "m16n8k256.row.col.s32.b1.b1.s32.and.popc",
      { "s32", "b1", "b1", "s32" }, { 4, 4, 2, 4 } },
#undef H
#define S "mma.sp.sync.aligned."
    { S "m16n8k16.row.col.f32.f16.f16.f32",
      { "f32", "f16", "f16", "f32", "places" }, { 4, 2, 2, 4, 1, 3 } },
    { S "m16n8k32.row.col.f16.f16.f16.f16",
      { "f16", "f16", "f16", "f16", "places" }, { 2, 4, 4, 2, 1, 1 } },
    { S "m16n8k32.row.col.f32.bf16.bf16.f32",
      { "f32", "bf16", "bf16", "f32", "places" }, { 4, 4, 4, 4, 1, 0 } },
    { S "m16n8k8.row.col.f32.tf32.tf32.f32",
      { "f32", "tf32", "tf32", "f32", "halves" }, { 4, 2, 2, 4, 1, 2 } },
    { S "m16n8k16.row.col.f32.tf32.tf32.f32",
      { "f32", "tf32", "tf32", "f32", "halves" }, { 4, 4, 4, 4, 1, 1 } },
    { S "m16n8k64.row.col.f32.e4m3.e5m2.f32",
      { "f32", "e4m3", "e5m2", "f32", "places" }, { 4, 4, 4, 4, 1, 0 } },
    { S "m16n8k32.row.col.s32.u8.s8.s32",
      { "s32", "u8", "s8", "s32", "places" }, { 4, 2, 2, 4, 1, 1 } },
    { S "m16n8k64.row.col.satfinite.s32.s8.u8.s32",
      { "s32", "s8", "u8", "s32", "places" }, { 4, 4, 4, 4, 1, 0 } },
    { S "m16n8k64.row.col.s32.s4.u4.s32",
      { "s32", "s4", "u4", "s32", "places" }, { 4, 2, 2, 4, 1, 1 } },
    { S "m16n8k128.row.col.satfinite.s32.u4.s4.s32",
      { "s32", "u4", "s4", "s32", "places" }, { 4, 4, 4, 4, 1, 0 } },
#undef S
#define W "wmma.mma.sync.aligned."
    { W "row.col.m16n16k16.f32.f32", { "f32", "f16", "f16", "f32" },
      { 8, 8, 8, 8 } },
    { W "row.col.m32n8k16.f32.f16", { "f32", "f16", "f16", "f16" },
      { 8, 8, 8, 4 } },
    { W "row.col.m8n32k16.f16.f32", { "f16", "f16", "f16", "f32" },
      { 4, 8, 8, 8 } },
    { W "row.col.m16n16k16.f16.f16", { "f16", "f16", "f16", "f16" },
      { 4, 8, 8, 4 } },
    { W "row.col.m8n32k16.f32.bf16.bf16.f32", { "f32", "bf16", "bf16", "f32" },
      { 8, 2, 8, 8 } },
    { W "row.col.m16n16k8.f32.tf32.tf32.f32", { "f32", "tf32", "tf32", "f32" },
      { 8, 4, 4, 8 } },
    { W "row.col.m32n8k16.satfinite.s32.s8.s8.s32",
      { "s32", "s8", "s8", "s32" }, { 8, 4, 1, 8 } },
#undef W
};

/* Registers of a thread that are read. */
static unsigned ins_of(const struct form *f)
{
    return f->regs[1] + f->regs[2] + f->regs[3] + f->regs[4];
}

/* The unused halves of wmma's f16 fragments are what a load leaves there. */
static void fill(const struct form *f, unsigned width, unsigned char *in)
{
    for (unsigned warp = 0; warp < WARPS; warp++)
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned k = 1; k < 5; k++)
                for (unsigned r = 0; r < f->regs[k]; r++) {
                    uint64_t w = word_of(element_of(f->type[k]), width,
                                         warp % TEMPERS);

                    memcpy(in, &w, width / 8);
                    in += width / 8;
                }
}

static size_t put_regs(char *text, size_t at, size_t size, char name,
                       unsigned count, const char *end)
{
    for (unsigned k = 0; k < count; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%%%c%u",
                               k ? ", " : "{", name, k);
    return at + (size_t)snprintf(text + at, size - at, "}%s", end);
}

static void write_text(const struct form *f, unsigned width, char *text,
                       size_t size)
{
    const char *type = width == 64 ? "f64" : "b32";
    unsigned bytes = width / 8, ins = ins_of(f);
    unsigned offset = 0;
    size_t n;

    n = (size_t)snprintf(
        text, size,
        ".version 8.7\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{\n"
        ".reg .%s %%d<8>, %%a<8>, %%b<8>, %%c<8>, %%e<1>;\n"
        ".reg .u32 %%t, %%w;\n.reg .u64 %%in, %%out;\n"
        "ld.param.u64 %%in, [p_in];\nld.param.u64 %%out, [p_out];\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%w, %%ctaid.x;\n"
        "mad.lo.u32 %%t, %%w, 32, %%t;\n"
        "mad.wide.u32 %%in, %%t, %u, %%in;\n"
        "mad.wide.u32 %%out, %%t, %u, %%out;\n",
        type, ins * bytes, f->regs[0] * bytes);
    for (unsigned k = 1; k < 5; k++)
        for (unsigned r = 0; r < f->regs[k]; r++, offset += bytes)
            n += (size_t)snprintf(text + n, size - n,
                                  "ld.global.%s %%%c%u, [%%in+%u];\n", type,
                                  "dabce"[k], r, offset);
    n += (size_t)snprintf(text + n, size - n, "%s ", f->words);
    n = put_regs(text, n, size, 'd', f->regs[0], ", ");
    n = put_regs(text, n, size, 'a', f->regs[1], ", ");
    n = put_regs(text, n, size, 'b', f->regs[2], ", ");
    n = put_regs(text, n, size, 'c', f->regs[3], "");
    n += f->regs[4] ? (size_t)snprintf(text + n, size - n, ", %%e0, %u;\n",
                                       f->regs[5])
                    : (size_t)snprintf(text + n, size - n, ";\n");
    for (unsigned r = 0; r < f->regs[0]; r++)
        n += (size_t)snprintf(text + n, size - n,
                              "st.global.%s [%%out+%u], %%d%u;\n", type,
                              r * bytes, r);
    snprintf(text + n, size - n, "ret;\n}\n");
}

/* With FGS_GEN_DUMP: the warp's operands and both results, lane by lane. */
static void dump(const struct form *f, size_t warp, const unsigned char *in,
                 const unsigned char *soft_out, const unsigned char *real_out)
{
    unsigned ins = ins_of(f), outs = f->regs[0];
    const char *dir = getenv("FGS_GEN_DUMP");
    uint32_t w;
    char path[512];
    FILE *o;

    if (!dir || element_of(f->type[0])->bits == 64)
        return;
    snprintf(path, sizeof path, "%s/mma_%s_%zu", dir, f->words, warp);
    o = fopen(path, "w");
    if (!o)
        return;
    for (size_t lane = warp * LANES; lane < (warp + 1) * LANES; lane++) {
        for (size_t k = lane * ins; k < (lane + 1) * ins; k++) {
            memcpy(&w, in + k * 4, 4);
            fprintf(o, "%08x ", w);
        }
        for (size_t k = lane * outs; k < (lane + 1) * outs; k++) {
            memcpy(&w, soft_out + k * 4, 4);
            fprintf(o, "| %08x", w);
            memcpy(&w, real_out + k * 4, 4);
            fprintf(o, " %08x", w);
        }
        fprintf(o, "\n");
    }
    fclose(o);
}

/* Registers of the results that differ. */
static unsigned compare(const struct form *f, unsigned width)
{
    static unsigned char in[WARPS * LANES * (3 * MOST + 1) * 8];
    static unsigned char a[WARPS * LANES * MOST * 8], b[sizeof a];
    static char text[8192];
    unsigned ins = ins_of(f), differ = 0;
    struct gen_launch l = { .text = text, .ptx = 87, .blocks = WARPS,
                            .threads = LANES };

    l.out_bytes = (size_t)WARPS * LANES * f->regs[0] * width / 8;
    fill(f, width, in);
    write_text(f, width, text, sizeof text);
    for (int k = 0; k < 2; k++) {
        struct gen_device *d = k ? &real : &soft;

        l.out = k ? b : a;
        if (!gen_set_in(d, in, (size_t)WARPS * LANES * ins * width / 8) ||
            !gen_run(d, &l))
            fail_msg("%s: %s", f->words, d->text);
    }
    for (size_t k = 0; k < l.out_bytes; k += width / 8) {
        if (!memcmp(a + k, b + k, width / 8))
            continue;
        differ++;
        dump(f, k / (width / 8) / (LANES * f->regs[0]), in, a, b);
    }
    return differ;
}

static void products_have_the_bits_of_a_gpu(void **state)
{
    unsigned total = 0, wrong = 0;

    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        unsigned width = element_of(list[k].type[0])->bits == 64 ? 64 : 32;
        unsigned differ = compare(&list[k], width);

        if (differ)
            print_message("%s: %u of %u registers differ\n", list[k].words,
                          differ, WARPS * LANES * list[k].regs[0]);
        total += WARPS * LANES * list[k].regs[0];
        wrong += differ;
    }
    print_message("%zu products: %u of %u registers differ\n",
                  sizeof list / sizeof list[0], wrong, total);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_bits_of_a_gpu),
    };

    return cmocka_run_group_tests(tests, open_both, close_both);
}
