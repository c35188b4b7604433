/* test_sim_slots.c -- registers that share a slot of the bank keep their values
 *
 * Random programs of short-lived and long-lived registers of every width, with
 * forward jumps, loops and guards by the lane, against the same program in C,
 * one lane after another.  Registers that were never written are zero.
 */
#include "exec_run.h"
#include "ptx_run.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LANES = 32, NAMES = 9, LENGTH = 60, FUEL = 12, PROGRAMS = 400 };

enum kind { ADD32, ADD64, MAD16, SETP, FOLD32, FOLD64, FOLD16, JUMP, LOOP };

struct line {
    enum kind kind;
    unsigned d, a, b, imm, to;
    int guard; /* predicate, -1 = none */
};

/* ------------------------------------------------------------ generator -- */

static struct line random_line(uint64_t *rng, unsigned at)
{
    uint64_t r = fgs__sim_random(rng);
    struct line l = { (enum kind)(r % 9), r >> 8 & 15, r >> 12 & 15,
                      r >> 16 & 15, r >> 20 & 255, 0, -1 };

    l.d %= NAMES;
    l.a %= NAMES;
    l.b %= NAMES;
    if ((r >> 28) % 4 == 0 || l.kind == JUMP)
        l.guard = (int)(r >> 32) & 3;
    l.to = l.kind == JUMP ? at + 1 + (r >> 36) % (LENGTH - at)
                          : (r >> 36) % (at + 1);
    if (l.kind == LOOP && (r >> 44) % 2)
        l.kind = FOLD32;
    if (l.kind == LOOP)
        l.guard = -1;
    return l;
}

static void write_line(char *t, size_t room, const struct line *l, unsigned at)
{
    static const char *const form[] = {
        "add.u32 %%v%u, %%v%u, %u;", "add.u64 %%d%u, %%d%u, %u;",
        "mad.lo.u16 %%h%u, %%h%u, 3, %u;", "setp.lt.u32 %%p%u, %%v%u, %u;"
    };
    char guard[16] = "";

    if (l->guard >= 0)
        snprintf(guard, sizeof guard, "@%%p%d ", l->guard & 3);
    switch (l->kind) {
    case FOLD32:
        snprintf(t, room, "%smad.lo.u32 %%acc, %%acc, 31, %%v%u;", guard, l->a);
        return;
    case FOLD64:
        snprintf(t, room, "cvt.u32.u64 %%x, %%d%u;\n"
                          "%smad.lo.u32 %%acc, %%acc, 31, %%x;", l->a, guard);
        return;
    case FOLD16:
        snprintf(t, room, "cvt.u32.u16 %%x, %%h%u;\n"
                          "%smad.lo.u32 %%acc, %%acc, 31, %%x;", l->a, guard);
        return;
    case JUMP:
        snprintf(t, room, "%sbra L%u;", guard, l->to);
        return;
    case LOOP:
        snprintf(t, room, "setp.eq.u32 %%q, %%fuel, 0;\n@%%q bra M%u;\n"
                          "sub.u32 %%fuel, %%fuel, 1;\nbra L%u;\nM%u:", at,
                 l->to, at);
        return;
    default:
        snprintf(t, room, "%s", guard);
        snprintf(t + strlen(t), room - strlen(t), form[l->kind],
                 l->kind == SETP ? l->d & 3 : l->d, l->a, l->imm);
    }
}

static char *write_program(const struct line *line, char *text, size_t room)
{
    size_t n;
    unsigned k;

    snprintf(text, room,
             ".version 9.4\n.target sm_107a\n.address_size 64\n"
             ".visible .entry k()\n{\n.shared .b32 s[32];\n"
             ".reg .u32 %%v<9>, %%acc, %%fuel, %%x, %%t, %%at;\n"
             ".reg .u64 %%d<9>;\n.reg .u16 %%h<9>;\n.reg .pred %%p<4>, %%q;\n"
             "mov.u32 %%t, %%tid.x;\nmov.u32 %%v0, %%t;\n"
             "mov.u32 %%fuel, %u;\nmov.u32 %%acc, 1;\n", FUEL);
    for (k = 0; k < LENGTH; k++) {
        n = strlen(text);
        snprintf(text + n, room - n, "L%u:\n", k);
        n = strlen(text);
        write_line(text + n, room - n, &line[k], k);
        n = strlen(text);
        snprintf(text + n, room - n, "\n");
    }
    n = strlen(text);
    snprintf(text + n, room - n,
             "L%u:\nmov.u32 %%at, s;\nmad.lo.u32 %%at, %%t, 4, %%at;\n"
             "st.shared.u32 [%%at], %%acc;\nret;\n}\n", LENGTH);
    return text;
}

/* ---------------------------------------------------------------- model -- */

