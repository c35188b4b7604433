/* record.h -- the structs of record.def and param.def */
#ifndef FGS_TABLE_RECORD_H
#define FGS_TABLE_RECORD_H

#include <stdint.h>

struct fgs__ctl {
#define CTL(id, type, name) type name;
#include "table/record.def"
};

struct fgs__stat {
#define STAT(id, type, name) type name;
#include "table/record.def"
};

struct fgs__trace {
#define TRACE(id, type, name) type name;
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

/* The kernels' parameters. */
typedef uint64_t fgs__param_u64;
typedef uint32_t fgs__param_u32;
struct fgs__args {
#define PARAM(name, type, meaning) fgs__param_##type name;
#include "table/param.def"
#undef PARAM
};

#endif
