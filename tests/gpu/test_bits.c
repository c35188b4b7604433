/* test_bits.c -- every form on the software device and on a GPU: same bits
 *
 * FGS_GEN_SHORT=1 takes an eighth of the cases, FGS_GEN_DUMP=DIR writes the
 * differences to DIR/bits.txt.  FGS_GEN_PROVIDER names the second device.
 */
#include "../gen/device.h"
#include "../gen/gen.h"
#include "base/compat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { CASES = 8192, SWEEP = 65536, TOLD = 64 };

static struct gen_device soft, real;
static struct gen_forms forms;
static FILE *dump;
static bool quick;

static struct tally {
    uint64_t forms, cases, differ;
} tally[FGS__OP_COUNT];

static int open_both(void **state)
{
    const char *dir = getenv("FGS_GEN_DUMP");
    const char *second = getenv("FGS_GEN_PROVIDER");
    char path[512];
    fgs_error err;

    (void)state;
    if (gen_open(&real, second ? second : "cuda", &err) < 0) {
        print_message("%s\n", err.text);
        exit(77);
    }
    assert_int_equal(gen_open(&soft, "sim", &err), FGS_OK);
    assert_true(gen_forms_make(&forms));
    quick = getenv("FGS_GEN_SHORT") != NULL;
    if (dir) {
        snprintf(path, sizeof path, "%s/bits.txt", dir);
        dump = fopen(path, "w");
    }
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    gen_close(&soft);
    gen_close(&real);
    gen_forms_free(&forms);
    if (dump)
        fclose(dump);
    return 0;
}

/* ------------------------------------------------------------ comparison -- */

struct part {
    const struct gen_form *const *form;
    uint32_t count, cases;
    const uint8_t *in;
};

static void tell(const struct part *p, const struct gen_form *f, uint32_t i,
                 const uint64_t *a, const uint64_t *b)
{
    if (!dump)
        return;
    fprintf(dump, "%s case %u:", f->words, i);
    for (unsigned k = 0; k < f->ins; k++)
        fprintf(dump, " %llx",
                (unsigned long long)gen_input(p->in, p->cases, f, k, i));
    fprintf(dump, " | sim %llx %llx | gpu %llx %llx\n",
            (unsigned long long)a[0], (unsigned long long)a[1],
            (unsigned long long)b[0], (unsigned long long)b[1]);
}

static void compare(const struct part *p, const uint64_t *a, const uint64_t *b)
{
    for (uint32_t n = 0; n < p->count; n++) {
        const struct gen_form *f = p->form[n];
        uint32_t differ = 0;

        for (uint32_t i = 0; i < p->cases; i++, a += 2, b += 2) {
            if (a[0] == b[0] && a[1] == b[1])
                continue;
            if (differ++ < TOLD)
                tell(p, f, i, a, b);
        }
        tally[f->op].forms++;
        tally[f->op].cases += p->cases;
        tally[f->op].differ += differ;
        if (differ)
            print_message("%s: %u of %u differ\n", f->words, differ, p->cases);
    }
}

/* One module on both; what one of them does not take is halved, so that the
 * forms that are to blame are named. */
static void run_part(const struct part *p)
{
    size_t bytes = (size_t)p->count * p->cases * GEN_SLOT;
    uint64_t *a = malloc(bytes), *b = malloc(bytes);
    char *text = gen_text(p->form, p->count, p->cases, p->form[0]->ptx);
    struct gen_launch l = { .text = text, .ptx = p->form[0]->ptx,
                            .blocks = p->cases / 256, .threads = 256,
                            .out = a, .out_bytes = bytes };
    bool good[2];

    assert_true(a && b && text);
    good[0] = gen_run(&soft, &l);
    l.out = b;
    good[1] = gen_run(&real, &l);
    if (good[0] && good[1]) {
        compare(p, a, b);
    } else if (p->count > 1) {
        struct part half = *p;

        half.count = p->count / 2;
        run_part(&half);
        half.form += half.count;
        half.count = p->count - half.count;
        run_part(&half);
    } else {
        print_message("%s: not run, %s: %s\n", p->form[0]->words,
                      good[0] ? real.info.provider : "sim",
                      good[0] ? real.text : soft.text);
        /* what the software device refuses by name is no wrong bit */
        if (good[0] || !strstr(soft.text, "is not executed"))
            tally[p->form[0]->op].differ++;
    }
    free(a);
    free(b);
    free(text);
}

static void run_all(uint32_t cases, bool sweep, uint32_t at_once)
{
    const struct gen_form *list[64];
    struct part p = { .form = list, .cases = cases };
    uint8_t *in = malloc(gen_in_bytes(cases));

    assert_non_null(in);
    gen_fill_in(in, cases, sweep);
    p.in = in;
    assert_true(gen_set_in(&soft, in, gen_in_bytes(cases)));
    assert_true(gen_set_in(&real, in, gen_in_bytes(cases)));
    for (uint32_t k = 0; k <= forms.count; k++) {
        const struct gen_form *f = k < forms.count ? &forms.form[k] : NULL;

        if (p.count && (!f || p.count == at_once ||
                        f->ptx != p.form[0]->ptx)) {
            run_part(&p);
            p.count = 0;
        }
        if (f && gen_form_sweeps(f) == sweep)
            list[p.count++] = f;
    }
    free(in);
}

static void every_form_gives_the_same_bits(void **state)
{
    struct tally all = { 0, 0, 0 };

    (void)state;
    print_message("%s\n", real.info.name);
    run_all(quick ? CASES / 8 : CASES, false, 64);
    run_all(quick ? SWEEP / 8 : SWEEP, true, 16);
    for (unsigned op = 1; op < FGS__OP_COUNT; op++) {
        const struct tally *t = &tally[op];

        if (!t->forms && !t->differ)
            continue;
        print_message("%-16s %6llu forms %9llu cases %8llu differ\n",
                      fgs__rows[op].word, (unsigned long long)t->forms,
                      (unsigned long long)t->cases,
                      (unsigned long long)t->differ);
        all.forms += t->forms;
        all.cases += t->cases;
        all.differ += t->differ;
    }
    print_message("%-16s %6llu forms %9llu cases %8llu differ\n", "all",
                  (unsigned long long)all.forms, (unsigned long long)all.cases,
                  (unsigned long long)all.differ);
    assert_int_equal(all.differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_same_bits),
    };

    return cmocka_run_group_tests_name("bits", tests, open_both, close_both);
}