/* Registers that nobody has written hold the byte `fresh`. */
static uint32_t model(const struct line *line, uint32_t tid, uint8_t fresh)
{
    uint32_t v[NAMES], acc = 1, fuel = FUEL;
    uint64_t d[NAMES];
    uint16_t h[NAMES];
    bool p[4];
    unsigned k = 0;

    memset(v, fresh, sizeof v);
    memset(d, fresh, sizeof d);
    memset(h, fresh, sizeof h);
    v[0] = tid;
    for (unsigned i = 0; i < 4; i++)
        p[i] = fresh >> tid % 8 & 1;
    while (k < LENGTH) {
        const struct line *l = &line[k++];

        if (l->guard >= 0 && !p[l->guard])
            continue;
        switch (l->kind) {
        case ADD32:
            v[l->d] = v[l->a] + l->imm;
            break;
        case ADD64:
            d[l->d] = d[l->a] + l->imm;
            break;
        case MAD16:
            h[l->d] = (uint16_t)(h[l->a] * 3u + l->imm);
            break;
        case SETP:
            p[l->d & 3] = v[l->a] < l->imm;
            break;
        case FOLD32:
            acc = acc * 31 + v[l->a];
            break;
        case FOLD64:
            acc = acc * 31 + (uint32_t)d[l->a];
            break;
        case FOLD16:
            acc = acc * 31 + h[l->a];
            break;
        case JUMP:
            k = l->to;
            break;
        case LOOP:
            if (fuel) {
                fuel--;
                k = l->to;
            }
            break;
        }
    }
    return acc;
}

/* ---------------------------------------------------------------- tests -- */

static void registers_keep_their_values_through_any_jumps(void **state)
{
    static char text[16384];
    struct line line[LENGTH];
    uint64_t rng = 7;
    struct fgs__sim_block *first;
    struct exec e;
    unsigned n, k;

    (void)state;
    for (n = 0; n < PROGRAMS; n++) {
        for (k = 0; k < LENGTH; k++)
            line[k] = random_line(&rng, k);
        assert_int_equal(exec_open(&e, write_program(line, text, sizeof text),
                                   &fgs__malloc), FGS_OK);
        assert_non_null(exec_block(&e, LANES, 1, 1));
        assert_int_equal(exec_run(&e, 1000000000), FGS__SIM_ENDED);
        /* Once more in the memory that the first block leaves behind. */
        fgs__sim_block_park(e.block);
        first = e.block;
        assert_ptr_equal(exec_block(&e, LANES, 1, 1), first);
        assert_int_equal(exec_run(&e, 2000000000), FGS__SIM_ENDED);
        for (k = 0; k < LANES; k++) {
            uint32_t got = ((uint32_t *)(void *)e.block->shared)[k];

            if (got != model(line, k, e.block->garbage))
                fail_msg("program %u, lane %u: %u, not %u\n%s", n, k, got,
                         model(line, k, e.block->garbage), text);
        }
        exec_close(&e);
    }
}

static void names_that_do_not_live_at_once_share_slots(void **state)
{
    static char text[65536];
    size_t n;
    struct exec e;
    unsigned k;

    (void)state;
    n = (size_t)snprintf(text, sizeof text,
                         ".version 9.4\n.target sm_107a\n.address_size 64\n"
                         ".visible .entry k()\n{\n.shared .b32 s[32];\n"
                         ".reg .u32 %%v<1000>;\nmov.u32 %%v0, %%tid.x;\n");
    for (k = 1; k < 1000; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "add.u32 %%v%u, %%v%u, %%v%u;\n", k, k - 1,
                              k - 1);
    snprintf(text + n, sizeof text - n,
             "st.shared.u32 [s], %%v999;\nret;\n}\n");
    assert_int_equal(exec_open(&e, text, &fgs__malloc), FGS_OK);
    assert_true(e.code->bank_bytes < 10 * 128);
    exec_close(&e);
}

/* ------------------------------------------------------------------ memory */

static size_t now, most, fail_at; /* fail_at: the n-th from now; 0 = none */

enum { HEAD = 16 }; /* before each piece: its size */

static void *sum_alloc(void *cookie, size_t size)
{
    char *p;

    (void)cookie;
    if (fail_at && !--fail_at)
        return NULL;
    p = malloc(size + HEAD);
    if (!p)
        return NULL;
    memcpy(p, &size, sizeof size);
    now += size;
    most = now > most ? now : most;
    return p + HEAD;
}

static void sum_release(void *cookie, void *at)
{
    char *p = (char *)at - HEAD;
    size_t size;

    (void)cookie;
    if (!at)
        return;
    memcpy(&size, p, sizeof size);
    now -= size;
    free(p);
}

/* A reduction over shared memory as a compiler writes it: many names, each
 * used once or twice, a loop, shuffles. */
