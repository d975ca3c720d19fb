// Who meets whom in one segment of a program, looked up from both sides.
#pragma once

#include "replay/program.h"

#include <utility>

namespace perfscope {

class SegmentLinks {
public:
    explicit SegmentLinks(const ReplayProgram &program) : program_(program), base_(program.ranks() + 1) {}

    // Numbers the rows of a segment.
    void enter(size_t segment);
    // Looks up who meets whom in it, which `partner_on` asks.
    void link();

    // Rows of the segment by number: its opening cut first on each rank.
    size_t rows() const { return static_cast<size_t>(base_.back()); }
    size_t number(int64_t row) const
    {
        const uint32_t rank = program_.rank_of(row);
        return static_cast<size_t>(base_[rank] + row - program_.cut_row(segment_, rank));
    }
    // The row of another rank that met this one, -1 none.
    int64_t partner_on(int64_t row, uint32_t other) const;

private:
    using Pairs = std::vector<std::pair<int64_t, int64_t>>;
    // Values by key.
    struct Table {
        std::vector<int64_t> starts, values, next;

        void fill(size_t keys, const Pairs &pairs);
        const int64_t *begin_of(size_t key) const { return values.data() + starts[key]; }
        const int64_t *end_of(size_t key) const { return values.data() + starts[key + 1]; }
    };

    bool is_here(int64_t need) const;
    void find_hubs();
    int64_t on_rank(const int64_t *begin, const int64_t *end, uint32_t rank) const;

    const ReplayProgram &program_;
    size_t segment_ = 0;
    std::vector<int64_t> base_; // number of the first row of each rank
    bool is_plain_ = true;      // nobody needs anybody but at cuts
    bool has_hubs_ = false;     // some row needs one
    Pairs row_users_;           // numbers of rows that are needed, and by which row
    Pairs hub_users_;           // hubs that are needed, and by which row
    Pairs pairs_;               // what a table is filled with
    std::vector<int64_t> hubs_; // that rows need, in order
    Table needed_by_;           // row number -> rows that need its arrival
    Table hubs_of_;             // row number -> places in `hubs_` of those that it is a member of
    Table waiting_for_;         // place in `hubs_` -> rows that need the hub
};

} // namespace perfscope
