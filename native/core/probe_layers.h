// Random calls, phases and samples made into layers and timelines, for the sanitizers.
#pragma once

namespace perfscope {

// Throws std::runtime_error where a timeline is no partition of a life.
void make_random_timelines(unsigned count);

} // namespace perfscope
