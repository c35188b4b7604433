/* ptx_run.h -- run pieces of PTX on the software device, for tests
 *
 * A piece is the body of an entry with two parameters: an input and an output
 * buffer.  Each run has a fresh context, so that a fault does not reach the
 * next one.
 */
#ifndef PTX_RUN_H
#define PTX_RUN_H

#include "base/compat.h"
#include "sim/device.h"

struct ptx_run {
    const char *vars; /* module scope, NULL = none                  */
    const char *body;
    unsigned blocks, threads; /* 0 = 1                                      */
    unsigned dynamic;         /* shared bytes                               */
    const void *in;
    size_t in_bytes;
    void *out; /* copied in first, so that it may be preset  */
    size_t out_bytes;
    fgs_sim_config *cfg; /* NULL = as it is                            */
    bool quiet;          /* do not print the log                           */
    char log[400];       /* of the module's load                       */
};

static const char ptx_run_head[] =
    ".version 9.4\n.target sm_107a\n.address_size 64\n%s\n"
    ".visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{\n"
    ".reg .pred %%p<16>;\n.reg .b8 %%c<8>;\n.reg .b16 %%h<16>;\n"
    ".reg .b32 %%r<48>;\n.reg .f32 %%f<16>;\n.reg .b64 %%d<48>;\n"
    ".reg .f64 %%g<8>;\n.reg .b128 %%q<8>;\n"
    ".reg .b64 %%in, %%out, %%my;\n.reg .b32 %%t, %%n;\n"
    "ld.param.u64 %%in, [p_in];\nld.param.u64 %%out, [p_out];\n"
    /* %t: the thread in the grid; %my: its 8 bytes of the output */
    "mov.u32 %%t, %%ctaid.x;\nmov.u32 %%n, %%ntid.x;\n"
    "mul.lo.u32 %%n, %%t, %%n;\nmov.u32 %%t, %%tid.x;\n"
    "add.u32 %%t, %%t, %%n;\nmul.wide.u32 %%my, %%t, 8;\n"
    "add.u64 %%my, %%my, %%out;\n"
    "%s\nret;\n}\n";

static CUresult ptx_run_kernel(struct ptx_run *r, CUmodule mod, CUdeviceptr in,
                               CUdeviceptr out)
{
    void *params[] = {&in, &out};
    CUfunction f;
    CUresult cu = fgs__sim_cuModuleGetFunction(&f, mod, "k");

    if (!cu)
        cu = fgs__sim_cuLaunchKernel(f, r->blocks ? r->blocks : 1, 1, 1,
                                     r->threads ? r->threads : 1, 1, 1,
                                     r->dynamic, NULL, params, NULL);
    if (!cu)
        cu = fgs__sim_cuCtxSynchronize();
    return cu;
}

/* The kernel's result: of the load, of the launch, or of its run. */
static FGS__UNUSED CUresult ptx_run(struct ptx_run *r)
{
    static char text[16384];
    CUjit_option opt[] = {(CUjit_option)5, (CUjit_option)6};
    void *val[2] = {r->log, (void *)sizeof r->log};
    CUdeviceptr in = 0, out = 0;
    CUcontext ctx;
    CUmodule mod;
    CUresult cu;

    if (r->cfg && fgs_sim_config_set(r->cfg, NULL) < 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (fgs__sim_cuInit(0) || fgs__sim_cuCtxCreate(&ctx, 0, 0))
        return CUDA_ERROR_UNKNOWN;
    snprintf(text, sizeof text, ptx_run_head, r->vars ? r->vars : "", r->body);
    r->log[0] = 0;
    cu = fgs__sim_cuModuleLoadDataEx(&mod, text, 2, opt, val);
    if (!cu)
        cu = fgs__sim_cuMemAlloc(&in, r->in_bytes ? r->in_bytes : 16);
    if (!cu && r->in_bytes)
        cu = fgs__sim_cuMemcpyHtoD(in, r->in, r->in_bytes);
    if (!cu)
        cu = fgs__sim_cuMemAlloc(&out, r->out_bytes ? r->out_bytes : 16);
    if (!cu && r->out_bytes)
        cu = fgs__sim_cuMemcpyHtoD(out, r->out, r->out_bytes);
    if (!cu)
        cu = ptx_run_kernel(r, mod, in, out);
    if (!cu && r->out_bytes)
        cu = fgs__sim_cuMemcpyDtoH(r->out, out, r->out_bytes);
    if (cu && r->log[0] && !r->quiet)
        fprintf(stderr, "%s\n", r->log);
    fgs__sim_cuCtxDestroy(ctx);
    return cu;
}

#endif
