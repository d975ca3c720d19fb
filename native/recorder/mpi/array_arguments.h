/* Arrays of large counts and displacements for a library that only takes ints. */
#ifndef PERFSCOPE_ARRAY_ARGUMENTS_H
#define PERFSCOPE_ARRAY_ARGUMENTS_H

#include "mpi/mpi_abi.h"

/* Replaces each array, which has one element for each rank that the communicator exchanges with, by one of ints when
 * the library needs that. They live in *owned, which the caller frees. False when a value is too large. */
bool ps_narrow_arrays(const ps_function *function, ps_word comm, ps_word **arrays, int count, void **owned);
/* The same for arrays with so many elements each. */
bool ps_narrow_sized(const ps_function *function, ps_word **arrays, const int *sizes, int count, void **owned);
/* Counts and displacements of one side; second may be NULL. */
bool ps_narrow_pair(const ps_function *function, ps_word comm, ps_word *first, ps_word *second, void **owned);
/* The same where they mean something at the root alone. */
bool ps_narrow_at_root(const ps_function *function, ps_word comm, ps_word root, ps_word *first, ps_word *second,
                       void **owned);
/* Counts and displacements of the sending side, then of the receiving one. */
bool ps_narrow_both_sides(const ps_function *function, ps_word comm, ps_word send, ps_word **arrays, void **owned);
/* Whether the calling rank is the root of a rooted collective: only there the arrays mean anything. */
bool ps_is_root(ps_word comm, ps_word root);

#endif
