/* three.c -- the plan of the guide's example: init, producer, consumer */
#include "core/compose.h"

static fgs_result take_kernel(struct fgs__device *d, fgs_role role,
                              fgs_kernel *handle, struct fgs__kernel **out,
                              fgs_error *err)
{
    char what[48];
    fgs_result r;

    snprintf(what, sizeof what, "fgs_plan_desc.%s", fgs__roles[role].name);
    r = fgs__kernel_get(out, handle, what, err);
    if (r < 0)
        return r;
    if ((*out)->dev != d)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s (%s) was made from another device", what,
                         (*out)->entry);
    if ((*out)->role != role)
        return fgs__fail(err, FGS_E_MISMATCH, "%s (%s) is a kernel for %s",
                         what, (*out)->entry, fgs__roles[(*out)->role].name);
    return FGS_OK;
}

static fgs_result take_buffer(struct fgs__device *d, fgs_buffer *handle,
                              const char *member, struct fgs__buffer **out,
                              fgs_error *err)
{
    char what[48];
    fgs_result r;

    snprintf(what, sizeof what, "fgs_plan_desc.%s", member);
    r = fgs__buffer_get(out, handle, what, err);
    if (r >= 0 && (*out)->dev != d)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "%s ('%s') was made from another device", what,
                         (*out)->name);
    return r;
}

/* *plain: the consumer looks for no sentinel. */
static fgs_result check_parts(struct fgs__device *d, const fgs_plan_desc *desc,
                              int *plain, fgs_error *err)
{
    fgs_kernel *const kernels[] = { NULL, desc->init, desc->producer,
                                    desc->consumer };
    fgs_buffer *const buffers[] = { desc->in, desc->mid, desc->out };
    static const char *const members[] = { "in", "mid", "out" };
    struct fgs__kernel *k[FGS_ROLE_CONSUMER + 1];
    struct fgs__buffer *b[FGS__BUFFERS];
    fgs_result r = FGS_OK;

    for (int i = FGS_ROLE_INIT; r >= 0 && i <= FGS_ROLE_CONSUMER; i++)
        r = take_kernel(d, (fgs_role)i, kernels[i], &k[i], err);
    for (int i = 0; r >= 0 && i < FGS__BUFFERS; i++)
        r = take_buffer(d, buffers[i], members[i], &b[i], err);
    if (r < 0)
        return r;
    *plain = k[FGS_ROLE_CONSUMER]->engine == FGS__ENGINE_ORDERED;
    return fgs__fit_check(b, k, err);
}

static fgs_result check_desc(const fgs_plan_desc *desc, fgs_error *err)
{
    fgs_result r;

    if (!desc)
        return fgs__fail(err, FGS_E_NULL, "desc is NULL");
    r = fgs__check_size(err, "fgs_plan_desc", desc, desc->size, sizeof *desc,
                        sizeof *desc);
    if (r < 0)
        return r;
    if (desc->reserved || desc->reserved2)
        return fgs__fail(err, FGS_E_ABI,
                         "fgs_plan_desc: a reserved member is not zero");
    if (desc->no_pdl > 1)
        return fgs__fail(err, FGS_E_INVAL, "fgs_plan_desc.no_pdl is %u",
                         desc->no_pdl);
    return FGS_OK;
}

fgs_result fgs_plan_make(fgs_plan **out, fgs_device *dev,
                         const fgs_plan_desc *desc, fgs_error *err)
{
    struct fgs__device *d;
    int plain = 0;
    fgs_result r;

    if (!out)
        return fgs__fail(err, FGS_E_NULL, "out is NULL");
    *out = NULL;
    r = fgs__device_get(&d, dev, err);
    if (r >= 0)
        r = check_desc(desc, err);
    if (r >= 0)
        r = check_parts(d, desc, &plain, err);
    if (r < 0)
        return r;
    {
        const fgs_access produce[] = { { .buffer = desc->in },
                                       { .buffer = desc->mid, .write = 1 } };
        const fgs_access consume[] = { { .buffer = desc->mid },
                                       { .buffer = desc->out, .write = 1 } };
        const fgs_stage_desc stages[] = {
            { .size = sizeof stages[0], .name = "producer",
              .kernel = desc->producer, .accesses = produce,
              .access_count = 2, .work_ns = desc->work_ns,
              .fault_tile = desc->fault_tile,
              .fault_chunk = desc->fault_chunk },
            { .size = sizeof stages[0], .name = "consumer",
              .kernel = desc->consumer, .accesses = consume,
              .access_count = 2 } };
        const fgs_use use = { .buffer = desc->mid, .fill = FGS_FILL_KERNEL,
                              .kernel = desc->init };
        const fgs_plan_spec spec = {
            .size = sizeof spec, .stages = stages, .stage_count = 2,
            .uses = &use, .use_count = 1,
            .order = plain ? FGS_ORDER_AUTO : FGS_ORDER_SENTINEL,
            .receipt = 1, .bound_ns = desc->bound_ns,
            .max_tries = desc->max_tries };

        return fgs__plan_compose(out, d, &spec, (int)desc->no_pdl, err);
    }
}
