#include "input.h"

#include "error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perfscope {

InputFile::InputFile(std::string path) : path_(std::move(path)), descriptor_(-1), size_(0)
{
    // Looked at before it is opened: a FIFO that is opened lets its writer run into a closed pipe.
    struct stat about;
    if (stat(path_.c_str(), &about))
        throw ReadError(path_, errno);
    refuse_other_kinds(about);
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0)
        throw ReadError(path_, errno);
    try {
        if (fstat(descriptor_, &about))
            throw ReadError(path_, errno);
        refuse_other_kinds(about);
    } catch (const ReadError &) {
        close(descriptor_);
        throw;
    }
    size_ = static_cast<uint64_t>(about.st_size);
}

void InputFile::refuse_other_kinds(const struct stat &about) const
{
    if (S_ISDIR(about.st_mode))
        throw ReadError(path_, EISDIR);
    if (!S_ISREG(about.st_mode))
        throw ReadError(path_, EINVAL, "It is a FIFO, a device or a socket, not a file");
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
