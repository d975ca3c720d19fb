// The scalars of OTF2 records: full-width or with a leading size byte, in either byte order.
// Layout facts: the BSD-licensed sources of OTF2 3.2 (https://www.otf2.org, OTF2_Buffer.c).
#pragma once

#include "../error.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace perfscope::otf2 {

constexpr uint32_t UNDEFINED_32 = UINT32_MAX;
constexpr uint64_t UNDEFINED_64 = UINT64_MAX;
constexpr uint8_t LITTLE_ENDIAN_MARK = 0x42, BIG_ENDIAN_MARK = 0x23;

// Bytes of one record; every read is checked against its end.
class Bytes {
public:
    // `offset` is where `begin` stands in the file at `path`.
    Bytes(const uint8_t *begin, const uint8_t *end, bool swapped, const std::string &path, uint64_t offset)
        : at_(begin), begin_(begin), end_(end), swapped_(swapped), path_(&path), offset_(offset)
    {
    }

    bool at_end() const { return at_ >= end_; }
    size_t left() const { return static_cast<size_t>(end_ - at_); }
    uint64_t offset() const { return offset_ + static_cast<uint64_t>(at_ - begin_); }
    const uint8_t *position() const { return at_; }
    bool swapped() const { return swapped_; }
    const std::string &path() const { return *path_; }

    uint8_t u8()
    {
        need(1);
        return *at_++;
    }
    uint16_t u16_full() { return static_cast<uint16_t>(full(2)); }
    uint32_t u32_full() { return static_cast<uint32_t>(full(4)); }
    uint64_t u64_full() { return full(8); }
    uint32_t u32() { return static_cast<uint32_t>(compressed(4, UNDEFINED_32)); }
    uint64_t u64() { return compressed(8, UNDEFINED_64); }
    int64_t i64() { return static_cast<int64_t>(u64()); }

    // Text up to its null byte.
    std::string_view text()
    {
        const void *stop = left() ? std::memchr(at_, 0, left()) : nullptr;
        if (!stop)
            fail("a text has no end");
        const auto *end = static_cast<const uint8_t *>(stop);
        const std::string_view found(reinterpret_cast<const char *>(at_), static_cast<size_t>(end - at_));
        at_ = end + 1;
        return found;
    }
    // The payload of a record that begins with its length; stands behind it afterwards.
    Bytes record()
    {
        uint64_t length = u8();
        if (length == 0xff)
            length = u64_full();
        need(length);
        Bytes payload(at_, at_ + length, swapped_, *path_, offset());
        at_ += length;
        return payload;
    }
    void skip(size_t bytes)
    {
        need(bytes);
        at_ += bytes;
    }
    // Throws unless `count` items of at least `bytes` each can still follow.
    void expect(uint64_t count, uint64_t bytes) const
    {
        if (count > left() / bytes)
            fail("a count is larger than what the record holds");
    }
    [[noreturn]] void fail(const std::string &reason) const { throw FormatError(*path_, offset(), reason); }

private:
    void need(uint64_t bytes) const
    {
        if (bytes > left())
            fail("a record ends too early");
    }
    uint64_t full(unsigned bytes)
    {
        need(bytes);
        return assemble(bytes);
    }
    uint64_t compressed(unsigned most, uint64_t undefined)
    {
        const unsigned bytes = u8();
        if (bytes == 0xff)
            return undefined;
        if (bytes > most)
            fail("the size of a number is not valid");
        need(bytes);
        return assemble(bytes);
    }
    uint64_t assemble(unsigned bytes)
    {
        uint64_t value = 0;
        for (unsigned i = 0; i < bytes; i++)
            value |= static_cast<uint64_t>(at_[swapped_ ? bytes - 1 - i : i]) << (8 * i);
        at_ += bytes;
        return value;
    }

    const uint8_t *at_, *begin_, *end_;
    bool swapped_; // the bytes of a number stand in big-endian order
    const std::string *path_;
    uint64_t offset_;
};

} // namespace perfscope::otf2
