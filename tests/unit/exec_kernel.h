/* exec_kernel.h -- short kernels for tests of the executor: head, run, result
 *
 * A kernel stores words into its shared array `out`: %q0 is its thread's word.
 */
#ifndef EXEC_KERNEL_H
#define EXEC_KERNEL_H

#include "exec_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define HEAD                                                                   \
    ".version 9.4\n.target sm_107a\n.address_size 64\n"                        \
    ".visible .entry k()\n{\n"                                                 \
    ".shared .align 16 .b8 out[8192];\n"                                       \
    ".shared .align 4 .b32 flag;\n"                                            \
    ".reg .b64 %o, %q<8>;\n.reg .b32 %t, %l, %r<16>;\n"                        \
    ".reg .b16 %h<4>;\n.reg .pred %p<6>;\n"                                    \
    "mov.u32 %t, %tid.x;\nmov.u32 %l, %laneid;\nmov.u64 %o, out;\n"            \
    "mul.wide.u32 %q0, %t, 4;\nadd.u64 %q0, %o, %q0;\n"
#define TAIL "st.shared.b32 [%q0], %r0;\nret;\n}\n"

enum { LIMIT_MS = 20 };

static inline void show_errors(const struct exec *e)
{
    uint32_t k;

    for (k = 0; k < e->diags.count && k < FGS__PTX_DIAGS; k++)
        print_error("%u:%u: %s\n", e->diags.item[k].pos.line,
                    e->diags.item[k].pos.column, e->diags.item[k].text);
}

static inline enum fgs__sim_state run(struct exec *e, const char *ptx,
                               uint32_t threads)
{
    if (exec_open(e, ptx, &fgs__malloc) != FGS_OK)
        show_errors(e);
    assert_non_null(e->code);
    assert_non_null(exec_block(e, threads, 1, 1));
    return exec_run(e, LIMIT_MS * 1000000000ull);
}

/* Word n of the kernel's `out`. */
static inline uint32_t word(const struct exec *e, uint32_t n)
{
    uint32_t v;

    memcpy(&v, e->block->shared + 4 * (size_t)n, sizeof v);
    return v;
}

static inline void run_ok(struct exec *e, const char *ptx, uint32_t threads)
{
    enum fgs__sim_state s = run(e, ptx, threads);

    if (s == FGS__SIM_FAULTED)
        print_error("%s\n", fgs_sim_last_fault());
    assert_int_equal(s, FGS__SIM_ENDED);
}

/* Six words a lane from %o on, and the end. */
#define STORE6                                                                 \
    "mul.wide.u32 %q1, %l, 24;\nadd.u64 %q1, %q1, %o;\n"                       \
    "st.shared.b32 [%q1], %r1;\nst.shared.b32 [%q1+4], %r2;\n"                 \
    "st.shared.b32 [%q1+8], %r3;\nst.shared.b32 [%q1+12], %r4;\n"              \
    "st.shared.b32 [%q1+16], %r5;\nst.shared.b32 [%q1+20], %r6;\nret;\n}\n"

#endif
