// Replays one segment after the other: each rank runs until it needs who has not come yet, who runs first then. The
// order that this gives is the same whatever anything takes: once the program keeps it, rows are taken in that order.
#pragma once

#include "replay/tape.h"

#include <limits>

namespace perfscope {

// Nanoseconds before each row, and of each row between need and exit.
struct Costs {
    const double *gap;
    const double *transfer;
};

struct Latest {
    double time;
    int64_t row;

    void meet(double other_time, int64_t other_row)
    {
        if (other_time > time) {
            time = other_time;
            row = other_row;
        }
    }
};

// What a replay knows of all rows and hubs; segments touch parts of their own. Times are relative to the last
// arrival at the segment's first cut.
class Arrivals {
public:
    explicit Arrivals(const ReplayProgram &program);
    // In the room of what stands before each row, which is read before the row is arrived at.
    Arrivals(const ReplayProgram &program, std::vector<double> &&gaps);

    // Notes when the rows of a window are arrived at, which needs no hubs.
    void note(const Window &window, const double *times) { window.give(times, time_.data()); }

    // The latest arrival that a row inside its segment needs, its own included, once the segment has been replayed.
    Latest need(int64_t row) const;
    // The last of all ranks to come to the end of a segment; of several the first.
    Latest last_at_end(size_t segment) const;
    double operator[](int64_t row) const { return time_[row]; }
    const double *data() const { return time_.data(); }

private:
    friend class Sweep;
    struct Hub {
        Latest latest{-std::numeric_limits<double>::infinity(), -1};
        int64_t seen = 0; // members that have come, or lie in front of the segment
        bool is_complete = false;
    };

    const ReplayProgram &program_;
    std::vector<double> time_;
    std::vector<Hub> hubs_;
};

// One thread's hands: replays segments into the arrivals.
class Sweep {
public:
    Sweep(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals);

    // Returns the segment's length. Where `order` is given, its rows are appended in an order in which each follows
    // all that it depends on. Throws ReplayError where ranks wait for each other in a circle.
    double segment(size_t segment, std::vector<int64_t> *order = nullptr);

private:
    struct Runner {
        int64_t next;  // row that it has not come to yet
        int64_t until; // how far it is wanted to run
        int64_t need;  // place in the needs of the row before `next`: those in front of it have come
        double latest; // their latest arrival
        int64_t hub;   // behind `need` a chain of hubs: how far down it was followed, -1 not begun
        bool is_running;
    };

    void in_order(size_t segment, std::vector<int64_t> *order);
    void enter(size_t window);
    double last_need(int64_t row, double latest);
    void settle(int64_t hub);
    void run(uint32_t rank, int64_t until, std::vector<int64_t> *order);
    int64_t advance(Runner &runner, std::vector<int64_t> *order);
    int64_t first_missing(Runner &runner, int64_t hub);
    int64_t first_missing_member(int64_t hub);
    void complete(int64_t hub);
    void start(uint32_t rank, int64_t until);

    const ReplayProgram &program_;
    const Costs &costs_;
    Arrivals &arrivals_;
    const std::shared_ptr<const Tape> tape_;
    size_t entered_ = SIZE_MAX;  // window of the tape
    std::vector<int64_t> rows_;  // of that window, by place
    std::vector<Runner> runners_;
    std::vector<uint32_t> waiting_; // ranks that run, each for the one before it
    int64_t segment_ = 0;
};

} // namespace perfscope