static void write_reduction(char *text, size_t room)
{
    size_t n;
    unsigned k, r = 8;

    n = (size_t)snprintf(text, room,
        ".version 9.4\n.target sm_107a\n.address_size 64\n"
        ".visible .entry k()\n{\n.shared .align 16 .b8 s[16384];\n"
        ".reg .b32 %%r<200>;\n.reg .b64 %%d<40>;\n.reg .f32 %%f<200>;\n"
        ".reg .pred %%p<40>;\nmov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, s;\n"
        "shl.b32 %%r3, %%r1, 2;\nadd.u32 %%r4, %%r2, %%r3;\n"
        "mov.f32 %%f1, 0f00000000;\nmov.u32 %%r5, 0;\nL:\n");
    for (k = 0; k < 16; k++, r += 4)
        n += (size_t)snprintf(text + n, room - n,
            "ld.shared.f32 %%f%u, [%%r4+%u];\n"
            "add.f32 %%f%u, %%f%u, %%f1;\n"
            "add.u32 %%r%u, %%r5, 1;\nxor.b32 %%r%u, %%r%u, %%r1;\n"
            "cvt.rn.f32.u32 %%f%u, %%r%u;\n"
            "fma.rn.f32 %%f1, %%f%u, %%f%u, %%f1;\n", r, 4 * k, r + 1, r, r,
            r + 1, r, r + 2, r + 1, r + 1, r + 2);
    snprintf(text + n, room - n,
        "add.u32 %%r5, %%r5, 1;\nsetp.lt.u32 %%p1, %%r5, 4;\n@%%p1 bra L;\n"
        "st.shared.f32 [%%r4], %%f1;\nret;\n}\n");
}

/* The most that a block of the text took from its start to its end, and what
 * it models; both are told. */
static void take_at_most_twice(const char *what, const char *text,
                               unsigned threads)
{
    fgs_allocator sum = { sum_alloc, sum_release, NULL };
    size_t model, from;
    struct exec e;

    now = 0;
    assert_int_equal(exec_open(&e, text, &sum), FGS_OK);
    from = most = now;
    assert_non_null(exec_block(&e, threads, 1, 1));
    assert_int_equal(exec_run(&e, 1000000000), FGS__SIM_ENDED);
    model = (size_t)e.code->regs * 4 * threads + e.code->shared_bytes;
    print_message("%s: %zu bytes, modelled %zu\n", what, most - from, model);
    assert_true(most - from <= 2 * model);
    exec_close(&e);
}

static void block_takes_at_most_twice_what_it_models(void **state)
{
    static char text[16384];

    (void)state;
    write_reduction(text, sizeof text);
    take_at_most_twice("reduction", text, 256);
}

/* Four registers, 100 constants, and whatever special registers there are. */
static void write_constants(char *text, size_t room)
{
    size_t n;
    unsigned k;

    n = (size_t)snprintf(text, room,
        ".version 9.4\n.target sm_107a\n.address_size 64\n"
        ".visible .entry k()\n{\n.reg .u32 %%r<4>;\n.reg .u64 %%d<2>;\n"
        ".shared .b8 s[64];\nmov.u32 %%r0, %%tid.x;\nmov.u32 %%r1, %%ntid.x;\n"
        "mov.u32 %%r2, %%ctaid.x;\nmad.lo.u32 %%r0, %%r0, %%r1, %%r2;\n"
        "mov.u32 %%r2, %%laneid;\nadd.u32 %%r0, %%r0, %%r2;\n"
        "mov.u32 %%r2, %%nctaid.x;\nadd.u32 %%r0, %%r0, %%r2;\n"
        "mov.u32 %%r1, s;\nmov.u64 %%d0, 5;\n");
    for (k = 0; k < 50; k++)
        n += (size_t)snprintf(text + n, room - n,
            "mad.lo.u32 %%r0, %%r0, %u, %%r0;\nadd.u64 %%d0, %%d0, %u;\n",
            1000 + k, 2000 + k);
    snprintf(text + n, room - n, "st.shared.u32 [%%r1], %%r0;\n"
                                 "st.shared.u64 [%%r1+8], %%d0;\nret;\n}\n");
}

static void block_of_few_registers_takes_at_most_twice_them(void **state)
{
    static char text[16384];

    (void)state;
    write_constants(text, sizeof text);
    take_at_most_twice("constants, 256 threads", text, 256);
    take_at_most_twice("constants, 32 threads", text, 32);
}

/* Of its special registers a warp has %tid.x, the block three, and %laneid is
 * the same for all: each is 128 bytes. */
