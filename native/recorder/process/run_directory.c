#include "process/run_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"
#include "text.h"

/* Taken when the library is loaded: a job may clear its environment or change its directory later. */
static char run_directory[PS_PATH_BYTES];

void ps_run_directory_keep(void)
{
    const char *given = getenv("PERFSCOPE_DIR");
    size_t used = 0;
    if (!given || !*given)
        return;
    if (*given != '/') {
        if (!getcwd(run_directory, sizeof run_directory - 1))
            return;
        used = strlen(run_directory);
        run_directory[used++] = '/';
    }
    if (!ps_copy_text(run_directory + used, sizeof run_directory - used, given))
        run_directory[0] = '\0';
}

bool ps_run_directory_is_known(void)
{
    return run_directory[0] != '\0';
}

bool ps_host_directory(char *path, size_t bytes)
{
    char host[64] = "";
    if (!run_directory[0] || gethostname(host, sizeof host - 1) != 0)
        return false;
    for (char *at = host; *at; at++)
        if (*at == '/')
            *at = '_';
    int needed = snprintf(path, bytes, "%s/%s", run_directory, host);
    if (needed < 0 || (size_t)needed >= bytes)
        return false;
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}
