// The words by which PyTorch's profiler tells what an event is.
#pragma once

#include "json_text.h"

#include <cstdint>
#include <string_view>

namespace perfscope {

enum class Category {
    NONE,
    OPERATOR,
    ANNOTATION,
    PYTHON,
    CALL, // of a communication library, as perfscope exports it
    BACKGROUND_CALL,
    RUNTIME,
    KERNEL,
    MEMCPY,
    MEMSET,
    MTIA,
    SPAN,
    OTHER,  // of Kineto, and not used
    FOREIGN // of another tool
};

// Of the text of `cat`.
Category category_of(std::string_view text);

// What the name of an event says of it.
enum Trait : uint8_t {
    TRAIT_COMMUNICATION = 1, // a kernel of a communication library
    TRAIT_NOTEWORTHY = 2,    // kept although it is an operator
    TRAIT_BACKWARD = 4,
    TRAIT_COPY = 8, // where copies are not told by a category
};
uint8_t traits_of(std::string_view text);

// Whether a process is a device, by its name: "/device:TPU:0 ...".
bool names_device(std::string_view process);
// The number at the end of such a name, which words in parentheses may follow; else the other.
int32_t device_number(std::string_view process, int32_t otherwise);

// Of a tensor's type as NCCL's arguments name it, 0 unknown.
int64_t bytes_of_type(std::string_view type);

// Members of an event as they stand in the text, with their quotes.
inline std::string_view unquoted(std::string_view value)
{
    return value.size() >= 2 && value[0] == '"' ? value.substr(1, value.size() - 2) : value;
}

inline int64_t whole(std::string_view value, int64_t otherwise)
{
    int64_t number;
    return json::whole_number(value.data(), value.data() + value.size(), number) ? number : otherwise;
}

inline int32_t small(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX ? static_cast<int32_t>(value) : -1;
}

} // namespace perfscope
