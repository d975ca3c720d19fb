#include "input.h"

#include "error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perfscope {

InputFile::InputFile(std::string path) : path_(std::move(path)), descriptor_(-1), size_(0)
{
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (descriptor_ < 0)
        throw ReadError(path_, errno);
    const int failed = fstat(descriptor_, &about);
    if (failed || S_ISDIR(about.st_mode)) {
        const int code = failed ? errno : EISDIR;
        close(descriptor_);
        throw ReadError(path_, code);
    }
    size_ = static_cast<uint64_t>(about.st_size);
}

InputFile::~InputFile()
{
    close(descriptor_);
}

size_t InputFile::read_at(uint64_t offset, void *buffer, size_t bytes) const
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(descriptor_, static_cast<char *>(buffer) + done, bytes - done,
                                  static_cast<off_t>(offset + done));
        if (got == 0)
            break;
        if (got < 0) {
            if (errno == EINTR)
                continue;
            throw ReadError(path_, errno);
        }
        done += static_cast<size_t>(got);
    }
    return done;
}

} // namespace perfscope
