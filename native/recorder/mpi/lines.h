/* Some lines of a large buffer that a collective works on, for the few calls that are looked at. */
#ifndef PERFSCOPE_LINES_H
#define PERFSCOPE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/mpi_abi.h"

#define PS_LINES_LEAST_BYTES 262144u /* of a buffer */
#define PS_LINES_MOST_LOOKS 64u /* at calls like one another */

/* Whether the call of that number is looked at: the first few, then one of sixteen by a hash of the number, as several
 * buffers may take turns. */
bool ps_lines_are_due(uint32_t number);

/* A digest of some lines of a buffer, other ones for each number, 0 where all are zero, and whether they hold more than
 * one value; false where they cannot be read. The kernel reads them, as the buffer may be memory of a device. */
bool ps_lines_digest(ps_word buffer, uint64_t bytes, uint32_t number, uint64_t *found, bool *varies);

#endif
