/* text.h -- texts of kernels, for the verbs that show them */
#ifndef FGS_TOOL_TEXT_H
#define FGS_TOOL_TEXT_H

#include "tool.h"

/* The expanded text of a stem, from malloc.  EXIT_GOOD, or EXIT_BAD after a
 * message. */
int text_get(const char *verb, const fgs_ptx_desc *desc, char **text);

/* The PTX that NVRTC makes of the stem's twin, from malloc; NULL after a
 * failure. */
fgs_result text_compile(const fgs_ptx_desc *desc, char **text, fgs_error *err);

/* The word behind a directive at a line's start, "" = no such line. */
void text_word(const char *text, const char *directive, char *word,
               size_t room);

#endif
