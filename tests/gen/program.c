/* program.c -- random small programs: functions, entry, memory
 *
 * The statements are program_body.c's.
 */
#include "program_maker.h"
#include "base/compat.h"

#include <stdlib.h>

/* ------------------------------------------------------------ functions -- */

static const char registers[] =
    "    .reg .pred %p<4>, %q<8>;\n    .reg .b16 %h<4>, %k<4>;\n"
    "    .reg .b32 %r<8>, %t<8>, %m<5>, %c<4>;\n    .reg .f32 %f<6>, %x;\n"
    "    .reg .b64 %d<4>, %u<4>;\n    .reg .f64 %g<3>, %y;\n"
    "    .reg .b128 %w;\n";

/* The bits of %g in %u0: NaN is one value. */
static void put_bits(struct maker *m, unsigned g)
{
    PUT("    mov.b64 %%u0, %%g%u;\n    testp.notanumber.f64 %%q7, %%g%u;\n"
        "    selp.b64 %%u0, 0x7ff8000000000000, %%u0, %%q7;\n", g, g);
}

/* The same of %f in %t0. */
static void put_bits_32(struct maker *m, unsigned f)
{
    PUT("    mov.b32 %%t0, %%f%u;\n    testp.notanumber.f32 %%q7, %%f%u;\n"
        "    selp.b32 %%t0, 0x7fffffff, %%t0, %%q7;\n", f, f);
}

/* All registers into %t7. */
static void put_fold(struct maker *m)
{
#define STEP "    mad.lo.u32 %%t7, %%t7, 16777619, "
    PUT("    mov.u32 %%t7, 1;\n");
    for (unsigned k = 0; k < R_REGS; k++)
        PUT(STEP "%%r%u;\n", k);
    for (unsigned k = 0; k < F_REGS; k++) {
        put_bits_32(m, k);
        PUT(STEP "%%t0;\n");
    }
    for (unsigned k = 0; k < D_REGS + G_REGS; k++) {
        if (k < D_REGS)
            PUT("    mov.b64 %%u0, %%d%u;\n", k);
        else
            put_bits(m, k - D_REGS);
        PUT("    mov.b64 {%%t0, %%t1}, %%u0;\n" STEP "%%t0;\n" STEP
            "%%t1;\n");
    }
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    cvt.u32.u16 %%t0, %%h%u;\n" STEP "%%t0;\n", k);
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    selp.u32 %%t0, 1, 0, %%p%u;\n" STEP "%%t0;\n", k);
#undef STEP
}

static void put_func(struct maker *m, unsigned n)
{
    PUT(".func (.param .b32 p_r) %s_f%u(.param .b32 p_a, .param .b32 p_b, "
        ".param .b32 p_m)\n{\n", m->name, n);
    PUT("%s    ld.param.b32 %%r0, [p_a];\n    ld.param.b32 %%r1, [p_b];\n"
        "    ld.param.b32 %%m0, [p_m];\n", registers);
    PUT("%s_proto:\n    .callprototype (.param .b32 _) _ (.param .b32 _, "
        ".param .b32 _, .param .b32 _);\n", m->name);
    for (unsigned k = 2; k < R_REGS; k++)
        PUT("    mad.lo.u32 %%r%u, %%r%u, 0x%x, %%r%u;\n", k, k - 2,
            draw(m, 1u << 31), k - 1);
    for (unsigned k = 0; k < F_REGS; k++)
        PUT("    cvt.rn.f32.s32 %%f%u, %%r%u;\n", k, k + 2);
    for (unsigned k = 0; k < D_REGS; k++)
        PUT("    mov.b64 %%d%u, {%%r%u, %%r%u};\n", k, k, k + 4);
    for (unsigned k = 0; k < G_REGS; k++)
        PUT("    cvt.rn.f64.s64 %%g%u, %%d%u;\n", k, k);
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    cvt.u16.u32 %%h%u, %%r%u;\n", k, k);
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    setp.lt.s32 %%p%u, %%r%u, 0;\n", k, k);
    m->in_func = true;
    m->uniform = m->full = false;
    m->budget = 16;
    program_body(m, 12);
    put_fold(m);
    PUT("    st.param.b32 [p_r], %%t7;\n    ret;\n}\n");
    m->funcs = n + 1;
}

