/* test_sim_exec_values.c -- each arithmetic form against an H200's results
 *
 * The tables hold operands and what the hardware made of them.  A form runs
 * once in all 32 lanes, each with operands of its own, and once under a guard
 * in the odd lanes, for every level of vectors that this CPU has.
 */
#include "exec_run.h"
#include "sim/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct value {
    uint64_t in[3], out;
};

/* Forms and values in one array: a row is one or the other. */
struct row {
    const char *op, *regs;
    struct value v;
};
#define OP(op, regs)  { op, regs, { { 0, 0, 0 }, 0 } },
#define V(a, b, c, d) { NULL, NULL, { { a, b, c }, d } },
static const struct row floats[] = {
#include "exec_float.def"
    { "", "", { { 0, 0, 0 }, 0 } }
};
static const struct row ints[] = {
#include "exec_int.def"
    { "", "", { { 0, 0, 0 }, 0 } }
};
static const struct row cvts[] = {
#include "exec_cvt_int.def"
#include "exec_cvt_float.def"
    { "", "", { { 0, 0, 0 }, 0 } }
};
#undef OP
#undef V

enum { LANES_ = 32, IN = 24 * LANES_, ONE = 8 * LANES_ };
#define UNTOUCHED 0x5555555555555555ull

/* ------------------------------------------------------------------ text -- */

struct text {
    char buf[4096];
    size_t len;
};

static void put(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    t->len += (size_t)vsnprintf(t->buf + t->len, sizeof t->buf - t->len, fmt,
                                ap);
    va_end(ap);
    assert_true(t->len < sizeof t->buf);
}

static const char *type_of(char reg)
{
    switch (reg) {
    case 'h':
        return "b16";
    case 'r':
        return "b32";
    case 'l':
        return "b64";
    case 'f':
        return "f32";
    case 'd':
        return "f64";
    default:
        return "pred";
    }
}

/* %x, 64 bits, to a register of its kind. */
static void put_from_bits(struct text *t, char reg, const char *name)
{
    if (reg == 'h')
        put(t, "cvt.u16.u64 %s, %%x;\n", name);
    else if (reg == 'r')
        put(t, "cvt.u32.u64 %s, %%x;\n", name);
    else if (reg == 'f')
        put(t, "cvt.u32.u64 %%w, %%x;\nmov.b32 %s, %%w;\n", name);
    else if (reg == 'p')
        put(t, "setp.ne.u64 %s, %%x, 0;\n", name);
    else
        put(t, "mov.b64 %s, %%x;\n", name);
}

static void put_to_bits(struct text *t, char reg)
{
    if (reg == 'h')
        put(t, "cvt.u64.u16 %%x, %%d;\n");
    else if (reg == 'r')
        put(t, "cvt.u64.u32 %%x, %%d;\n");
    else if (reg == 'f')
        put(t, "mov.b32 %%w, %%d;\ncvt.u64.u32 %%x, %%w;\n");
    else if (reg == 'p')
        put(t, "selp.u64 %%x, 1, 0, %%d;\n");
    else
        put(t, "mov.b64 %%x, %%d;\n");
}

static void put_kernel(struct text *t, const struct row *form)
{
    const char *src = form->regs + 2;
    size_t n = strlen(src), k, pass;

    put(t, ".version 9.4\n.target sm_107a\n.address_size 64\n"
           ".visible .entry k()\n{\n.shared .align 16 .b8 io[%d];\n"
           ".reg .b64 %%x, %%in, %%io, %%at;\n.reg .b32 %%w, %%t;\n"
           ".reg .pred %%odd;\n.reg .%s %%d;\n",
        IN + 2 * ONE, type_of(form->regs[0]));
    for (k = 0; k < n; k++)
        put(t, ".reg .%s %%s%zu;\n", type_of(src[k]), k);
    put(t, "mov.u32 %%t, %%tid.x;\nmov.u64 %%io, io;\n"
           "mul.wide.u32 %%x, %%t, 24;\nadd.u64 %%in, %%io, %%x;\n"
           "mul.wide.u32 %%x, %%t, 8;\nadd.u64 %%at, %%io, %%x;\n"
           "and.b32 %%w, %%t, 1;\nsetp.ne.u32 %%odd, %%w, 0;\n");
    for (k = 0; k < n; k++) {
        char name[32];

        snprintf(name, sizeof name, "%%s%zu", k);
        put(t, "ld.shared.b64 %%x, [%%in+%zu];\n", 8 * k);
        put_from_bits(t, src[k], name);
    }
    for (pass = 0; pass < 2; pass++) {
        put(t, "mov.u64 %%x, 0x%llx;\n", UNTOUCHED);
        put_from_bits(t, form->regs[0], "%d");
        put(t, "%s%s %%d", pass ? "@%odd " : "", form->op);
        for (k = 0; k < n; k++)
            put(t, ", %%s%zu", k);
        put(t, ";\n");
        put_to_bits(t, form->regs[0]);
        put(t, "st.shared.b64 [%%at+%zu], %%x;\n", IN + pass * ONE);
    }
    put(t, "ret;\n}\n");
}

