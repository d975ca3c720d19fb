/* The record buffer: a shared mapping of the .rec file whose slots are claimed one by one (claim.h).
 *
 * The whole range is mapped at once, but a slot is handed out only after its disk space was obtained: a write to a
 * mapped page without a disk block would end the job by SIGBUS. */
#ifndef PERFSCOPE_BUFFER_H
#define PERFSCOPE_BUFFER_H

#include "guard.h"

enum ps_priority {
    PS_DETAIL,  /* MPI calls: stop first, their totals go on */
    PS_CONTEXT, /* phases, steps, samples: may use the reserve */
    PS_PRIORITIES,
};

#define PS_CONTEXT_RESERVE 1024u /* slots kept for phases and samples when the disk is full */

/* Slots below these may be filled. */
extern _Atomic uint64_t ps_buffer_limits[PS_PRIORITIES];

/* Maps a new file of at most max_bytes. Returns the header, or NULL with errno set. The file gets its name by
 * ps_buffer_name(), when the header is filled: of a process that is killed before, no recording is found that tells
 * nothing. False with errno set where it cannot be named: records go on in it all the same. */
ps_header *ps_buffer_create(const char *named, uint64_t max_bytes);
bool ps_buffer_name(void);
/* Obtains disk space until so many slots have it, if it can be had; the limits follow. */
void ps_buffer_grow(uint64_t slots);
/* For the sampler thread: obtains space before it is needed. */
void ps_buffer_grow_ahead(void);
/* For the sampler thread: notes what the header says, in case the file loses it. False where that has happened. */
bool ps_buffer_keep(void);
/* For the sampler thread: lets go of pages whose slots, up to this one, are filled. */
void ps_buffer_release(uint64_t filled);
/* No more disk space could be obtained. */
bool ps_buffer_is_disk_full(void);
/* Most slots that there may be are taken. */
bool ps_buffer_is_scarce(void);
/* Has the file grow to so many bytes at most, and then as far as it was made for again. */
void ps_buffer_limit(uint64_t max_bytes);
void ps_buffer_lift(void);
/* Slots that are or will be filled: those claimed that have disk space. */
uint64_t ps_buffer_used(void);
/* No slot is handed out any more, except by reuse.h. Tells how many were, and the slots that there are; all of these
 * then count as claimed. */
void ps_buffer_end_claims(uint64_t *handed_out, uint64_t *end);
/* Bytes of the mapping that this process holds in memory, as far as it made them so. */
uint64_t ps_buffer_resident(void);
/* Ends recording of details and shortens the file to what was used. The header stays writable. */
void ps_buffer_close(void);
/* Where the file's pages are gone: writes what the header says to the file, if that is still possible. */
void ps_buffer_save_totals(void);
/* In a forked child: lets go of the parent's buffer. */
void ps_buffer_drop(void);
/* In a forked child that begins a file of its own: what was noted is of the parent's. */
void ps_buffer_forget(void);

static inline void ps_publish(ps_record *record, uint16_t kind)
{
    __atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

#endif