static void put_start(struct maker *m)
{
    PUT(".visible .entry %s(.param .u64 p_in, .param .u64 p_out)\n{\n%s"
        "    .reg .b64 %%a_in, %%a_thread, %%a_atom;\n"
        "    .reg .b32 %%s_all, %%s_own, %%s_atom, %%l_own, %%id;\n"
        "    .shared .align 16 .b8 s_all[%u];\n"
        "    .shared .align 16 .b8 s_atom[256];\n"
        "    .local .align 16 .b8 l_own[64];\n", m->name, registers,
        m->threads * 16);
    PUT("    mov.u32 %%s_all, s_all;\n    mov.u32 %%s_atom, s_atom;\n"
        "    mov.u32 %%l_own, l_own;\n    mov.u32 %%t0, %%tid.x;\n"
        "    mad.lo.u32 %%s_own, %%t0, 16, %%s_all;\n"
        "    mov.u32 %%t1, %%ctaid.x;\n    mad.lo.u32 %%id, %%t1, %u, %%t0;\n"
        "    ld.param.u64 %%a_in, [p_in];\n"
        "    ld.param.u64 %%a_thread, [p_out];\n"
        "    mov.u32 %%t2, %%nctaid.x;\n    mul.lo.u32 %%t2, %%t2, %u;\n"
        "    mad.wide.u32 %%a_atom, %%t2, %u, %%a_thread;\n"
        "    mad.wide.u32 %%a_thread, %%id, %u, %%a_thread;\n", m->threads,
        m->threads, GEN_PROGRAM_THREAD, GEN_PROGRAM_THREAD);
    PUT("%s_proto:\n    .callprototype (.param .b32 _) _ (.param .b32 _, "
        ".param .b32 _, .param .b32 _);\n", m->name);
    /* the lanes that my warp has */
    PUT("    and.b32 %%t1, %%t0, 0xffffffe0;\n"
        "    sub.u32 %%t1, %u, %%t1;\n    min.u32 %%t1, %%t1, 32;\n"
        "    bmsk.clamp.b32 %%m0, 0, %%t1;\n", m->threads);
}

/* %u0: an address of `bytes` in p_in. */
static void put_some(struct maker *m, unsigned bytes)
{
    PUT("    mad.lo.u32 %%t0, %%id, 0x%x, 0x%x;\n    shr.u32 %%t0, %%t0, 7;\n"
        "    and.b32 %%t0, %%t0, %u;\n    mad.wide.u32 %%u0, %%t0, %u, "
        "%%a_in;\n", draw(m, 1u << 31) | 1, draw(m, 1u << 31),
        GEN_PROGRAM_IN / bytes - 1, bytes);
}

static void put_values(struct maker *m)
{
    static const struct {
        char c;
        unsigned n, bytes;
        const char *type;
    } sets[] = { { 'r', R_REGS, 4, "b32" }, { 'd', D_REGS, 8, "b64" },
                 { 'f', F_REGS, 4, "f32" }, { 'g', G_REGS, 8, "f64" },
                 { 'h', H_REGS, 2, "b16" } };

    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        for (unsigned k = 0; k < sets[s].n; k++) {
            put_some(m, sets[s].bytes);
            PUT("    ld.global.%s %%%c%u, [%%u0];\n", sets[s].type, sets[s].c,
                k);
        }
    }
    /* some numbers that are small and differ from lane to lane */
    PUT("    mov.u32 %%r0, %%id;\n    and.b32 %%r1, %%r1, 15;\n");
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    and.b32 %%t0, %%r%u, %u;\n    setp.ne.u32 %%p%u, %%t0, 0;\n",
            k, 1 + k, k);
    PUT("    mov.b64 %%u0, 0x%x;\n", draw(m, 1u << 31));
    for (unsigned k = 0; k < 8; k++)
        PUT("    st.local.b64 [%%l_own+%u], %%u0;\n", k * 8);
}

static void put_check(struct maker *m)
{
    if (m->checks == CHECKS)
        return;
    put_fold(m);
    PUT("    st.global.b32 [%%a_thread+%u], %%t7;\n",
        AT_CHECK + m->checks++ * 4);
}

static void put_end(struct maker *m)
{
    for (unsigned k = 0; k < R_REGS; k++)
        PUT("    st.global.b32 [%%a_thread+%u], %%r%u;\n", AT_R + k * 4, k);
    for (unsigned k = 0; k < D_REGS; k++)
        PUT("    st.global.b64 [%%a_thread+%u], %%d%u;\n", AT_D + k * 8, k);
    for (unsigned k = 0; k < F_REGS; k++) {
        put_bits_32(m, k);
        PUT("    st.global.b32 [%%a_thread+%u], %%t0;\n", AT_F + k * 4);
    }
    for (unsigned k = 0; k < H_REGS; k++)
        PUT("    st.global.b16 [%%a_thread+%u], %%h%u;\n", AT_H + k * 2, k);
    for (unsigned k = 0; k < G_REGS; k++) {
        put_bits(m, k);
        PUT("    st.global.b64 [%%a_thread+%u], %%u0;\n", AT_G + k * 8);
    }
    for (unsigned k = 0; k < P_REGS; k++)
        PUT("    selp.b32 %%t0, 1, 0, %%p%u;\n"
            "    st.global.b8 [%%a_thread+%u], %%t0;\n", k, AT_P + k);
    PUT("    ret;\n}\n");
}

