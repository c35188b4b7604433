/* record.h -- the structs of record.def */
#ifndef FGS_TABLE_RECORD_H
#define FGS_TABLE_RECORD_H

#include <stdint.h>

struct fgs__ctl {
#define CTL(id, type, name) type name;
#include "table/record.def"
};

struct fgs__rec {
#define REC(id, type, name) type name;
#include "table/record.def"
};

enum fgs__giveup {
    FGS__GIVEUP_NONE = 0,
#define GIVEUP(id, value, text) FGS__GIVEUP_##id = value,
#include "table/record.def"
};

#endif
