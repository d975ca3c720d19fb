#ifndef PS_KNOWN_PLACES_H
#define PS_KNOWN_PLACES_H

#include <stdbool.h>

#include "python/python_functions.h"

/* An instruction of some code, by its offset. */
typedef struct {
    object code;
    int last;
} ps_code_place;

/* Whether Python has told that it knows what is called there. */
bool ps_is_known(const ps_code_place *place);

#endif
