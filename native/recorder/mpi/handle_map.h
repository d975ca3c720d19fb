/* A map from MPI handles to small values, for many threads.
 *
 * MPI libraries hand out one handle for several completed requests at once, so a key may be held several times: the
 * calling thread's oldest entry is taken first, then anybody's. Every other handle is of one thing: what was known of
 * an earlier one, whose end went unnoticed, is replaced. Memory grows in blocks with the number of live
 * entries and stops at a bound. */
#ifndef PERFSCOPE_HANDLE_MAP_H
#define PERFSCOPE_HANDLE_MAP_H

#include "mpi/communicator.h"

/* What is known of a request between its creation and its completion; of a matched message, a window or a file it is
 * the communicator alone. */
typedef struct {
    uint64_t id;
    ps_comm *comm;
    ps_record *record; /* of the creating call, NULL when it was dropped */
    uint64_t sent, received;
    void *owned;      /* memory that the operation uses until it completes */
    ps_word new_comm; /* MPI_Comm_idup: where the new handle will stand */
    uint32_t ordinal; /* MPI_Comm_idup: creation ordinal on the parent */
    uint32_t seq;
    uint32_t tid; /* of the creating thread */
    int32_t peer, tag;
    uint16_t op;
    bool is_receive;
    bool is_exchange; /* sends and receives: the status tells the bytes received */
    bool is_cancelled; /* MPI_Cancel was called: the status tells whether it succeeded */
} ps_pending;

typedef struct ps_handle_map ps_handle_map;
extern ps_handle_map ps_requests, ps_messages, ps_persistent, ps_windows, ps_files;

/* False when the bound is reached: the handle stays unknown. */
bool ps_map_put(ps_handle_map *map, ps_word handle, const ps_pending *value);
/* The only entry of a handle from now on. */
bool ps_map_replace(ps_handle_map *map, ps_word handle, const ps_pending *value);
/* Removes all entries of a handle. */
void ps_map_drop(ps_handle_map *map, ps_word handle);
/* Removes an entry of a handle into *value. */
bool ps_map_take(ps_handle_map *map, ps_word handle, ps_pending *value);
/* Copies an entry of a handle into *value and leaves it there. */
bool ps_map_find(ps_handle_map *map, ps_word handle, ps_pending *value);
void ps_map_mark_cancelled(ps_handle_map *map, ps_word handle);

#endif
