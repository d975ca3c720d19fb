#include "process/address_space.h"

#include <sys/resource.h>
#include <unistd.h>

#include "text.h"

uint64_t ps_address_space_free(void)
{
    char text[256];
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    ps_read_file("/proc/self/statm", text, sizeof text);
    uint64_t used = ps_parse_u64(ps_field(text, 0), NULL) * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}
