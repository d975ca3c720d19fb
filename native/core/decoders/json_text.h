// Scanning of JSON text that is followed by PADDING quotes: no scan leaves the buffer, whatever the text holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace perfscope::json {

// A quote ends every scan: it is no white space, no digit, and closes every string.
constexpr size_t PADDING = 64;
constexpr char PAD = '"';
constexpr int MOST_LEVELS = 64;

// What makes a text no JSON, and where.
struct Malformed {
    const char *at;
    const char *why;
};

#if defined(__SSE2__)

inline unsigned first_bit(int mask)
{
    return static_cast<unsigned>(__builtin_ctz(static_cast<unsigned>(mask)));
}

inline __m128i load(const char *p)
{
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
}

// The closing quote of a string; p is behind the opening one.
inline const char *string_end(const char *p)
{
    const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\');
    for (;;) {
        const __m128i text = load(p);
        const int mask = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(text, quote), _mm_cmpeq_epi8(text, escape)));
        if (!mask) {
            p += 16;
            continue;
        }
        p += first_bit(mask);
        if (*p == '"')
            return p;
        p += 2;
    }
}

inline const char *skip_space(const char *p)
{
    if (static_cast<unsigned char>(*p) > ' ')
        return p;
    if (static_cast<unsigned char>(p[1]) > ' ')
        return p + 1;
    const __m128i space = _mm_set1_epi8(' ');
    for (;;) {
        const int blank = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(load(p), space), space));
        if (blank != 0xffff)
            return p + first_bit(~blank);
        p += 16;
    }
}

// The next quote or bracket of any kind.
inline const char *structure(const char *p)
{
    const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i fold = _mm_set1_epi8(0x20); // [ and ] become { and }
    for (;;) {
        const __m128i text = load(p), folded = _mm_or_si128(text, fold);
        const int mask = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(text, quote),
                         _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close))));
        if (mask)
            return p + first_bit(mask);
        p += 16;
    }
}

#else

inline uint64_t bytes_equal(uint64_t word, char wanted)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t difference = word ^ (ones * static_cast<unsigned char>(wanted));
    return (difference - ones) & ~difference & (ones << 7);
}

inline const char *string_end(const char *p)
{
    for (;;) {
        uint64_t word;
        std::memcpy(&word, p, sizeof word);
        if (!(bytes_equal(word, '"') | bytes_equal(word, '\\'))) {
            p += 8;
            continue;
        }
        while (*p != '"' && *p != '\\')
            p++;
        if (*p == '"')
            return p;
        p += 2;
    }
}

inline const char *skip_space(const char *p)
{
    while (static_cast<unsigned char>(*p) <= ' ')
        p++;
    return p;
}

inline const char *structure(const char *p)
{
    for (;; p++) {
        const char folded = static_cast<char>(*p | 0x20);
        if (*p == '"' || folded == '{' || folded == '}')
            return p;
    }
}

#endif

// The end of a number or word; p is at its first character. Throws Malformed where it can be neither.
const char *scalar_end(const char *p);

// The end of the object or list at p, nullptr when the text ends before it. Throws Malformed.
const char *container_end(const char *p, const char *end);

// The end of any value at p, nullptr when the text ends before it. Throws Malformed.
inline const char *value_end(const char *p, const char *end)
{
    if (p >= end)
        return nullptr;
    if (*p == '"') {
        const char *quote = string_end(p + 1);
        return quote < end ? quote + 1 : nullptr;
    }
    if (*p == '{' || *p == '[')
        return container_end(p, end);
    const char *behind = scalar_end(p);
    return behind < end ? behind : nullptr; // a number at the very end may go on
}

// Thousandths of the number at p, rounded to the nearest; moves p behind it. False where it is no number or too large.
bool thousandths(const char *&p, int64_t &value);

// The same of units, by the first 18 digits.
bool nearest_whole(const char *&p, int64_t &value);

// The whole number in [p, end), also where it stands in quotes or has a zero fraction; false where there is none.
bool whole_number(const char *p, const char *end, int64_t &value);

// Appends the text of the characters in [p, end), which stood between quotes.
void unescape(const char *p, const char *end, std::string &out);

// The text in [p, end).
inline std::string_view between(const char *p, const char *end) { return {p, static_cast<size_t>(end - p)}; }

// Where the value of the member at p begins, whose name is found; nullptr when the text ends before it. Throws
// Malformed, with `nameless` where no name stands.
inline const char *member_value(const char *p, const char *end, std::string_view &name, const char *nameless)
{
    if (*p != '"')
        throw Malformed{p, nameless};
    const char *quote = string_end(p + 1);
    const char *colon = quote < end ? skip_space(quote + 1) : end;
    if (colon >= end)
        return nullptr;
    if (*colon != ':')
        throw Malformed{colon, "a name without a value"};
    name = between(p + 1, quote);
    const char *value = skip_space(colon + 1);
    return value < end ? value : nullptr;
}

// Calls visit(name, value) for the members of the object, the value as JSON text. The object stands in a padded
// buffer; where it is no proper object, which is then told by `false`, the rest of it is left out.
template <class Visit> bool for_each_member(std::string_view object, Visit &&visit)
{
    const char *p = object.data() + 1, *end = object.data() + object.size();
    while ((p = skip_space(p)) < end) {
        if (*p == ',') {
            p++;
            continue;
        }
        if (*p != '"')
            return *p == '}' && p + 1 == end;
        const char *quote = string_end(p + 1);
        const char *value = quote < end ? skip_space(quote + 1) : end;
        if (value >= end || *value != ':')
            return false;
        value = skip_space(value + 1);
        const char *behind = value_end(value, end);
        if (!behind)
            return false;
        visit(std::string_view(p + 1, static_cast<size_t>(quote - p - 1)),
              std::string_view(value, static_cast<size_t>(behind - value)));
        p = behind;
    }
    return false;
}

} // namespace perfscope::json
