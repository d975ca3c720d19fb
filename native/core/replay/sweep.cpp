#include "replay/sweep.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace perfscope {

Arrivals::Arrivals(const ReplayProgram &program)
    : program_(program), time_(program.rows()), hubs_(program.hub_count())
{
}

Arrivals::Arrivals(const ReplayProgram &program, std::vector<double> &&gaps)
    : program_(program), time_(std::move(gaps)), hubs_(program.hub_count())
{
}

Latest Arrivals::need(int64_t row) const
{
    Latest latest{time_[row], row};
    const int64_t segment = program_.segment_of(row);
    const SmallLists &needs = program_.needs();
    for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need)
        if (*need >= 0) {
            if (program_.segment_of(*need) == segment)
                latest.meet(time_[*need], *need);
        } else if (program_.segment_of_hub(~*need) == segment) {
            latest.meet(hubs_[~*need].latest.time, hubs_[~*need].latest.row);
        }
    return latest;
}

Latest Arrivals::last_at_end(size_t segment) const
{
    const int64_t first = program_.cut_row(segment + 1, 0);
    Latest last{time_[first], first};
    for (size_t rank = 1; rank < program_.ranks(); rank++) {
        const int64_t row = program_.cut_row(segment + 1, rank);
        last.meet(time_[row], row);
    }
    return last;
}

Sweep::Sweep(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals)
    : program_(program), costs_(costs), arrivals_(arrivals), tape_(program.tape()), runners_(tape_ ? 0 : program.ranks())
{
}

void Sweep::enter(size_t number)
{
    if (number == entered_)
        return;
    entered_ = number;
    Window window(program_);
    tape_->enter(window, number);
    rows_.resize(window.rows());
    window.for_ranks([this](size_t place, int64_t row, size_t count) {
        std::iota(rows_.data() + place, rows_.data() + place + count, row);
    });
}

void Sweep::in_order(size_t segment, std::vector<int64_t> *order)
{
    enter(tape_->window_of(segment));
    double *const time = arrivals_.time_.data();
    tape_->words(segment).for_each([&](uint32_t one, const uint32_t *, uint32_t needs) {
        if (one & Tape::IS_HUB) // settled by the first who needs it
            return;
        const int64_t row = rows_[one & Tape::PLACE];
        double latest = one & Tape::IS_FIRST ? 0.0 : time[row - 1];
        if (needs)
            latest = last_need(row - 1, latest);
        latest += costs_.transfer[row - 1];
        latest += costs_.gap[row];
        time[row] = latest;
        if (order)
            order->push_back(row);
    });
}

double Sweep::segment(size_t segment, std::vector<int64_t> *order)
{
    segment_ = static_cast<int64_t>(segment);
    if (tape_) {
        in_order(segment, order);
        return arrivals_.last_at_end(segment).time;
    }
    for (size_t rank = 0; rank < program_.ranks(); rank++) {
        const int64_t row = program_.cut_row(segment, rank);
        // all of the first cut have come: what it needs lies behind it
        runners_[rank] = {row + 1, row, program_.needs().starts[row + 1], 0.0, -1, false};
    }
    for (size_t rank = 0; rank < program_.ranks(); rank++)
        run(static_cast<uint32_t>(rank), program_.cut_row(segment + 1, rank), order);
    return arrivals_.last_at_end(segment).time;
}

// The last arrival that a row needs inside the segment, where all of them have come.
double Sweep::last_need(int64_t row, double latest)
{
    const SmallLists &needs = program_.needs();
    for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need)
        if (*need >= 0) {
            if (program_.segment_of(*need) == segment_)
                latest = std::max(latest, arrivals_.time_[*need]);
        } else if (program_.segment_of_hub(~*need) == segment_) {
            settle(~*need);
            latest = std::max(latest, arrivals_.hubs_[~*need].latest.time);
        }
    return latest;
}

// Completes a hub, and those before it that count as its own, whose members have all come.
void Sweep::settle(int64_t hub)
{
    const auto is_complete = [&](int64_t one) { return arrivals_.hubs_[one].is_complete; };
    if (is_complete(hub))
        return;
    int64_t first = hub;
    for (int64_t parent = program_.hub_parent(static_cast<size_t>(first));
         parent >= 0 && program_.segment_of_hub(parent) == segment_ && !is_complete(parent);
         parent = program_.hub_parent(static_cast<size_t>(first)))
        first = parent;
    for (; first <= hub; first++) {
        for (auto row = program_.hubs().begin_of(first); row != program_.hubs().end_of(first); ++row)
            if (program_.segment_of(*row) == segment_)
                arrivals_.hubs_[first].latest.meet(arrivals_.time_[*row], *row);
        complete(first);
    }
}

