/* Writing to files without a signal: no limit of the process is touched. */
#ifndef PERFSCOPE_DISK_H
#define PERFSCOPE_DISK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a file may end at this byte. Growing one beyond the process's limit sends SIGXFSZ, which would end the job. */
bool ps_disk_may_reach(uint64_t end);
/* Writes all of it, or says false. */
bool ps_disk_write(int file, const void *data, uint64_t bytes, uint64_t offset);

#endif
