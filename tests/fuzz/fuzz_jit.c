/* fuzz_jit.c -- libFuzzer: options and texts of loads and links
 *
 * Log buffers have exactly the size that the options say.
 */
#include "sim/device.h"
#include "take.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { OPTIONS = 8 };

static const char other[] =
    ".version 9.4\n.target sm_90\n.address_size 64\n"
    ".extern .func f(.param .b32 p);\n.weak .global .u32 g = 1;\n"
    ".visible .entry k()\n{\n    .param .b32 q;\n"
    "    st.param.b32 [q], 1;\n    call f, (q);\n    ret;\n}\n";

struct options {
    CUjit_option option[OPTIONS];
    void *value[OPTIONS], *log[2];
    unsigned count;
};

static void take_options(struct options *o, struct bytes *b)
{
    size_t bytes[2] = { take(b, 1) * 2, take(b, 1) };

    o->count = (unsigned)take(b, 1) % (OPTIONS + 1);
    for (int k = 0; k < 2; k++)
        o->log[k] = malloc(bytes[k] ? bytes[k] : 1);
    for (unsigned i = 0; i < o->count; i++) {
        uint64_t v = take_number(b);

        o->option[i] = (CUjit_option)take(b, 1) % 40;
        if (o->option[i] == CU_JIT_INFO_LOG_BUFFER ||
            o->option[i] == CU_JIT_ERROR_LOG_BUFFER)
            v = (uintptr_t)o->log[o->option[i] == CU_JIT_ERROR_LOG_BUFFER];
        if (o->option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            v = bytes[0];
        if (o->option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            v = bytes[1];
        /* Names would be read. */
        if (o->option[i] >= CU_JIT_REFERENCED_KERNEL_NAMES &&
            o->option[i] <= CU_JIT_REFERENCED_VARIABLE_COUNT)
            v = 0;
        o->value[i] = (void *)(uintptr_t)v;
    }
}

static void free_options(struct options *o)
{
    free(o->log[0]);
    free(o->log[1]);
}

/* An image that says its own length is believed: nobody tells a load where its
 * memory ends.  fuzz_image has those, with a length. */
static bool says_length(const struct bytes *b)
{
    static const unsigned char first[3] = { 0x7f, 0x50, 0xb1 };

    return b->left && memchr(first, b->at[0], sizeof first);
}

static void load(struct bytes *b)
{
    struct options o;
    char *text;
    CUmodule m;

    take_options(&o, b);
    text = says_length(b) ? NULL : malloc(b->left + 1);
    if (text) {
        memcpy(text, b->at, b->left);
        text[b->left] = 0;
        if (!fgs__sim_cuModuleLoadDataEx(&m, text, o.count, o.option, o.value))
            fgs__sim_cuModuleUnload(m);
    }
    free(text);
    free_options(&o);
}

static void link_both(struct bytes *b)
{
    struct options o, add;
    CUjitInputType type = (CUjitInputType)take(b, 1) % 8;
    CUlinkState state;
    CUmodule m;
    size_t bytes;
    void *image;

    take_options(&o, b);
    take_options(&add, b);
    if (!fgs__sim_cuLinkCreate(o.count, o.option, o.value, &state)) {
        fgs__sim_cuLinkAddData(state, CU_JIT_INPUT_PTX,
                               (void *)(uintptr_t)other, sizeof other - 1,
                               "other", 0, NULL, NULL);
        fgs__sim_cuLinkAddData(state, type, (void *)(uintptr_t)b->at, b->left,
                               "text", add.count, add.option, add.value);
        if (!fgs__sim_cuLinkComplete(state, &image, &bytes) &&
            !fgs__sim_cuModuleLoadData(&m, image))
            fgs__sim_cuModuleUnload(m);
        fgs__sim_cuLinkDestroy(state);
    }
    free_options(&o);
    free_options(&add);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static CUcontext ctx;
    struct bytes b = { data, size };

    if (!ctx && (fgs__sim_cuInit(0) || fgs__sim_cuCtxCreate(&ctx, 0, 0)))
        abort();
    if (take(&b, 1) % 2)
        load(&b);
    else
        link_both(&b);
    return 0;
}
