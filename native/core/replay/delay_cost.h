// Who made whom wait, and by which work: Scalasca's delay costs (Böhme, Geimer, Wolf: "Characterizing Load and
// Communication Imbalance in Large-Scale Parallel Applications", IPDPS workshops 2012).
#pragma once

#include "reducers/small_codes.h"
#include "replay/sweep.h"

namespace perfscope {

// Work before rows, cut into pieces: those of row r are [starts[r], starts[r + 1]).
struct Pieces {
    AnyInts starts;
    size_t starts_size; // rows + 1
    const double *ns;
};

// One way to tell pieces of work apart.
struct Tags {
    SmallCodes of_piece;            // below `count`
    size_t count;                   // the last one stands for transfer
    const int32_t *units = nullptr; // the unit of time of each row, as a step is one, not below 0: what is charged is told
                                    // by them; null: by rank, with the pairs of ranks and by part of the run
};

// What the waits of a segment are charged to, direct and indirect together: one entry a segment, unit, rank and tag, in
// an order that is the same each time. The unit is that of the row at which the rank came late. A long run has many.
struct Charges {
    std::vector<int64_t> unit, rank, tag;
    std::vector<double> ns;
};

// Of each part of the run what its waits cost, and the cell (rank, tag) that costs most, -1 none.
struct CostOfParts {
    std::vector<double> direct, indirect;
    std::vector<int64_t> cell;
    std::vector<double> cell_direct, cell_indirect;
};

struct DelayCost {
    double unattributed = 0.0;
    double waiting = 0.0; // direct + indirect + unattributed
    // told without units
    std::vector<double> direct;   // (rank, tag): makes others wait at once ("short-term")
    std::vector<double> indirect; // (rank, tag): makes others wait through a third ("long-term")
    std::vector<int64_t> waiter, cause; // who waited for whom: one entry a pair
    std::vector<double> ns;
    CostOfParts parts;
    // told with them
    Charges charges;
};

struct Waiting {
    std::vector<uint8_t> at_end; // ranks that wait at the end of the program for the last one
    const double *measured;      // how long each row waited, null: as the replay has it; who waits for nobody is not charged
};

// Waits are explained by what happened since the ranks met last, and all meet at cuts: so the segments are taken one by
// one, on at most `threads` threads, and the result does not depend on their number. A wait is explained once, whatever
// kinds of tags it is charged by; of each there is a cost. The parts of the run are the segments [edges[i], edges[i + 1]),
// from the first segment to the last one.
std::vector<DelayCost> delay_cost(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting,
                                  const std::vector<Tags> &tags, const std::vector<size_t> &edges, unsigned threads);

} // namespace perfscope
