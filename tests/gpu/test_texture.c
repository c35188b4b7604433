/* test_texture.c -- textures and surfaces on the software device and a GPU
 *
 * Each row of texture_case.h on both: the same bits.  FGS_GEN_PROVIDER names
 * the second device.  FGS_GEN_DUMP=DIR writes what the second one answered to
 * DIR/texture.bin, a record a row: name (64 bytes), count, bytes of elements
 * (u32 each), elements, points (4 words each), results (4 words each); and
 * what it said of wrong descriptors to DIR/texture.txt, and the rows of
 * texture_h200.h to DIR/texture_h200.txt.  FGS_TEX_FAULT=N runs
 * the N-th wrong kernel on the second device alone and prints its error.
 */
#include "texture_side.h"

static struct side side[2];
static FILE *dump, *said, *hashes;

static FILE *open_dump(const char *name)
{
    const char *dir = getenv("FGS_GEN_DUMP");
    char path[512];

    if (!dir)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "wb");
}

static void open_sides(void)
{
    const char *second = getenv("FGS_GEN_PROVIDER");

    open_side(&side[0], "sim");
    open_side(&side[1], second ? second : "cuda");
}

static void close_sides(void)
{
    close_side(&side[1]);
    close_side(&side[0]);
}

static int open_both(void **state)
{
    (void)state;
    setenv("FGS_SIM_CC", "90", 1);
    open_sides();
    dump = open_dump("texture.bin");
    said = open_dump("texture.txt");
    hashes = open_dump("texture_h200.txt");
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    if (dump)
        fclose(dump);
    if (said)
        fclose(said);
    if (hashes)
        fclose(hashes);
    close_sides();
    return 0;
}

static void write_dump(const struct texture_case *c)
{
    char name[64] = "";
    uint32_t head[2] = { c->count, (uint32_t)make_elements(c, 0) };

    if (!dump)
        return;
    snprintf(name, sizeof name, "%s", c->name);
    fwrite(name, sizeof name, 1, dump);
    fwrite(head, sizeof head, 1, dump);
    fwrite(elements, head[1], 1, dump);
    fwrite(points, 16, c->count, dump);
    fwrite(side[1].got, 16, c->count, dump);
}

/* Filtered signed bytes: hardware's 16 bits are not known to the last one. */
static bool equal(const struct texture_case *c, const uint32_t *a,
                  const uint32_t *b)
{
    bool near = c->format == S8 && c->filter;

    for (unsigned k = 0; k < 4; k++) {
        float x, y;

        memcpy(&x, &a[k], sizeof x);
        memcpy(&y, &b[k], sizeof y);
        if (a[k] != b[k] && !(near && fabsf(x - y) < 1.1f / 32767))
            return false;
    }
    return true;
}

/* How many results differ; the first of them are printed. */
static unsigned compare(const struct texture_case *c)
{
    unsigned bad = 0;

    for (unsigned n = 0; n < c->count; n++) {
        const uint32_t *p = points + 4 * n, *a = side[0].got + 4 * n;
        const uint32_t *b = side[1].got + 4 * n;

        if (equal(c, a, b))
            continue;
        if (bad++ < 3)
            print_message("  at %08x %08x %08x %08x: %08x %08x %08x %08x, "
                          "not %08x %08x %08x %08x\n", p[0], p[1], p[2], p[3],
                          a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]);
    }
    if (bad)
        print_message("%s: %u of %u differ\n", c->name, bad, c->count);
    return bad;
}

static void both_read_the_same(void **state)
{
    unsigned bad = 0, all = 0;

    (void)state;
    for (size_t k = 0; k < sizeof texture_cases / sizeof *texture_cases; k++) {
        const struct texture_case *c = &texture_cases[k];
        CUresult r[2];
        bool ran = true; /* else both must refuse to make it */

        for (unsigned n = 0; n < c->count; n++)
            texture_point(c, n, points + 4 * n);
        for (int i = 0; i < 2; i++) {
            struct object o;

            r[i] = make(&side[i], c, &o);
            ran &= !r[i];
            if (!r[i])
                r[i] = run(&side[i], c->insn, c->count, o.handle);
            unmake(&side[i], c, &o);
        }
        all += c->count;
        if (r[0] || r[1]) {
            print_message("%s: error %d here, %d there\n", c->name, (int)r[0],
                          (int)r[1]);
            bad += ran || r[0] != r[1];
            close_sides(); /* a context may have ended */
            open_sides();
        }
        if (!r[1])
            write_dump(c);
        if (!r[0] && !r[1])
            bad += compare(c);
        if (hashes && !r[1])
            fprintf(hashes, "    { \"%s\", 0x%016llx },\n", c->name,
                    (unsigned long long)results_hash(&side[1], c->count));
    }
    print_message("textures: %u results, %u differ\n", all, bad);
    assert_int_equal(bad, 0);
}

static void both_say_the_same(void **state)
{
    unsigned bad = 0;

    (void)state;
    for (int k = 0; k < TEXTURE_WRONGS; k++) {
        char what[100];
        CUresult r[2];

        for (int i = 0; i < 2; i++)
            r[i] = texture_wrong(&side[i].call, side[i].memory, k, what);
        if (said)
            fprintf(said, "%s: %d\n", what, (int)r[1]);
        if (r[0] != r[1])
            print_message("%s: %d, not %d\n", what, (int)r[0], (int)r[1]);
        if ((int)r[1] != texture_said(k))
            print_message("%s: an H200 said %d\n", what, texture_said(k));
        bad += r[0] != r[1];
    }
    assert_int_equal(bad, 0);
}

static void a_wrong_kernel_ends(void **state)
{
    const char *which = getenv("FGS_TEX_FAULT");
    int n = which ? atoi(which) : -1;
    CUresult r;

    (void)state;
    if (n < 0 || n >= (int)(sizeof faults / sizeof *faults))
        skip();
    r = run_fault(&side[1], n);
    print_message("fault %d: error %d, result %08x %08x %08x %08x\n", n, (int)r,
                  side[1].got[0], side[1].got[1], side[1].got[2],
                  side[1].got[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_read_the_same),
        cmocka_unit_test(both_say_the_same),
    };
    const struct CMUnitTest fault[] = { cmocka_unit_test(a_wrong_kernel_ends) };

    if (getenv("FGS_TEX_FAULT"))
        return cmocka_run_group_tests_name("texture", fault, open_both,
                                           close_both);
    return cmocka_run_group_tests_name("texture", tests, open_both, close_both);
}
