/* program.h -- find and run the assembler's programs */
#ifndef FGS_TOOL_PROGRAM_H
#define FGS_TOOL_PROGRAM_H

#include "tool.h"

enum { PROGRAM_PATH = 1024 };

/* The folder of this executable, "" = unknown. */
void program_folder(char *dir, size_t room);

/* Beside this tool's own build folder, in $PATH, in /usr/local/cuda. */
bool program_find(const char *name, char path[PROGRAM_PATH]);

/* Run argv[0], its output to the file `to`.  EXIT_GOOD, or EXIT_BAD after a
 * message. */
int program_run(char *const argv[], const char *to);

/* A new folder for temporary files.  EXIT_GOOD, or EXIT_BAD after a message. */
int folder_make(char dir[PROGRAM_PATH]);

int file_write(const char *path, const void *data, size_t size);

#endif