struct gen_program gen_program_make(uint64_t seed, const char *name)
{
    static const unsigned sizes[] = { 32, 40, 64, 72, 96, 128, 256, 33 };
    struct gen_program p = { NULL, 0, 0, 0 };
    struct maker maker = { .state = seed, .name = name }, *m = &maker;
    unsigned parts = 6, atoms = 0;

    m->b.cap = TEXT_CAP;
    m->b.s = malloc(TEXT_CAP);
    if (!m->b.s)
        return p;
    m->threads = p.threads = sizes[draw(m, 8)];
    p.blocks = 1 + draw(m, 4);
    PUT(".const .align 8 .b32 %s_c[16] = { %u", name, draw(m, 1u << 31));
    for (unsigned k = 1; k < 16; k++)
        PUT(", %u", draw(m, 1u << 31));
    PUT(" };\n");
    for (unsigned k = 0; k < FUNCS; k++)
        put_func(m, k);
    m->in_func = false;
    m->uniform = true;
    m->full = m->threads % 32 == 0;
    m->budget = 70;
    put_start(m);
    put_values(m);
    for (unsigned k = 0; k < parts && m->budget > 0; k++) {
        program_body(m, 16);
        put_check(m);
    }
    put_end(m);
    for (unsigned k = 0; k < program_row_count; k++)
        atoms += program_rows[k].kind == ATOM;
    p.text = m->b.s;
    p.out_bytes = (size_t)p.threads * p.blocks * GEN_PROGRAM_THREAD +
        (size_t)atoms * PLACES * 8;
    return p;
}

/* --------------------------------------------------------------- memory -- */

void gen_program_fill_in(uint8_t *in)
{
    for (uint32_t k = 0; k < GEN_PROGRAM_IN / 8; k++) {
        unsigned type = k % 3 == 0 ? FGS__T_F64 : k % 3 == 1 ? FGS__T_F32
                                                             : FGS__T_U32;
        uint64_t v = gen_value(type, 0, k * 7);

        if (type != FGS__T_F64)
            v |= gen_value(type, 1, k * 7) << 32;
        memcpy(in + k * 8, &v, 8);
    }
}

void gen_program_fill_out(const struct gen_program *p, uint64_t seed,
                          uint8_t *out)
{
    uint8_t *at = out + (size_t)p->threads * p->blocks * GEN_PROGRAM_THREAD;

    memset(out, 0xcc, p->out_bytes);
    for (unsigned row = 0; row < program_row_count; row++) {
        if (program_rows[row].kind != ATOM)
            continue;
        for (unsigned k = 0; k < PLACES; k++, at += 8) {
            uint64_t v = gen_mix(seed ^ (row * PLACES + k));

            /* sums of whole numbers are exact */
            if (strstr(program_rows[row].text, "add.f"))
                v = 0;
            memcpy(at, &v, 8);
        }
    }
}

char *gen_program_module(const struct gen_program *p)
{
    static const char head[] =
        ".version 9.0\n.target sm_90\n.address_size 64\n";
    size_t n = strlen(p->text) + sizeof head;
    char *text = malloc(n);

    if (text)
        snprintf(text, n, "%s%s", head, p->text);
    return text;
}

void gen_program_place(const struct gen_program *p, size_t at, char *text,
                       size_t cap)
{
    static const struct {
        unsigned at, bytes;
        char c;
    } sets[] = { { AT_R, 4, 'r' }, { AT_D, 8, 'd' }, { AT_F, 4, 'f' },
                 { AT_H, 2, 'h' }, { AT_G, 8, 'g' }, { AT_P, 1, 'p' },
                 { AT_CHECK, 4, 'c' } };
    size_t threads = (size_t)p->threads * p->blocks;
    size_t id = at / GEN_PROGRAM_THREAD, in = at % GEN_PROGRAM_THREAD, k = 6;

    if (id >= threads) {
        at = (at - threads * GEN_PROGRAM_THREAD) / 8;
        snprintf(text, cap, "atomic row %zu place %zu", at / PLACES,
                 at % PLACES);
        return;
    }
    while (sets[k].at > in)
        k--;
    snprintf(text, cap, "block %zu thread %zu: %s%c%zu", id / p->threads,
             id % p->threads, sets[k].c == 'c' ? "check " : "%", sets[k].c,
             (in - sets[k].at) / sets[k].bytes);
}
