/* fuzz_image.c -- libFuzzer: any bytes as an image of code
 *
 * Built by `make fuzz`; the bytes are a file's, so their number is known.
 */
#include "sim/image.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct fgs__sim_log log = { .text = NULL };
    struct fgs__sim_image img;
    unsigned sum = 0;

    if (fgs__sim_image_read(&img, data, size, &fgs__malloc, &log))
        return 0;
    /* ASan sees where a text does not lie. */
    for (uint32_t k = 0; k < img.texts; k++)
        for (size_t i = 0; i < img.text[k].bytes; i++)
            sum += (unsigned char)img.text[k].text[i];
    fgs__sim_image_free(&img);
    return sum == UINT32_MAX;
}
