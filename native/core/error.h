// What a damaged or unknown file makes the engine say.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace perfscope {

// A file is not what it should be. Carries what a person needs to find the place.
class FormatError : public std::runtime_error {
public:
    FormatError(std::string path, uint64_t offset, const std::string &reason)
        : std::runtime_error(reason), path_(std::move(path)), offset_(offset)
    {
    }
    const std::string &path() const { return path_; }
    uint64_t offset() const { return offset_; } // bytes from the start of the (uncompressed) file

private:
    std::string path_;
    uint64_t offset_;
};

// The system refused to read a file.
class ReadError : public std::runtime_error {
public:
    ReadError(std::string path, int code, const std::string &reason = {})
        : std::runtime_error("cannot be read"), path_(std::move(path)), reason_(reason), code_(code)
    {
    }
    const std::string &path() const { return path_; }
    const std::string &reason() const { return reason_; } // empty where errno says it
    int code() const { return code_; }                    // errno

private:
    std::string path_;
    std::string reason_;
    int code_;
};

} // namespace perfscope
