#include "json_text.h"

namespace perfscope::json {

static bool is_digit(char c)
{
    return static_cast<unsigned>(c - '0') < 10;
}

const char *scalar_end(const char *p)
{
    const char first = *p;
    if (!is_digit(first) && first != '-' && first != 't' && first != 'f' && first != 'n' && first != 'N' && first != 'I')
        throw Malformed{p, "no value stands where one should"};
    for (;; p++) {
        const char c = *p;
        const char lower = static_cast<char>(c | 0x20);
        if (!is_digit(c) && c != '.' && c != '-' && c != '+' && !(lower >= 'a' && lower <= 'z'))
            return p;
    }
}

namespace {

// How deep in which kinds of brackets a scan is.
struct Nesting {
    uint64_t is_list = 0;
    int level = 0;

    // Takes the bracket at p; true where it closes the outermost one.
    bool take(const char *p)
    {
        if (*p == '{' || *p == '[') {
            if (++level > MOST_LEVELS)
                throw Malformed{p, "values are nested deeper than 64 levels"};
            is_list = is_list << 1 | (*p == '[');
            return false;
        }
        if ((*p == ']') != (is_list & 1))
            throw Malformed{p, "a bracket closes another kind of bracket"};
        is_list >>= 1;
        return --level == 0;
    }
};

// From a place outside of strings on, one structural character after the other.
const char *close(const char *p, const char *end, Nesting &nesting)
{
    for (;; p++) {
        p = structure(p);
        if (p >= end)
            return nullptr;
        if (*p == '"') {
            p = string_end(p + 1);
            if (p >= end)
                return nullptr;
        } else if (nesting.take(p)) {
            return p + 1;
        }
    }
}

#if defined(__SSE2__)

// Which of 64 characters are quotes, backslashes and brackets of any kind.
struct Block {
    uint64_t quotes = 0, escapes = 0, brackets = 0;

