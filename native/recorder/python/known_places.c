/* Places in code of which Python knows what is called there: a stack that ends in one of them need not wake it. */
#include "python/known_places.h"

#include <stdint.h>

#include "state.h"

#define PLACES 4096 /* those that meet in one row take turns */

static ps_code_place known[PLACES];

static ps_code_place *row_of(object code, int last)
{
    return &known[((uintptr_t)code / sizeof(void *) + (uintptr_t)last * 31) % PLACES];
}

bool ps_is_known(const ps_code_place *place)
{
    const ps_code_place *row = row_of(place->code, place->last);
    return row->code == place->code && row->last == place->last;
}

PS_EXPORT void ps_stack_knows(void *code, int32_t last)
{
    *row_of(code, last) = (ps_code_place){.code = code, .last = last};
}
