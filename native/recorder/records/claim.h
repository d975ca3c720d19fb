/* A slot for every record: of the buffer, and when all of these are taken, of records that were thinned away. */
#ifndef PERFSCOPE_CLAIM_H
#define PERFSCOPE_CLAIM_H

#include "records/buffer.h"

/* A slot with kind 0, or NULL when there is no room (counted as dropped). */
ps_record *ps_claim(enum ps_priority priority);
/* Leaves the records of MPI calls out, or takes them again; their totals go on. */
void ps_claims_pause_detail(bool is_paused);
/* For the sampler thread: makes room before a call has to, lets go of pages that are full. */
void ps_claims_maintain(void);
/* Bytes of memory that the records and what is known of them take in this process. */
uint64_t ps_claims_resident(void);
/* In a forked child that begins a file of its own. */
void ps_claims_forget(void);

#endif
