// Random programs replayed on several threads, for the sanitizers.
#pragma once

#include "replay/program.h"

namespace perfscope {

// Replays so many programs; throws ReplayError where what is known of every program does not hold.
void replay_random_programs(unsigned count);

} // namespace perfscope
