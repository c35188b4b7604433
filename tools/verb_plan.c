/* verb_plan.c -- fgs plan: plan files, checked, drawn and run */
#include "plan_words.h"

#include <string.h>

const char usage_plan[] =
    "usage: fgs plan expand FILE [--json]\n"
    "\n"
    "expand: print a plan as it was read, with its loops and defaults written\n"
    "out.  No device is needed.\n"
    "\n"
    "A plan file is read line by line; # begins a comment.\n"
    "\n"
    "  plan OPTION...             of the whole\n"
    "  buffer NAME OPTION...      tiles; what no stage writes is filled from\n"
    "                             the seed\n"
    "  stage NAME ROLE IN... -> OUT OPTION...\n"
    "                             a kernel of the library\n"
    "  stage NAME kernel FILE ENTRY OPTION...\n"
    "                             a kernel of yours, PTX; the lines below say\n"
    "                             its parameters and what it touches\n"
    "  read BUFFER OPTION...      of the stage above: more of what it reads\n"
    "  write BUFFER OPTION...     and writes\n"
    "  arg KIND [BUFFER|VALUE]    of the stage above: its next parameter\n"
    "  default buffer OPTION...   of buffers below that say nothing else\n"
    "  default stage OPTION...    of stages below\n"
    "  repeat VAR FROM TO         the lines up to `end`, once for each VAR;\n"
    "  end                        {VAR}, {VAR-1}, {VAR*2+1} in any word are\n"
    "                             reckoned from left to right: + - * / %\n"
    "\n"
    "Roles:\n"
#define PLAN_ROLE(id, word, reads, text) "  " word ": " text "\n"
#include "plan.def"
    "\n"
    "Options.  TILES is FIRST STEP COUNT; DIM 8, 8x4 or 8x4x2; TABLE 3,0,2 or "
    "a\n"
    "file of numbers beside the plan's; an order auto, stream, pdl, flag or\n"
    "sentinel; a fill auto, kernel, memset, self or reader.\n"
#define PLAN_WORD(scope, word, whose, kind, member, lo, hi, words, text)       \
    "  " PLAN_IS_##scope " " word " " #kind ": " text "\n"
#include "plan.def"
    "\n"
    "Parameters:"
#define PLAN_ARG(id, word, behind, bytes) " " word
#include "plan.def"
    "\n"
    "\n"
    "Exit: 0 good, 1 failed, 2 wrong usage, 77 no such device.\n";

int verb_plan(int argc, char **argv)
{
    bool json = false;
    const struct opt table[] = {
        {"--json", OPT_FLAG, &json, 0, 0, NULL, NULL},
        {NULL, OPT_FLAG, NULL, 0, 0, NULL, NULL},
    };
    struct plan_file f;
    int operands, code;

    code = opt_parse(verb_find("plan"), argc, argv, table, &operands);
    if (code >= 0)
        return code;
    if (operands != 2 || strcmp(argv[1], "expand"))
        return usage_error("plan", "expand FILE is expected");
    code = plan_read(argv[2], &f);
    if (code != EXIT_GOOD)
        return code;
    if (json)
        plan_print_json(&f);
    else
        plan_print(&f);
    plan_drop(&f);
    return EXIT_GOOD;
}
