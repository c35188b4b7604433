/* isa.h -- ISA levels of the host that exec_*.c files are compiled for */
#ifndef FGS_SIM_ISA_H
#define FGS_SIM_ISA_H

#include <stdint.h>

enum fgs__sim_isa { FGS__ISA_BASE, FGS__ISA_AVX2, FGS__ISA_AVX512 };

/* The level that modules decoded now get. */
enum fgs__sim_isa fgs__sim_isa_now(void);
/* Take no higher level, for tests.  Threads: setup. */
void fgs__sim_isa_limit(enum fgs__sim_isa most);
/* The knob `vectors` of a device that boots: no higher level either. */
void fgs__sim_isa_knob(uint32_t vectors);

#endif
