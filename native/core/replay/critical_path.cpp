#include "replay/critical_path.h"

#include "replay/times.h"

namespace perfscope {

CriticalPath critical_path(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    Arrivals arrivals(program);
    replay_arrivals(program, costs, arrivals, threads);
    CriticalPath path;
    int64_t row = arrivals.last_at_end(program.segments() - 1).row;
    path.work_rows.push_back(row);
    // each step goes back in time along one rank or to the cause, which lies no later
    for (row--; row != program.first_row(program.rank_of(row)); row--) {
        path.transfer_rows.push_back(row);
        const int64_t segment = program.segment_of(row);
        if (program.segment_of(row + 1) == segment) {
            row = arrivals.need(row).row;
        } else {
            const Latest last = arrivals.last_at_end(static_cast<size_t>(segment));
            row = arrivals[row] < last.time ? last.row : row;
        }
        path.work_rows.push_back(row);
    }
    return path;
}

} // namespace perfscope
