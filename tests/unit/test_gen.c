/* test_gen.c -- kernels made from the tables, on the software device alone */
#include "../gen/device.h"
#include "../gen/gen.h"
#include "base/compat.h"
#include "sim/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <cmocka.h>

enum { CASES = 512, AT_ONCE = 64 };

static struct gen_forms forms;

static int make_forms(void **state)
{
    (void)state;
    return gen_forms_make(&forms) ? 0 : -1;
}

static int free_forms(void **state)
{
    (void)state;
    gen_forms_free(&forms);
    return 0;
}

static void row_has_forms_or_a_reason(void **state)
{
    (void)state;
    for (unsigned op = 1; op < FGS__OP_COUNT; op++) {
        const char *why = gen_no_forms(op);

        if (why && forms.of[op])
            fail_msg("%s has forms, and a reason: %s", fgs__rows[op].word, why);
        if (!why && !forms.of[op])
            fail_msg("%s has no forms", fgs__rows[op].word);
    }
}

/* The statements of one version in one function. */
static void write_forms(FILE *f, unsigned ptx)
{
    fprintf(f, ".version %u.%u\n.target sm_90\n.address_size 64\n"
            ".visible .entry k()\n{\n.reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n"
            ".reg .b32 %%r<8>;\n.reg .b64 %%d<8>, %%slot;\n", ptx / 10,
            ptx % 10);
    for (uint32_t k = 0; k < forms.count; k++) {
        if (forms.form[k].ptx == ptx)
            fprintf(f, "%s\n", forms.form[k].text);
    }
    fprintf(f, "ret;\n}\n");
    assert_int_equal(fclose(f), 0);
}

/* What the checker takes and ptxas refuses would be found on no GPU. */
static void assembler_takes_every_form(void **state)
{
    static const unsigned versions[] = { 90, 94 };
    const char *b = getenv("B"), *tc = getenv("TC");
    char path[512], command[2048], line[512];

    (void)state;
    snprintf(path, sizeof path, "%s/bin/ptxas", tc ? tc : "");
    if (!b || access(path, X_OK))
        skip();
    for (unsigned k = 0; k < 2; k++) {
        unsigned lines = 0;
        FILE *f;

        snprintf(path, sizeof path, "%s/tests/forms_%u.ptx", b, versions[k]);
        f = fopen(path, "w");
        assert_non_null(f);
        write_forms(f, versions[k]);
        snprintf(command, sizeof command, "'%s/bin/ptxas' -arch=sm_90 -O0 '%s' "
                 "-o /dev/null 2>&1", tc, path);
        f = popen(command, "r");
        assert_non_null(f);
        while (fgets(line, sizeof line, f) && lines++ < 20)
            print_message("%s", line);
        assert_int_equal(pclose(f), 0);
        assert_int_equal(lines, 0);
    }
}

/* What the loader refuses is halved until it is one form. */
static unsigned run_part(struct gen_device *d,
                         const struct gen_form *const *f, uint32_t n,
                         uint64_t *out)
{
    size_t words = (size_t)n * CASES * GEN_SLOT / 8;
    char *text = gen_text(f, n, CASES, f[0]->ptx);
    struct gen_launch l = { .text = text, .ptx = f[0]->ptx,
                            .blocks = CASES / 256, .threads = 256, .out = out,
                            .out_bytes = words * 8 };
    unsigned refused = 0;

    assert_non_null(text);
    if (gen_run(d, &l)) {
        free(text);
        return 0;
    }
    free(text);
    if (n == 1) {
        /* refused by name, not for what it computed */
        if (!strstr(d->text, "is not executed"))
            fail_msg("%s: %s", f[0]->words, d->text);
        memset(out, 0, words * 8);
        return 1;
    }
    refused = run_part(d, f, n / 2, out);
    return refused + run_part(d, f + n / 2, n - n / 2,
                              out + (size_t)(n / 2) * CASES * GEN_SLOT / 8);
}

static void levels_give_the_same_bits(void **state)
{
    const struct gen_form *list[AT_ONCE];
    size_t bytes = (size_t)AT_ONCE * CASES * GEN_SLOT;
    uint64_t *first = malloc(bytes), *other = malloc(bytes);
    uint8_t *in = malloc(gen_in_bytes(CASES));
    unsigned refused = 0;
    struct gen_device d;
    fgs_error err;

    (void)state;
    assert_true(first && other && in);
    gen_fill_in(in, CASES, false);
    assert_int_equal(gen_open(&d, "sim", &err), FGS_OK);
    assert_true(gen_set_in(&d, in, gen_in_bytes(CASES)));
    for (uint32_t k = 0; k < forms.count; k += AT_ONCE) {
        uint32_t n = forms.count - k < AT_ONCE ? forms.count - k : AT_ONCE;

        for (uint32_t j = 0; j < n; j++)
            list[j] = &forms.form[k + j];
        for (int level = FGS__ISA_BASE; level <= FGS__ISA_AVX512; level++) {
            fgs__sim_isa_limit((enum fgs__sim_isa)level);
            if (level != (int)fgs__sim_isa_now())
                break;
            refused += run_part(&d, list, n, level ? other : first);
            for (uint32_t j = 0; level && j < n; j++) {
                size_t at = (size_t)j * CASES * GEN_SLOT / 8;

                if (memcmp(first + at, other + at, CASES * GEN_SLOT))
                    fail_msg("%s: level %d differs", list[j]->words, level);
            }
        }
        fgs__sim_isa_limit(FGS__ISA_AVX512);
    }
    print_message("%u forms, %u times refused\n", forms.count, refused);
    gen_close(&d);
    free(first);
    free(other);
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_has_forms_or_a_reason),
        cmocka_unit_test(assembler_takes_every_form),
        cmocka_unit_test(levels_give_the_same_bits),
    };

    return cmocka_run_group_tests_name("gen", tests, make_forms, free_forms);
}
