#include "process/agent_path.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

static bool is_python(void)
{
    char path[PS_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    const char *slash = strrchr(path, '/');
    return slash && strncmp(slash + 1, "python", strlen("python")) == 0;
}

static bool has_entry(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *at = list; at; at = strchr(at, ':')) {
        at += *at == ':';
        if (strncmp(at, entry, length) == 0 && (at[length] == ':' || at[length] == '\0'))
            return true;
    }
    return false;
}

void ps_agent_path_keep(void)
{
    const char *agent = getenv("PERFSCOPE_AGENT");
    const char *given = getenv("PYTHONPATH");
    if (!agent || !*agent || !is_python())
        return;
    if (!given || !*given) { /* an empty entry would be the current directory */
        setenv("PYTHONPATH", agent, 1);
        return;
    }
    if (has_entry(given, agent))
        return;
    size_t own = strlen(given);
    size_t bytes = own + 1 + strlen(agent) + 1;
    char *joined = malloc(bytes);
    if (!joined)
        return;
    memcpy(joined, given, own);
    joined[own] = ':';
    memcpy(joined + own + 1, agent, bytes - own - 1);
    setenv("PYTHONPATH", joined, 1);
    free(joined);
}
