/* pair.c -- which report mechanism may look at which element */
#include "base/error.h"
#include "table/table.h"

fgs_result fgs__pair_check(fgs_element e, fgs_mechanism m, fgs_error *err)
{
    const fgs_element_info *el = fgs_element_get_info(e);
    const fgs_mechanism_info *me = fgs_mechanism_get_info(m);

    if (!el || !me)
        return fgs__fail(err, FGS_E_INVAL, "%u is no %s",
                         (unsigned)(el ? (int)m : (int)e),
                         el ? "mechanism" : "element type");
    if (m == FGS_MECHANISM_DISABLED || m == el->mechanism)
        return FGS_OK;
    if (me->bits != el->bits && !(me->checks == FGS__EVERY && el->bits == 4))
        return fgs__fail(err, FGS_E_MISMATCH,
                         "mechanism %s looks for a %u-bit sentinel, element "
                         "%s has %u bits: parts or groups of elements would "
                         "be compared",
                         me->qualifier, me->bits, el->name, el->bits);
    if (me->checks == FGS__EVERY)
        return fgs__fail(err, FGS_E_MISMATCH,
                         "mechanism %s takes all ones for not written, and "
                         "%s holds them as data; its sentinel is 0x%x",
                         me->qualifier, el->name, el->sentinel);
    return fgs__fail(err, FGS_E_MISMATCH,
                     "mechanism %s looks for 0x%x, and %s holds that as data; "
                     "its sentinel is 0x%x",
                     me->qualifier, me->sentinel, el->name, el->sentinel);
}
