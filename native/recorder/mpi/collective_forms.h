/* Collectives whose counts are scalars, as in timed_forms.h; each takes the next ordinal of its communicator. */
#ifndef PERFSCOPE_COLLECTIVE_FORMS_H
#define PERFSCOPE_COLLECTIVE_FORMS_H

#include "mpi/timed_forms.h"
#include "mpi/volume.h"

#define PS_COLLECTIVE_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, FITS, VOLUME, AFTER)                           \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_collective_call(PS_OP_MPI_##NAME, COMM), FITS, VOLUME,     \
                 AFTER)

#define PS_COLLECTIVE(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, FITS, VOLUME, AFTER)                               \
    PS_TIMED(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_collective_call(PS_OP_MPI_##NAME, COMM), FITS, VOLUME, AFTER)

#endif