    explicit Block(const char *p)
    {
        for (unsigned part = 0; part < 64; part += 16) {
            const __m128i text = load(p + part), folded = _mm_or_si128(text, _mm_set1_epi8(0x20));
            const auto mask = [part](__m128i found) {
                return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(found))) << part;
            };
            quotes |= mask(_mm_cmpeq_epi8(text, _mm_set1_epi8('"')));
            escapes |= mask(_mm_cmpeq_epi8(text, _mm_set1_epi8('\\')));
            brackets |= mask(
                _mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')), _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))));
        }
    }
};

// Each bit: whether the number of bits up to it is odd.
uint64_t parity(uint64_t bits)
{
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

#endif

} // namespace

const char *container_end(const char *p, const char *end)
{
    Nesting nesting;
#if defined(__SSE2__)
    // behind the text stand as many bytes as a block has, so a block that begins in it can be looked at
    for (uint64_t open = 0; p < end; p += 64) { // open: all bits where the block begins inside a string
        const Block block(p);
        if (block.escapes) {
            if (open) {
                p = string_end(p);
                if (p >= end)
                    return nullptr;
                p++;
            }
            return close(p, end, nesting);
        }
        const uint64_t inside = parity(block.quotes) ^ open;
        for (uint64_t left = block.brackets & ~inside; left; left &= left - 1) {
            const char *at = p + __builtin_ctzll(left);
            if (at >= end)
                return nullptr;
            if (nesting.take(at))
                return at + 1;
        }
        open = inside >> 63 ? ~uint64_t{0} : 0;
    }
    return nullptr;
#else
    return close(p, end, nesting);
#endif
}

// A mantissa of 18 digits and its exponent, for what is not written plainly; times 10 to the given power.
static bool scientific(const char *&p, int64_t &value, int exponent)
{
    const bool negative = *p == '-';
    p += negative;
    uint64_t mantissa = 0;
    int digits = 0;
    const char *first = p;
    for (bool in_fraction = false;; p++) {
        if (*p == '.' && !in_fraction) {
            in_fraction = true;
            continue;
        }
        if (!is_digit(*p))
            break;
        if (digits < 18) {
            mantissa = mantissa * 10 + static_cast<uint64_t>(*p - '0');
            digits += mantissa != 0;
            exponent -= in_fraction;
        } else {
            exponent += !in_fraction;
        }
    }
    if (p == first)
        return false;
    if ((*p | 0x20) == 'e') {
        const bool below = p[1] == '-';
        p += 1 + (p[1] == '-' || p[1] == '+');
        int power = 0;
        for (; is_digit(*p); p++)
            power = power < 10000 ? power * 10 + (*p - '0') : power;
        exponent += below ? -power : power;
    }
    for (; exponent > 0 && mantissa; exponent--) {
        if (mantissa > static_cast<uint64_t>(INT64_MAX) / 10)
            return false;
        mantissa *= 10;
    }
    for (; exponent < -1 && mantissa; exponent++)
        mantissa /= 10;
    if (exponent == -1)
        mantissa = (mantissa + 5) / 10;
    if (mantissa > static_cast<uint64_t>(INT64_MAX))
        return false;
    value = negative ? -static_cast<int64_t>(mantissa) : static_cast<int64_t>(mantissa);
    return true;
}

// Eight characters, the first in the lowest byte.
static uint64_t eight(const char *p)
{
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static bool are_digits(uint64_t word)
{
    constexpr uint64_t HIGH = 0xf0f0f0f0f0f0f0f0, SIXES = 0x0606060606060606, THREES = 0x3333333333333333;
    return ((word & HIGH) | ((word + SIXES) & HIGH) >> 4) == THREES;
}

// Of eight digits: pairs first, then fours, then all.
static uint64_t value_of(uint64_t word)
{
    word = (word & 0x0f0f0f0f0f0f0f0f) * (10 << 8 | 1) >> 8;
    word = (word & 0x00ff00ff00ff00ff) * (100 << 16 | 1) >> 16;
    return (word & 0x0000ffff0000ffff) * (UINT64_C(10000) << 32 | 1) >> 32;
}

bool thousandths(const char *&p, int64_t &value)
{
    const char *start = p;
    const bool negative = *p == '-';
    p += negative;
    const char *first = p;
    uint64_t number = 0;
    if (const uint64_t word = eight(p); are_digits(word)) {
        number = value_of(word);
        p += 8;
    }
    for (; is_digit(*p); p++)
        number = number * 10 + static_cast<uint64_t>(*p - '0');
    const auto whole = p - first;
    int fraction = 0;
    if (*p == '.') {
        p++;
        for (; is_digit(*p); p++, fraction++)
            number = number * 10 + static_cast<uint64_t>(*p - '0');
    }
    static constexpr uint64_t scale[] = {1000, 100, 10, 1};
    if (whole == 0 || whole > 16 || fraction > 3 || (*p | 0x20) == 'e') {
        p = start;
        return scientific(p, value, 3);
    }
    if (number > static_cast<uint64_t>(INT64_MAX) / scale[fraction])
        return false;
    number *= scale[fraction];
    value = negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
    return true;
}

bool nearest_whole(const char *&p, int64_t &value)
{
    return scientific(p, value, 0);
}

bool whole_number(const char *p, const char *end, int64_t &value)
{
    if (p < end && *p == '"') {
        p++;
        end--;
    }
    const bool negative = p < end && *p == '-';
    p += negative;
    const char *first = p;
    uint64_t number = 0;
    for (; p < end && is_digit(*p) && p - first < 19; p++)
        number = number * 10 + static_cast<uint64_t>(*p - '0');
    if (p == first || number > static_cast<uint64_t>(INT64_MAX))
        return false;
    if (p < end && *p == '.')
        for (p++; p < end && *p == '0';)
            p++;
    value = negative ? -static_cast<int64_t>(number) : static_cast<int64_t>(number);
    return p == end;
}

static bool hexadecimal(const char *p, const char *end, uint32_t &code)
{
    if (end - p < 4)
        return false;
    code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i], lower = static_cast<char>(c | 0x20);
        if (is_digit(c))
            code = code << 4 | static_cast<uint32_t>(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            code = code << 4 | static_cast<uint32_t>(lower - 'a' + 10);
        else
            return false;
    }
    return true;
}

static void append_utf8(uint32_t code, std::string &out)
{
    const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | code >> 6);
        put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put(0xe0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3f));
        put(0x80 | (code >> 6 & 0x3f));
        put(0x80 | (code & 0x3f));
    }
}

// One \uXXXX, or two that are one character; p is behind the u.
static const char *unicode(const char *p, const char *end, std::string &out)
{
    uint32_t code, low;
    if (!hexadecimal(p, end, code)) {
        append_utf8(0xfffd, out);
        return p;
    }
    p += 4;
    if (code >= 0xd800 && code < 0xe000) {
        const bool paired = code < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
                            hexadecimal(p + 2, end, low) && low >= 0xdc00 && low < 0xe000;
        if (paired) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        } else {
            code = 0xfffd;
        }
    }
    append_utf8(code, out);
    return p;
}

void unescape(const char *p, const char *end, std::string &out)
{
    while (p < end) {
        if (*p != '\\' || p + 1 == end) {
            out.push_back(*p++);
            continue;
        }
        const char kind = p[1];
        p += 2;
        switch (kind) {
        case 'b':
            out.push_back('\b');
            break;
        case 'f':
            out.push_back('\f');
            break;
        case 'n':
            out.push_back('\n');
            break;
        case 'r':
            out.push_back('\r');
            break;
        case 't':
            out.push_back('\t');
            break;
        case 'u':
            p = unicode(p, end, out);
            break;
        default:
            out.push_back(kind);
        }
    }
}

} // namespace perfscope::json
