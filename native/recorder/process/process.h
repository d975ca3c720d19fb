/* This process: its identity, its files, and how it ends. */
#ifndef PERFSCOPE_PROCESS_H
#define PERFSCOPE_PROCESS_H

#include "state.h"

/* Opens the files once; true when recording. */
bool ps_process_open(void);
/* That the files of a process may take. */
uint64_t ps_max_bytes(void);
/* In a forked child that begins files of its own: what was opened is the parent's. */
void ps_process_forget(void);
/* Facts for the header: clocks, boot, host, namespace. */
void ps_fill_identity(ps_header *header);
uint64_t ps_start_ticks(void);
/* Affinity and cgroup limits; written again when they changed. */
void ps_note_limits(void);
void ps_mark_aborted(int32_t code);
/* Ends the process at once, with all that was recorded. No destructor runs: for an end that they would spoil. */
void ps_process_end(int code) __attribute__((noreturn));

#endif