/* ------------------------------------------------------------------- run -- */

static uint64_t untouched(char reg)
{
    switch (reg) {
    case 'h':
        return (uint16_t)UNTOUCHED;
    case 'r':
    case 'f':
        return (uint32_t)UNTOUCHED;
    case 'p':
        return 1;
    default:
        return UNTOUCHED;
    }
}

static void compare(const struct row *form, unsigned pass, unsigned lane,
                    uint64_t have, uint64_t want)
{
    const struct value *v = &form[1 + lane].v;

    if (have == want)
        return;
    fail_msg("%s of %#llx, %#llx, %#llx%s at level %d: %#llx, not %#llx",
             form->op, (unsigned long long)v->in[0],
             (unsigned long long)v->in[1], (unsigned long long)v->in[2],
             pass ? " under a guard" : "", (int)fgs__sim_isa_now(),
             (unsigned long long)have, (unsigned long long)want);
}

static void check_form(const struct row *form, unsigned count)
{
    struct text t = { .len = 0 };
    struct exec e;
    uint64_t out[2][LANES_];
    unsigned k;

    put_kernel(&t, form);
    if (exec_open(&e, t.buf, &fgs__malloc) != FGS_OK)
        fail_msg("%s: %s", form->op,
                 e.diags.count ? e.diags.item[0].text : "?");
    assert_non_null(exec_block(&e, LANES_, 1, 1));
    for (k = 0; k < count; k++)
        memcpy(e.block->shared + 24 * k, form[1 + k].v.in, 24);
    assert_int_equal(exec_run(&e, 1000000000), FGS__SIM_ENDED);
    memcpy(out, e.block->shared + IN, sizeof out);
    for (k = 0; k < count; k++) {
        compare(form, 0, k, out[0][k], form[1 + k].v.out);
        compare(form, 1, k, out[1][k],
                k & 1 ? form[1 + k].v.out : untouched(form->regs[0]));
    }
    exec_close(&e);
}

static void check_table(const struct row *rows)
{
    const struct row *form, *end;
    int level, last = -1;

    for (level = FGS__ISA_BASE; level <= FGS__ISA_AVX512; level++) {
        fgs__sim_isa_limit((enum fgs__sim_isa)level);
        /* The same as the level below: this CPU has no more. */
        if ((int)fgs__sim_isa_now() == last)
            break;
        last = (int)fgs__sim_isa_now();
        for (form = rows; *form->op; form = end) {
            for (end = form + 1; !end->op; end++)
                ;
            check_form(form, (unsigned)(end - form - 1));
        }
    }
    fgs__sim_isa_limit(FGS__ISA_AVX512);
}

static void floats_are_those_of_the_hardware(void **state)
{
    (void)state;
    check_table(floats);
}

static void integers_are_those_of_the_hardware(void **state)
{
    (void)state;
    check_table(ints);
}

static void conversions_are_those_of_the_hardware(void **state)
{
    (void)state;
    check_table(cvts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_those_of_the_hardware),
        cmocka_unit_test(integers_are_those_of_the_hardware),
        cmocka_unit_test(conversions_are_those_of_the_hardware),
    };

    return cmocka_run_group_tests_name("sim_exec_values", tests, NULL, NULL);
}
