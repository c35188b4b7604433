/* fuzz_load.c -- libFuzzer: any text through lexer, parser and checker */
#include "ptx/module.h"
#include "ptx/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct fgs__ptx_diags d;
    struct fgs__ptx_module *m;
    fgs_result r;

    fgs__ptx_diags_init(&d, &fgs__malloc);
    r = fgs__ptx_load(&m, (const char *)data, size, &fgs__malloc, &d);
    /* What is refused says why. */
    if (r ? m || !d.count : !m || d.count)
        abort();
    fgs__ptx_free(m);
    fgs__ptx_diags_free(&d);
    return 0;
}
