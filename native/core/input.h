// Files read in blocks: memory does not grow with their length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/stat.h>

namespace perfscope {

// A regular file opened for reading. Throws ReadError where the system refuses, or where it is something else, such as
// a FIFO or a device, which could be read forever.
class InputFile {
public:
    explicit InputFile(std::string path);
    ~InputFile();
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    const std::string &path() const { return path_; }
    uint64_t size() const { return size_; }
    // Bytes read from `offset`, fewer than `bytes` only at the end of the file.
    size_t read_at(uint64_t offset, void *buffer, size_t bytes) const;

private:
    void refuse_other_kinds(const struct stat &about) const;

    std::string path_;
    int descriptor_;
    uint64_t size_;
};

} // namespace perfscope
