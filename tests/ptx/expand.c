/* expand.c -- print the library's PTX texts, for the assembler tests
 *
 * usage: expand          the stems, one a line
 *        expand STEM CC  the text for compute capability CC (75, 107 ...)
 */
#include <fgs/fgs.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const char *stem;
    fgs_error err;
    size_t size = 0;
    char *text;
    fgs_ptx_desc d = {.size = sizeof d};
    fgs_result r;

    if (argc == 1) {
        for (uint32_t i = 0; (stem = fgs_ptx_stem(i)); i++)
            puts(stem);
        return 0;
    }
    if (argc != 3)
        return 2;
    d.stem = argv[1];
    d.cc = atoi(argv[2]);
    r = fgs_ptx_expand(&d, NULL, &size, &err);
    if (r == FGS_E_INVAL) { /* not for f32 */
        d.element = FGS_ELEMENT_F16;
        r = fgs_ptx_expand(&d, NULL, &size, &err);
    }
    if (r != FGS_E_SIZE) {
        fprintf(stderr, "expand: %s\n", err.text);
        return 1;
    }
    text = malloc(size);
    if (!text || fgs_ptx_expand(&d, text, &size, &err) < 0)
        return 1;
    fputs(text, stdout);
    free(text);
    return fflush(stdout) ? 1 : 0;
}
