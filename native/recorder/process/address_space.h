/* The address space of this process. */
#ifndef PERFSCOPE_ADDRESS_SPACE_H
#define PERFSCOPE_ADDRESS_SPACE_H

#include <stdint.h>

/* Bytes that the process may still map, UINT64_MAX without a limit. */
uint64_t ps_address_space_free(void);

#endif
