// Messages of protocol buffers, field by field, without their declarations. Nothing is copied: a field of bytes is a
// piece of the message that holds it, and whoever knows what it means walks it in turn, so no file decides how deep.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace perfscope::proto {

// What makes a piece of the file no message, and where.
struct Malformed {
    const char *at;
    std::string why;
};

enum Wire : unsigned { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct Field {
    uint64_t number = 0;
    uint64_t value = 0;    // of a whole number
    std::string_view held; // of any other field
    bool is_whole = false;

    bool is_part(uint64_t wanted) const { return !is_whole && number == wanted; }
    bool is_number(uint64_t wanted) const { return is_whole && number == wanted; }
};

enum class Step { FIELD, END, SHORT }; // SHORT: the message ends within the field

// A number of at most 64 bits at `p`, which moves behind it; false where the text ends before the number does.
inline bool varint(const char *&p, const char *end, uint64_t &value)
{
    if (p < end && static_cast<unsigned char>(*p) < 0x80) {
        value = static_cast<unsigned char>(*p++);
        return true;
    }
    const char *from = p;
    value = 0;
    for (unsigned shift = 0; p < end; shift += 7) {
        const auto byte = static_cast<unsigned char>(*p++);
        if (shift == 63 && byte > 1)
            throw Malformed{from, byte & 0x80 ? "a number does not end" : "a number has more than 64 bits"};
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    p = from;
    return false;
}

// The fields of one message. Throws Malformed.
class Fields {
public:
    explicit Fields(std::string_view message) : p_(message.data()), end_(message.data() + message.size()) {}

    const char *place() const { return p_; }

    // The next field; where the message ends within it, `place` stays at its begin.
    Step take(Field &field)
    {
        if (p_ == end_)
            return Step::END;
        const char *p = p_;
        uint64_t key, length;
        if (!varint(p, end_, key))
            return Step::SHORT;
        field.number = key >> 3;
        const auto wire = static_cast<unsigned>(key & 7);
        field.is_whole = wire == VARINT;
        switch (wire) {
        case VARINT:
            if (!varint(p, end_, field.value))
                return Step::SHORT;
            p_ = p;
            return Step::FIELD;
        case BYTES:
            if (!varint(p, end_, length))
                return Step::SHORT;
            break;
        case FIXED64:
        case FIXED32:
            length = wire == FIXED64 ? 8 : 4;
            break;
        default: // groups among them, which no declaration has had for decades
            throw Malformed{p_, "a field has the unknown type " + std::to_string(wire)};
        }
        if (length > static_cast<uint64_t>(end_ - p))
            return Step::SHORT;
        field.held = {p, static_cast<size_t>(length)};
        p_ = p + length;
        return Step::FIELD;
    }

    // The same of a message that is there as a whole.
    bool next(Field &field)
    {
        const Step step = take(field);
        if (step == Step::SHORT)
            throw Malformed{p_, "a field is longer than what is left"};
        return step == Step::FIELD;
    }

private:
    const char *p_, *end_;
};

// The eight bytes of a fixed number; false for a field of any other size.
inline bool fixed64(std::string_view held, uint64_t &value)
{
    if (held.size() != sizeof value)
        return false;
    std::memcpy(&value, held.data(), sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return true;
}

inline bool real(std::string_view held, double &value)
{
    uint64_t bits;
    if (!fixed64(held, bits))
        return false;
    std::memcpy(&value, &bits, sizeof value);
    return true;
}

} // namespace perfscope::proto
