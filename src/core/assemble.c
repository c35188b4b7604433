/* assemble.c -- PTX text into a cubin without a device */
#include "base/error.h"
#include "cuda/nvjitlink.h"

fgs_result fgs_ptx_assemble(const char *file, const char *text,
                            const char *target, void *cubin, size_t *size,
                            fgs_error *err)
{
    size_t room = size ? *size : 0;
    struct fgs__nvjitlink n;
    struct fgs__cubin c;
    char log[512];
    fgs_result r;

    if (!file || !text || !target || !size || (!cubin && room))
        return fgs__fail(err, FGS_E_NULL, "fgs_ptx_assemble: %s is NULL",
                         !file     ? "file"
                         : !text   ? "text"
                         : !target ? "target"
                         : !size   ? "size"
                                   : "cubin");
    fgs__nvjitlink_open(&n);
    if (!n.lib.found)
        return fgs__fail(err, FGS_E_UNSUPPORTED, "nvJitLink: %s", n.lib.why);
    r = fgs__nvjitlink_assemble(&n, text, strlen(text), file, target,
                                &fgs__malloc, &c, log, sizeof log);
    if (r == FGS_E_NOMEM)
        return fgs__nomem(err);
    if (r < 0)
        return fgs__fail(err, r, "%s for %s: nvJitLink %d.%d: %s", file, target,
                         n.lib.version / 10, n.lib.version % 10, log);
    *size = c.size;
    if (room < c.size)
        r = fgs__fail(err, FGS_E_SIZE, "%s takes %zu bytes, cubin has %zu",
                      file, c.size, room);
    else
        memcpy(cubin, c.data, c.size);
    fgs__free(&fgs__malloc, c.data);
    return r;
}
