// Calls made of any bytes, matched and split, for the sanitizers and the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfscope {

// Throws std::runtime_error where what was matched contradicts itself.
void match_bytes(const uint8_t *bytes, size_t size);

void match_random_calls(unsigned count);

} // namespace perfscope
