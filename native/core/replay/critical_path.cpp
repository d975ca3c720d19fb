#include "replay/critical_path.h"

namespace perfscope {

CriticalPath critical_path(const ReplayProgram &program, const Times &times)
{
    int64_t row = program.cut_row(program.segments(), 0);
    for (size_t rank = 1; rank < program.ranks(); rank++) {
        const int64_t end = program.cut_row(program.segments(), rank);
        if (times.arrival[end] > times.arrival[row])
            row = end;
    }
    CriticalPath path;
    path.work_rows.push_back(row);
    // each step goes back in time along one rank or to the cause, which the order puts earlier
    for (row--; row != program.first_row(program.rank_of(row)); row--) {
        path.transfer_rows.push_back(row);
        if (times.cause[row] >= 0)
            row = times.cause[row];
        path.work_rows.push_back(row);
    }
    return path;
}

} // namespace perfscope
