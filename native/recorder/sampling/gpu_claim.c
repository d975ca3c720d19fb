#include "sampling/gpu_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "state.h"

#define LOWEST_DESCRIPTOR 200 /* out of the way of programs that count on small numbers */

/* Equal for the processes of one job on one node, which write into one directory. */
static uint64_t hash_directory(void)
{
    const char *end = strrchr(ps_recorder.base_path, '/');
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = ps_recorder.base_path; end && at < end; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return hash;
}

static socklen_t name_claim(const char *uuid, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "perfscope-gpu/%016llx/%.60s",
                          (unsigned long long)hash_directory(), uuid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool ps_gpu_claim_device(const char *uuid, ps_gpu_claim *claim)
{
    struct sockaddr_un name;
    int low = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (low < 0)
        return true;
    /* The C library's own fcntl is of a newer version than may be needed. */
    int file = (int)syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);
    close(low);
    if (file < 0)
        return true;
    socklen_t bytes = name_claim(uuid, &name);
    if (bind(file, (struct sockaddr *)&name, bytes) == 0) {
        claim->file = file; /* stays open for the life of the process */
        claim->name = name;
        return true;
    }
    bool is_taken = errno == EADDRINUSE;
    close(file);
    return !is_taken;
}

void ps_gpu_drop_claim(ps_gpu_claim *claim)
{
    struct sockaddr_un bound = {0};
    socklen_t bytes = sizeof bound;
    int file = claim->file;
    claim->file = 0;
    /* The job may have closed the descriptor and use its number for something else. */
    if (file && getsockname(file, (struct sockaddr *)&bound, &bytes) == 0 &&
        memcmp(&bound, &claim->name, sizeof bound) == 0)
        close(file);
}
