/* The record buffer: a shared mapping of the .rec file whose slots are claimed one by one.
 *
 * The whole range is mapped at once, but a slot is handed out only after its disk space was obtained: a write to a
 * mapped page without a disk block would end the job by SIGBUS. When all slots are taken, records are thinned away
 * (thinning.h), and their slots are handed out again. */
#ifndef PERFSCOPE_BUFFER_H
#define PERFSCOPE_BUFFER_H

#include "guard.h"

enum ps_priority {
    PS_DETAIL,  /* MPI calls: stop first, their totals go on */
    PS_CONTEXT, /* phases, steps, samples: may use the reserve */
};

/* Maps a new file of at most max_bytes. Returns the header, or NULL with errno set. */
ps_header *ps_buffer_create(const char *path, uint64_t max_bytes);
/* A slot with kind 0, or NULL when there is no room (counted as dropped). */
ps_record *ps_claim(enum ps_priority priority);
/* Slots that are or will be filled: those claimed that have disk space. */
uint64_t ps_buffer_used(void);
/* Leaves the records of MPI calls out, or takes them again; their totals go on. */
void ps_buffer_pause_detail(bool is_paused);
/* No slot is handed out any more, except by reuse.h. Tells how many were, and the slots that there are; all of these
 * then count as claimed. */
void ps_buffer_end_claims(uint64_t *handed_out, uint64_t *end);
/* For the sampler thread: obtains space before it is needed, lets go of pages that are full. */
void ps_buffer_maintain(void);
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
