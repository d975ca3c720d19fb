/* Arrays of large counts and displacements for a library that only takes ints. */
#ifndef PERFSCOPE_ARRAY_ARGUMENTS_H
#define PERFSCOPE_ARRAY_ARGUMENTS_H

#include "mpi_abi.h"

/* Replaces each array, which has one element for each rank that the communicator exchanges with, by one of ints when
 * the library needs that. They live in *owned, which the caller frees. False when a value is too large. */
bool ps_narrow_arrays(const ps_function *function, ps_word comm, ps_word **arrays, int count, void **owned);
/* Whether the calling rank is the root of a rooted collective: only there the arrays mean anything. */
bool ps_is_root(ps_word comm, ps_word root);

#endif
