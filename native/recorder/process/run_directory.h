/* The directory that the job is recorded in. */
#ifndef PERFSCOPE_RUN_DIRECTORY_H
#define PERFSCOPE_RUN_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

/* Takes $PERFSCOPE_DIR as it is now. */
void ps_run_directory_keep(void);
/* Whether there was one: else nothing is recorded. */
bool ps_run_directory_is_known(void);
/* The directory of this host in it, created when missing. False where no directory is set or it cannot be made. */
bool ps_host_directory(char *path, size_t bytes);

#endif
