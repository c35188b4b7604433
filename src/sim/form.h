/* form.h -- all symbols of the driver API that this device has
 *
 * An entry point has a row in entry.def and one or more symbols: its name, the
 * name with a version, and a per-thread form, in which a NULL stream is the
 * calling thread's own.  forms.awk makes the table.
 */
#ifndef FGS_SIM_FORM_H
#define FGS_SIM_FORM_H

#include "sim/device.h"

/* Any function; void (*)(void) converts to all of them. */
typedef void (*fgs__sim_any)(void);

struct fgs__sim_form {
    const char *symbol;
    const char *name;          /* as documented, without suffix              */
    int abi;                   /* version of the signature                   */
    int per_thread;
    fgs__sim_any fn;
};
extern const struct fgs__sim_form fgs__sim_forms[]; /* symbol NULL at end */

#endif
