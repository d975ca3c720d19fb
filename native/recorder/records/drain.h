/* Node-local files that stand in for those of a run directory on a network file system. */
#ifndef PERFSCOPE_DRAIN_H
#define PERFSCOPE_DRAIN_H

#include "state.h"

/* Makes a node-local directory for this process's files when `run_directory` is on a network file system, when a file
 * could not be mapped there, or when PERFSCOPE_LOCAL_DIR names one. False: the run directory itself is written. */
bool ps_drain_open(const char *run_directory, bool is_refused);
/* Path of a file in the node-local directory, by its ending. */
bool ps_drain_path(char *path, size_t bytes, const char *ending);
/* Notes the loss bound where the analysis finds it. Needs the definitions. */
void ps_drain_note(void);
/* For the sampler thread: copies what is new when it is time. */
void ps_drain_maintain(uint64_t now_ns);
/* A record that was copied has changed: its slot was thinned away, or filled again. */
void ps_drain_changed(uint64_t slot);
/* At exit, when the buffer is closed: copies the rest and removes the node-local files. */
void ps_drain_close(void);
/* In a forked child: the directory is the parent's. */
void ps_drain_forget(void);

#endif
