// The chain of work and transfer that decides how long a program takes.
#pragma once

#include "replay/sweep.h"

namespace perfscope {

// Rows whose transfer, and rows whose work in front of them, lies on the path; latest first. Their times add up to
// the length of the program.
struct CriticalPath {
    std::vector<int64_t> transfer_rows;
    std::vector<int64_t> work_rows;
};

CriticalPath critical_path(const ReplayProgram &program, const Costs &costs, unsigned threads);

} // namespace perfscope
