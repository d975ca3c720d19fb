#include "records/disk.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

bool ps_disk_may_reach(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

bool ps_disk_write(int file, const void *data, uint64_t bytes, uint64_t offset)
{
    if (!ps_disk_may_reach(offset + bytes)) {
        errno = EFBIG;
        return false;
    }
    while (bytes) {
        ssize_t done = pwrite(file, data, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        data = (const char *)data + done;
        bytes -= (uint64_t)done;
        offset += (uint64_t)done;
    }
    return true;
}
