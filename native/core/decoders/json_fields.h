// Members of JSON records, as the readers in Python take them: whole numbers and amounts that can be true, and texts.
#pragma once

#include "json_text.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace perfscope::json {

constexpr int64_t MOST_AMOUNT = INT64_C(1) << 60; // counts and ids above this are damage

// Whether the value is an object; its members can be visited.
inline bool is_object(std::string_view value) { return !value.empty() && value[0] == '{'; }

// A whole number written as one, neither below 0 nor beyond what can be true.
inline bool whole_amount(std::string_view value, int64_t &number)
{
    if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos)
        return false;
    return whole_number(value.data(), value.data() + value.size(), number) && number < MOST_AMOUNT;
}

// The same of any number.
inline bool amount(std::string_view value, double &number)
{
    if (value.empty() || value.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
        return false;
    const std::string text(value);
    char *behind = nullptr;
    number = std::strtod(text.c_str(), &behind);
    return *behind == '\0' && number >= 0 && number < static_cast<double>(MOST_AMOUNT);
}

// The text of a value, at most some characters of it; "" of anything else.
inline std::string text(std::string_view value, size_t most_characters)
{
    std::string found;
    if (value.size() < 2 || value[0] != '"')
        return found;
    unescape(value.data() + 1, value.data() + value.size() - 1, found);
    size_t end = 0;
    for (size_t characters = 0; end < found.size(); end++) {
        characters += (found[end] & 0xc0) != 0x80;
        if (characters > most_characters)
            break;
    }
    found.resize(end);
    return found;
}

} // namespace perfscope::json