static void special_registers_lie_once_for_all_that_share_them(void **state)
{
    static char text[16384];
    struct exec e;

    (void)state;
    write_constants(text, sizeof text);
    assert_int_equal(exec_open(&e, text, &fgs__malloc), FGS_OK);
    assert_int_equal(e.code->own_sregs, 1);
    assert_int_equal(e.code->sreg_count, 1 + 3);
    assert_int_equal(e.code->common_bytes, 128 * (3 + 1)); /* the place of s */
    exec_close(&e);
}

/* Each lane of a warp at a place of its own. */
static void write_apart(char *text, size_t room)
{
    size_t n, k;

    n = (size_t)snprintf(text, room,
        ".version 9.4\n.target sm_107a\n.address_size 64\n"
        ".visible .entry k()\n{\n.reg .u32 %%r<4>;\nts: .branchtargets L0");
    for (k = 1; k < LANES; k++)
        n += (size_t)snprintf(text + n, room - n, ", L%zu", k);
    n += (size_t)snprintf(text + n, room - n,
        ";\nmov.u32 %%r0, %%laneid;\nbrx.idx %%r0, ts;\n");
    for (k = 0; k < LANES; k++)
        n += (size_t)snprintf(text + n, room - n,
            "L%zu:\nadd.u32 %%r1, %%r0, %zu;\nbra J;\n", k, k);
    snprintf(text + n, room - n, "J:\nret;\n}\n");
}

static void block_of_lanes_apart_takes_at_most_twice_them(void **state)
{
    static char text[8192];

    (void)state;
    write_apart(text, sizeof text);
    take_at_most_twice("lanes apart", text, 256);
}

/* The places of lanes take memory when the lanes part. */
static void lanes_that_part_without_memory_are_a_fault(void **state)
{
    static char text[8192];
    fgs_allocator sum = { sum_alloc, sum_release, NULL };
    enum fgs__sim_state got = FGS__SIM_FAULTED;
    size_t n, from;
    struct exec e;

    (void)state;
    write_apart(text, sizeof text);
    now = 0;
    for (n = 1; got == FGS__SIM_FAULTED; n++) {
        assert_int_equal(exec_open(&e, text, &sum), FGS_OK);
        from = now;
        assert_non_null(exec_block(&e, 64, 1, 1));
        fail_at = n;
        got = exec_run(&e, 1000000000);
        assert_true(got == FGS__SIM_ENDED ? fail_at != 0 : fail_at == 0);
        if (got == FGS__SIM_FAULTED)
            assert_int_equal(atomic_load(&e.ctx.sticky),
                             CUDA_ERROR_OUT_OF_MEMORY);
        fail_at = 0;
        fgs__sim_block_free(e.block);
        e.block = NULL;
        assert_int_equal(now, from);
        exec_close(&e);
        assert_int_equal(now, 0);
    }
    assert_int_equal(got, FGS__SIM_ENDED);
    assert_true(n > 8); /* 4, 8, 16 and 32 places for each of two warps */
}

/* More blocks than fit on two multiprocessors: the last ones leave memory that
 * no other takes.  What hung on it was freed twice. */
static void memory_that_no_block_takes_is_freed_once(void **state)
{
    static const uint32_t in[4] = { 3, 5, 7, 11 };
    fgs_sim_config cfg;
    uint32_t out = 0;
    struct ptx_run r = {
        .vars = ".shared .align 16 .b8 s_chunk[16];",
        .body = "cp.async.cg.shared.global [s_chunk], [%in], 16;\n"
                "cp.async.wait_all;\n"
                "nanosleep.u32 5000;\n" /* all that fit are there at once */
                "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [s_chunk];\n"
                "add.u32 %r0, %r0, %r1;\n"
                "add.u32 %r2, %r2, %r3;\n"
                "add.u32 %r0, %r0, %r2;\n"
                "red.global.add.u32 [%out], %r0;\n",
        .blocks = 70, .threads = 1, .in = in, .in_bytes = sizeof in,
        .out = &out, .out_bytes = sizeof out, .cfg = &cfg
    };

    (void)state;
    assert_int_equal(fgs_sim_config_get(&cfg, NULL), FGS_OK);
    cfg.sms = 2;
    assert_int_equal(ptx_run(&r), 0);
    assert_int_equal(out, 70 * 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_keep_their_values_through_any_jumps),
        cmocka_unit_test(names_that_do_not_live_at_once_share_slots),
        cmocka_unit_test(block_takes_at_most_twice_what_it_models),
        cmocka_unit_test(block_of_few_registers_takes_at_most_twice_them),
        cmocka_unit_test(special_registers_lie_once_for_all_that_share_them),
        cmocka_unit_test(block_of_lanes_apart_takes_at_most_twice_them),
        cmocka_unit_test(lanes_that_part_without_memory_are_a_fault),
        cmocka_unit_test(memory_that_no_block_takes_is_freed_once),
    };

    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
