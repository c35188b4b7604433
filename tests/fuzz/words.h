/* words.h -- the words of PTX as string literals, for a fuzzer's dictionary
 *
 * `cc -E` makes them of the tables; the Makefile joins what stands behind the
 * word FROM_HERE to a word a line.
 */
#include "ptx/words.h"
FROM_HERE
#define DIRECTIVE(id, word) "." word
FGS__DIRECTIVES(DIRECTIVE)
#define MOD(id, group, word) "." word
#include "ptx/modifier.def"
#undef MOD
#define TYPE(id, word, bits, kind) "." word
#include "ptx/type.def"
#define OP(id, word, shape, types, mods, ptx, cc, exec) word
#include "ptx/opcode.def"
#define SREG(id, name, type, comps, ptx, cc) "%" name
#include "ptx/sreg.def"
#define KNOWN_OP(word) word
#define ALIAS_OP(word, id, ptx) word
#define KNOWN_WORD(word) "." word
#define KNOWN_SREG(name) "%" name
#include "ptx/known.def"