// Runs a rank, and whom it waits for, until it has come to a row.
void Sweep::run(uint32_t rank, int64_t until, std::vector<int64_t> *order)
{
    start(rank, until);
    while (!waiting_.empty()) {
        Runner &runner = runners_[waiting_.back()];
        const int64_t missing = advance(runner, order);
        if (missing < 0) {
            runner.is_running = false;
            waiting_.pop_back();
        } else {
            start(program_.rank_of(missing), missing);
        }
    }
}

void Sweep::start(uint32_t rank, int64_t until)
{
    Runner &runner = runners_[rank];
    // who waits for this very rank cannot be waited for by it
    if (runner.is_running)
        throw ReplayError(DIFFERENT_ORDERS);
    runner.until = until;
    runner.is_running = true;
    waiting_.push_back(rank);
}

// Goes on until the runner is where it is wanted, -1, or a row must have been come to first: that row.
int64_t Sweep::advance(Runner &runner, std::vector<int64_t> *order)
{
    const SmallLists &needs = program_.needs();
    while (runner.next <= runner.until) {
        const int64_t row = runner.next;
        for (const int64_t end = needs.starts[row]; runner.need < end; runner.need++) {
            const int64_t need = needs.values[runner.need];
            if (need < 0) {
                if (program_.segment_of_hub(~need) != segment_)
                    continue;
                if (const int64_t missing = first_missing(runner, ~need); missing >= 0)
                    return missing;
                runner.latest = std::max(runner.latest, arrivals_.hubs_[~need].latest.time);
            } else if (program_.segment_of(need) == segment_) {
                if (runners_[program_.rank_of(need)].next <= need)
                    return need;
                runner.latest = std::max(runner.latest, arrivals_.time_[need]);
            }
        }
        runner.latest += costs_.transfer[row - 1];
        runner.latest += costs_.gap[row];
        arrivals_.time_[row] = runner.latest;
        if (order)
            order->push_back(row);
        runner.next++;
    }
    return -1;
}

// The first row of a hub, or of those before it that count as its own, that has not come; -1 when all have, and the
// hub is complete then. Goes down the chain of hubs once, however often it is interrupted, and up it at the end.
int64_t Sweep::first_missing(Runner &runner, int64_t hub)
{
    if (arrivals_.hubs_[hub].is_complete) {
        runner.hub = -1;
        return -1;
    }
    if (runner.hub < 0)
        runner.hub = hub;
    for (;;) {
        if (const int64_t missing = first_missing_member(runner.hub); missing >= 0)
            return missing;
        const int64_t parent = program_.hub_parent(static_cast<size_t>(runner.hub));
        if (parent < 0 || program_.segment_of_hub(parent) != segment_ || arrivals_.hubs_[parent].is_complete)
            break;
        runner.hub = parent;
    }
    for (; runner.hub <= hub; runner.hub++)
        complete(runner.hub);
    runner.hub = -1;
    return -1;
}

int64_t Sweep::first_missing_member(int64_t hub)
{
    Arrivals::Hub &found = arrivals_.hubs_[hub];
    const int64_t *members = program_.hubs().begin_of(hub);
    const int64_t count = program_.hubs().end_of(hub) - members;
    for (; found.seen < count; found.seen++) {
        const int64_t row = members[found.seen];
        if (program_.segment_of(row) != segment_)
            continue;
        if (runners_[program_.rank_of(row)].next <= row)
            return row;
        found.latest.meet(arrivals_.time_[row], row);
    }
    return -1;
}

void Sweep::complete(int64_t hub)
{
    Arrivals::Hub &found = arrivals_.hubs_[hub];
    const int64_t parent = program_.hub_parent(static_cast<size_t>(hub));
    if (parent >= 0 && program_.segment_of_hub(parent) == segment_ &&
        arrivals_.hubs_[parent].latest.time >= found.latest.time)
        found.latest = arrivals_.hubs_[parent].latest;
    found.is_complete = true;
}

} // namespace perfscope
