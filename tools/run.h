/* run.h -- the parts of `fgs run`: what was asked for, what came of it */
#ifndef FGS_TOOL_RUN_H
#define FGS_TOOL_RUN_H

#include "tool.h"

struct run_asked {
    const char *provider, *engine, *input, *output, *inject;
    const char *order;      /* of the edge, NULL = as fgs_plan_make has it  */
    uint64_t tiles, rounds, seed, ordinal, work_ns, bound_ms, max_tries;
    uint64_t tile_bytes, threads;
    const char *element_name, *mechanism, *saturate, *language;
    fgs_element element;
    uint64_t tile_elements; /* of element: follows from tile_bytes        */
    bool weak, no_pdl, bulk_store, json;
    bool tiles_given, seed_given, saturate_given;
    const char *stem; /* producer's text when a fault is injected     */
    uint64_t fault_tile, fault_chunk;
};

/* Zeroed, with alive -1 = nothing happened yet. */
struct run_done {
    fgs_device_info device;
    bool device_open, loaded, have_receipt, verified;
    fgs_kernel_info consumer;
    fgs_receipt receipt; /* summed over the batches                  */
    uint64_t rounds;     /* rounds that were run and waited for      */
    bool ok;
    uint64_t mismatches, first_bad;
    uint32_t want, have; /* at first_bad                             */
    uint64_t digest;
    fgs_result result;   /* of the library                           */
    fgs_error error;
    int alive;           /* after a failure: 1, 0, -1 = not tried    */
    /* copies of what dies with the device, the kernel and the plan  */
    char provider[16], stem[64], assembled_by[16], pdl_why[256], note[1024];
    char order[16], form[32], order_why[256]; /* of the one edge           */
};

/*
 * Run it: `in` is the input (float32), `want` what must come of it, `out` room
 * for the result, all of asked->tiles tiles.
 */
void run_execute(const struct run_asked *asked, const uint32_t *in,
                 const unsigned char *want, unsigned char *out,
                 struct run_done *done);

void run_print(const struct run_asked *asked, const struct run_done *done);
void run_print_json(const struct run_asked *asked, const struct run_done *done);

#endif
