// What the text of an instruction of XLA tells: profiles of TPUs call their events by it.
#pragma once

#include <cstdint>
#include <string_view>

namespace perfscope {

constexpr uint64_t MOST_DEVICES = UINT64_C(1) << 20;

// How many devices a collective is among, at least, by the text of its instruction in XLA: {{0,1},{2,3}} names them,
// [2,4]<=[8] are two groups of four. 0 where it does not say so.
uint64_t devices_among(std::string_view instruction);

// From where to where a copy goes, by the text of its instruction in XLA; empty for what is none. What a type of it says
// of its memory stands behind its layout: S(5) is the host's (kHostMemorySpace, xla/layout.h), any other the device's. A
// copy that runs beside others is begun by `(to, from, context) copy-start(...)`, and waited for by
// `copy-done((to, from, context) ...)`.
std::string_view way_of_copy(std::string_view instruction);

} // namespace perfscope
