/* test_sim_fault.c -- what a kernel does wrong is a fault with its place
 *
 * A row of `cases` is the body of a kernel, how it is launched, the driver's
 * error and words of the sentence.  Each is launched in a context of its own:
 * the sentence names kernel, line, block and thread, the error stays with the
 * context, and the next context works.
 */
#include "sim_calls.h"

#define ILLEGAL     CUDA_ERROR_ILLEGAL_ADDRESS
#define MISALIGNED  CUDA_ERROR_MISALIGNED_ADDRESS
#define SPACE       CUDA_ERROR_INVALID_ADDRESS_SPACE
#define INSTRUCTION CUDA_ERROR_ILLEGAL_INSTRUCTION
#define FAILED      CUDA_ERROR_LAUNCH_FAILED
#define TIMEOUT     CUDA_ERROR_LAUNCH_TIMEOUT

static const struct fault {
    const char *name, *body;
    unsigned grid, block, cluster;
    CUresult cu;
    const char *words;
} cases[] = {
#define FAULT(name, grid, block, cluster, cu, words, body)                     \
    { name, body, grid, block, cluster, cu, words },
#include "fault.def"
#undef FAULT
};

/* Registers and variables that the bodies use. */
static const char before[] =
    ".version 9.4\n.target sm_107a\n.address_size 64\n"
    ".global .align 16 .b8 g[64];\n"
    ".const .align 16 .b8 c[64];\n"
    ".shared .align 128 .b8 s[256];\n"
    ".func (.param .b32 o) deeper(.param .b32 i)\n{\n"
    "    .reg .b32 %r;\n"
    "    .local .align 16 .b8 fat[1024];\n"
    "    ld.param.b32 %r, [i];\n"
    "    st.local.b32 [fat], %r;\n"
    "    { .param .b32 po; .param .b32 pi;\n"
    "      st.param.b32 [pi], %r;\n"
    "      call (po), deeper, (pi);\n"
    "      ld.param.b32 %r, [po]; }\n"
    "    st.param.b32 [o], %r;\n"
    "    ret;\n}\n"
    ".visible .entry k(.param .u64 p_out)\n{\n"
    "    .reg .u16 %h<4>;\n    .reg .b32 %r<16>;\n    .reg .u64 %d<16>;\n"
    "    .reg .f32 %f<16>;\n    .reg .b128 %q<4>;\n    .reg .pred %p<8>;\n"
    "    .local .align 16 .b8 l[64];\n"
    "    ld.param.u64 %d0, [p_out];\n"
    "    mov.u32 %r0, %tid.x;\n"
    "    mov.u32 %r1, s;\n"
    "    mov.u64 %d1, 1;\n"
    "    setp.eq.u32 %p0, %r0, 0;\n"
    "    setp.lt.u32 %p1, %r0, 16;\n"
    "    mov.u64 %d2, 1;\n";
static const char after[] = "    ret;\n}\n";

/* The line of the statement behind //!, counted from 1; 0 = not marked. */
static unsigned marked_line(const char *text)
{
    const char *mark = strstr(text, "//!");
    unsigned line = 1;

    for (const char *s = text; mark && s < mark; s++)
        line += *s == '\n';
    return mark ? line : 0;
}

static void sentence_has_the_place(const struct fault *c, const char *text)
{
    const char *said = fgs_sim_last_fault();
    char place[64];

    if (!strstr(said, c->words))
        fail_msg("%s: not \"%s\" in: %s", c->name, c->words, said);
    if (!strstr(said, "kernel k") || !strstr(said, "block ("))
        fail_msg("%s: no kernel or block in: %s", c->name, said);
    snprintf(place, sizeof place, "line %u:", marked_line(text));
    if (marked_line(text) && !strstr(said, place))
        fail_msg("%s: not \"%s\" in: %s", c->name, place, said);
    if (marked_line(text) && !strstr(said, "thread ("))
        fail_msg("%s: no thread in: %s", c->name, said);
}

static CUresult launch(const struct fault *c, CUfunction f, CUdeviceptr out)
{
    CUlaunchAttribute attr = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
    CUlaunchConfig config = { c->grid, 1, 1, c->block, 1, 1, 0, NULL, &attr,
                              c->cluster > 0 };
    void *params[] = { &out };
    CUresult r;

    attr.value.clusterDim.x = c->cluster;
    attr.value.clusterDim.y = attr.value.clusterDim.z = 1;
    r = fgs__sim_cuLaunchKernelEx(&config, f, params, NULL);
    return r ? r : fgs__sim_cuCtxSynchronize();
}

static void kernel_faults_with_its_place(void **unused)
{
    const struct fault *c = *unused;
    fgs_sim_config cfg = sim_config();
    static char text[8192];
    char log[512] = "";
    CUjit_option opt[] = { CU_JIT_ERROR_LOG_BUFFER,
                           CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
    void *val[] = { log, (void *)sizeof log };
    CUdeviceptr out, p;
    CUcontext ctx;
    CUmodule m;
    CUfunction f;
    CUresult r;

    snprintf(text, sizeof text, "%s%s%s", before, c->body, after);
    cfg.limit = 100000;
    OK(cuInit(0));
    sim_configure(&cfg);
    OK(cuCtxCreate(&ctx, 0, 0));
    if (fgs__sim_cuModuleLoadDataEx(&m, text, 2, opt, val))
        fail_msg("%s: %s", c->name, log);
    OK(cuModuleGetFunction(&f, m, "k"));
    OK(cuMemAlloc(&out, 256));
    r = launch(c, f, out);
    if (r != c->cu)
        fail_msg("%s: error %d, not %d: %s", c->name, (int)r, (int)c->cu,
                 r ? fgs_sim_last_fault() : "");
    sentence_has_the_place(c, text);
    /* The context keeps it. */
    assert_int_equal(fgs__sim_cuCtxSynchronize(), c->cu);
    assert_int_equal(fgs__sim_cuMemAlloc(&p, 16), c->cu);
    assert_int_equal(launch(c, f, out), c->cu);
    OK(cuCtxDestroy(ctx));
    /* The device does not. */
    OK(cuCtxCreate(&ctx, 0, 0));
    OK(cuMemAlloc(&p, 16));
    OK(cuCtxSynchronize());
    OK(cuCtxDestroy(ctx));
}

int main(void)
{
    static struct CMUnitTest tests[COUNT(cases)];

    for (size_t i = 0; i < COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].name,
            .test_func = kernel_faults_with_its_place,
            .initial_state = (void *)(uintptr_t)&cases[i] };
    return _cmocka_run_group_tests("sim_fault", tests, COUNT(cases), NULL,
                                   NULL);
}
