/* The MPI library of the process, without its header: every argument travels as an opaque 64-bit word.
 *
 * Handles are 32-bit integers (MPICH, Intel MPI) or pointers (Open MPI, the MPI-5 standard ABI); both fit a word, and
 * an int in a word's lower half is passed on unchanged. */
#ifndef PERFSCOPE_MPI_ABI_H
#define PERFSCOPE_MPI_ABI_H

#include <limits.h>

#include "state.h"

typedef uint64_t ps_word;

typedef struct {
    const char *name;
    const char *narrow_name; /* of a large-count function: the int version to fall back to */
    _Atomic(void *) address;
    bool is_wide;   /* counts are 64-bit words as the caller sees them */
    bool is_narrow; /* the caller's counts are wide, the library's are not */
} ps_function;

#define PS_FUNCTION(mpi_name) {.name = #mpi_name}
#define PS_LARGE_FUNCTION(mpi_name) {.name = #mpi_name "_c", .narrow_name = #mpi_name, .is_wide = true}

typedef struct {
    uint32_t abi; /* ps_abi */
    uint32_t handle_bytes;
    uint32_t status_bytes;
    uint32_t status_source; /* index of MPI_SOURCE in a status seen as ints; MPI_TAG follows */
    int any_source, proc_null, root;
    int any_tag;
    int cartesian, graph, distributed_graph; /* kinds of topology */
    int thread_multiple;
    int error_other, error_count;
    ps_word in_place;
    ps_word comm_world, comm_self, comm_null;
    ps_word datatype_null, byte, request_null, message_null, message_no_proc, no_operation;
    ps_word op_band, op_bor;
} ps_mpi_abi;

extern ps_mpi_abi ps_abi;

/* Finds the library's function; false when it has none. */
bool ps_resolve(ps_function *function);
/* Address of a function of the library by its name, NULL when absent. */
void *ps_find_function(const char *name);
/* The error code for a function that the library lacks or whose counts are too large for it. */
int ps_missing_function(void);
int ps_count_too_large(void);
/* Learns the handles and constants of the library. Called after its initialization. */
void ps_abi_learn(void);
const char *ps_library_path(void);
/* Whether an address is part of the library or the program rather than allocated memory. */
bool ps_is_static_address(ps_word address);

static inline bool ps_ready(ps_function *function)
{
    return atomic_load_explicit(&function->address, memory_order_acquire) || ps_resolve(function);
}

static inline ps_word ps_handle(ps_word word)
{
    return ps_abi.handle_bytes == 4 ? (uint32_t)word : word;
}

/* A program that checks errors itself may give no array at all: the library is to tell it so. */
static inline ps_word ps_handle_at(ps_word pointer, uint64_t index)
{
    if (PS_UNLIKELY(!pointer))
        return 0;
    return ps_abi.handle_bytes == 4 ? ((const uint32_t *)pointer)[index] : ((const uint64_t *)pointer)[index];
}

static inline uint64_t ps_count(const ps_function *function, ps_word count)
{
    int64_t value = function->is_wide ? (int64_t)count : (int)count;
    return value > 0 ? (uint64_t)value : 0;
}

static inline bool ps_fits(const ps_function *function, ps_word count)
{
    return !function->is_narrow || (int64_t)count <= INT_MAX;
}

/* How the library's functions are called, by their number of arguments. */
#define PS_W ps_word
#define PS_ADDRESS(function) atomic_load_explicit(&(function)->address, memory_order_relaxed)
#define PS_CALL(function, type, ...) (((type)PS_ADDRESS(function))(__VA_ARGS__))
typedef int (*ps_call_0)(void);
typedef int (*ps_call_1)(PS_W);
typedef int (*ps_call_2)(PS_W, PS_W);
typedef int (*ps_call_3)(PS_W, PS_W, PS_W);
typedef int (*ps_call_4)(PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_5)(PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_6)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_7)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_8)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_9)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_10)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_12)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);
typedef int (*ps_call_13)(PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W, PS_W);

#endif
