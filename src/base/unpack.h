/* unpack.h -- decompression of what the tool chain compresses
 *
 * Decoders of our own: the project has no package for either format, only
 * the formats' decoding side is needed, of blocks that lie in memory whole.
 * Any bytes may come in; `out` is never written past `cap`.
 */
#ifndef FGS_BASE_UNPACK_H
#define FGS_BASE_UNPACK_H

#include "base/alloc.h"
#include <stdbool.h>

/* One LZ4 block, without a frame; false unless it makes exactly `cap`
 * bytes. */
bool fgs__unpack_lz4(unsigned char *out, size_t cap, const unsigned char *in,
                     size_t bytes);
/* One Zstandard frame (RFC 8878) without dictionary; checksums are not
 * compared.  FGS_E_INVAL unless it makes exactly `cap` bytes, FGS_E_NOMEM. */
fgs_result fgs__unpack_zstd(unsigned char *out, size_t cap,
                            const unsigned char *in, size_t bytes,
                            const fgs_allocator *a);

#endif
