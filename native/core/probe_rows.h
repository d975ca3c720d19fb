// Random rows of a program by time, by collective and by key, for the sanitizers.
#pragma once

namespace perfscope {

// Asks of so many random runs what is known of every one; throws ReplayError where it does not hold.
void probe_random_rows(unsigned count);

} // namespace perfscope
