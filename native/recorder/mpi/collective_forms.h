/* Collectives whose counts are scalars, as in timed_forms.h; each takes the next ordinal of its communicator. */
#ifndef PERFSCOPE_COLLECTIVE_FORMS_H
#define PERFSCOPE_COLLECTIVE_FORMS_H

#include "mpi/requests.h"
#include "mpi/timed_forms.h"
#include "mpi/volume.h"

#define PS_COLLECTIVE_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, FITS, VOLUME, AFTER)                           \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_collective_call(PS_OP_MPI_##NAME, COMM), FITS, VOLUME,     \
                 AFTER)

#define PS_COLLECTIVE(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, FITS, VOLUME, AFTER)                               \
    PS_TIMED(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_collective_call(PS_OP_MPI_##NAME, COMM), FITS, VOLUME, AFTER)

#define PS_REQUESTED (result == 0 ? ps_request_created(&call, request, NULL) : (void)0)

/* The nonblocking one has a request as its last parameter. */
#define PS_I_COLLECTIVE(I_NAME, I_TYPE, PARAMETERS, ARGUMENTS, FITS, VOLUME)                                      \
    PS_COLLECTIVE(I_NAME, I_TYPE, (PS_UNPACK PARAMETERS, PS_W request), (PS_UNPACK ARGUMENTS, request), comm, FITS,\
                  VOLUME, PS_REQUESTED)

/* A blocking collective and the nonblocking one. */
#define PS_COLLECTIVES(NAME, I_NAME, TYPE, I_TYPE, PARAMETERS, ARGUMENTS, FITS, VOLUME)                           \
    PS_COLLECTIVE(NAME, TYPE, PARAMETERS, ARGUMENTS, comm, FITS, VOLUME, (void)0)                                 \
    PS_I_COLLECTIVE(I_NAME, I_TYPE, PARAMETERS, ARGUMENTS, FITS, VOLUME)

#endif
