#include "replay/delay_cost.h"

#include "parallel.h"
#include "replay/costing.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

namespace perfscope {

namespace {

constexpr size_t MANY_STRETCHES = 64; // of the run, each with sums of its own, if it need not have more
constexpr size_t MANY_RANKS = 64; // whose rows lie too far apart to be looked at in turn

void add(std::vector<double> &to, const std::vector<double> &from)
{
    for (size_t i = 0; i < to.size(); i++)
        to[i] += from[i];
}

void append(Charges &to, const Charges &from)
{
    to.unit.insert(to.unit.end(), from.unit.begin(), from.unit.end());
    to.rank.insert(to.rank.end(), from.rank.begin(), from.rank.end());
    to.tag.insert(to.tag.end(), from.tag.begin(), from.tag.end());
    to.ns.insert(to.ns.end(), from.ns.begin(), from.ns.end());
}

void add(DelayCost &to, const DelayCost &from)
{
    add(to.direct, from.direct);
    add(to.indirect, from.indirect);
    append(to.charges, from.charges);
    to.unattributed += from.unattributed;
    to.waiting += from.waiting;
}

DelayCost nothing(size_t ranks, const Tags &tags)
{
    DelayCost cost;
    if (!tags.units) {
        cost.direct.assign(ranks * tags.count, 0.0);
        cost.indirect.assign(ranks * tags.count, 0.0);
    }
    return cost;
}

// One thread's hands: explains the waits of segments.
class Explainer {
public:
    // Of the whole run, whose arrivals all threads have in common.
    Explainer(const DelayRun &run, std::vector<PairSums> &pairs, Arrivals &arrivals) : Explainer(run, pairs)
    {
        sweep_.emplace(*run.program, run.costs, arrivals);
        costing_.emplace(run, arrivals);
    }
    // Window by window.
    Explainer(const DelayRun &run, std::vector<PairSums> &pairs, const Tape &tape) : Explainer(run, pairs)
    {
        tape_ = &tape;
        window_.emplace(run, tape);
    }

    void explain(size_t segment, std::vector<DelayCost> &sums)
    {
        const bool is_last = segment + 1 == run_.program->segments();
        order_.clear();
        if (window_) {
            enter(tape_->window_of(segment));
            tape_->words(segment).for_each([this](uint32_t one, const uint32_t *, uint32_t) {
                order_.push_back(one & Tape::PLACE);
            });
            costing_->explain(segment - window_->first(), is_last, order_, sums, pairs_);
        } else {
            sweep_->segment(segment, &order_);
            costing_->explain(segment, is_last, order_, sums, pairs_);
        }
    }

    const PairSums::Own &pairs(size_t kind) const { return pairs_[kind]; }

private:
    Explainer(const DelayRun &run, std::vector<PairSums> &pairs) : run_(run), pairs_(pairs.begin(), pairs.end()) {}

    void enter(size_t number)
    {
        if (number == entered_)
            return;
        entered_ = number;
        costing_.reset();
        window_->enter(number);
        arrivals_.emplace(window_->arrivals());
        costing_.emplace(window_->run(), *arrivals_);
    }

    const DelayRun &run_;
    const Tape *tape_ = nullptr;
    size_t entered_ = SIZE_MAX;
    std::optional<DelayWindow> window_;
    std::optional<Arrivals> arrivals_;
    std::optional<Sweep> sweep_;
    std::optional<Costing> costing_;
    std::vector<int64_t> order_;
    std::vector<PairSums::Own> pairs_; // of each kind of tags
};

// Some segments of one part of the run, one after the other.
struct Stretch {
    size_t first, behind;
    bool ends_part;
};

std::vector<Stretch> stretches_of(const std::vector<size_t> &edges)
{
    std::vector<Stretch> found;
    for (size_t part = 1; part < edges.size(); part++) {
        const size_t first = edges[part - 1], segments = edges[part] - first;
        const size_t count = std::clamp<size_t>(segments * MANY_STRETCHES / std::max<size_t>(edges.back(), 1), 1, MANY_STRETCHES);
        for (size_t i = 0; i < count; i++)
            found.push_back({first + segments * i / count, first + segments * (i + 1) / count, i + 1 == count});
    }
    return found;
}

// What stretches cost by one kind of tags. It is added up in the order of the stretches, in whatever order they come.
class Total {
public:
    Total(size_t ranks, const Tags &tags, size_t stretches)
        : whole_(nothing(ranks, tags)), part_(nothing(ranks, tags)), waiting_(stretches)
    {
    }

    void take(const std::vector<Stretch> &stretches, size_t number, DelayCost &&cost)
    {
        const std::lock_guard<std::mutex> hold(lock_);
        for (waiting_[number] = std::move(cost); next_ < waiting_.size() && waiting_[next_]; next_++) {
            add(part_, *waiting_[next_]);
            waiting_[next_].reset();
            if (stretches[next_].ends_part)
                end_part();
        }
    }

    DelayCost &whole() { return whole_; }

private:
    void end_part()
    {
        add(whole_, part_);
        if (!part_.direct.empty())
            tell(part_, whole_.parts);
        std::fill(part_.direct.begin(), part_.direct.end(), 0.0);
        std::fill(part_.indirect.begin(), part_.indirect.end(), 0.0);
        part_.charges = {};
        part_.unattributed = part_.waiting = 0.0;
    }

    static void tell(const DelayCost &part, CostOfParts &told)
    {
        long double direct = 0.0, indirect = 0.0; // of many small parts, rounded once
        double most = 0.0;
        int64_t largest = -1;
        for (size_t cell = 0; cell < part.direct.size(); cell++) {
            direct += part.direct[cell];
            indirect += part.indirect[cell];
            if (part.direct[cell] + part.indirect[cell] > most) {
                most = part.direct[cell] + part.indirect[cell];
                largest = static_cast<int64_t>(cell);
            }
        }
        told.direct.push_back(static_cast<double>(direct));
        told.indirect.push_back(static_cast<double>(indirect));
        told.cell.push_back(largest);
        told.cell_direct.push_back(largest < 0 ? 0.0 : part.direct[static_cast<size_t>(largest)]);
        told.cell_indirect.push_back(largest < 0 ? 0.0 : part.indirect[static_cast<size_t>(largest)]);
    }

    DelayCost whole_, part_;
    std::vector<std::optional<DelayCost>> waiting_; // for those of stretches before them
    size_t next_ = 0;
    std::mutex lock_;
};

// The waits of all segments of a run, which threads explain stretch by stretch.
class Explanation {
public:
    Explanation(const DelayRun &run, const std::vector<size_t> &edges, unsigned threads)
        : run_(run), threads_(threads), stretches_(stretches_of(edges))
    {
        // rows of few ranks lie together anyway, and hubs are told of whole runs
        if (run.program->ranks() >= MANY_RANKS && run.program->hub_count() == 0)
            tape_ = run.program->tape();
        if (!tape_)
            arrivals_.emplace(*run.program);
        for (const Tags &tags : run.tags) {
            totals_.emplace_back(run.program->ranks(), tags, stretches_.size());
            pairs_.emplace_back(tags.units ? 0 : run.program->ranks(), run.program->rows());
        }
    }

    std::vector<DelayCost> found()
    {
        const std::vector<size_t> batches = batches_of_stretches();
        parallel_for(batches.size() - 1, threads_, [&](size_t batch) {
            explainers_.with([&] { return made(); },
                             [&](Explainer &explainer) {
                                 for (size_t number = batches[batch]; number < batches[batch + 1]; number++)
                                     explain(explainer, number);
                             });
        });
        std::vector<DelayCost> costs;
        for (size_t kind = 0; kind < run_.tags.size(); kind++) {
            costs.push_back(std::move(totals_[kind].whole()));
            tell_pairs(kind, costs.back());
        }
        return costs;
    }

private:
    // Stretches that begin in one window are one thread's.
    std::vector<size_t> batches_of_stretches() const
    {
        std::vector<size_t> batches{0};
        const auto window = [&](size_t number) { return tape_->window_of(stretches_[number].first); };
        for (size_t number = 1; number < stretches_.size(); number++)
            if (!tape_ || window(number) != window(number - 1))
                batches.push_back(number);
        batches.push_back(stretches_.size());
        return batches;
    }

    std::unique_ptr<Explainer> made()
    {
        return tape_ ? std::make_unique<Explainer>(run_, pairs_, *tape_) : std::make_unique<Explainer>(run_, pairs_, *arrivals_);
    }

    void explain(Explainer &explainer, size_t number)
    {
        std::vector<DelayCost> own;
        for (const Tags &tags : run_.tags)
            own.push_back(nothing(run_.program->ranks(), tags));
        for (size_t segment = stretches_[number].behind; segment-- > stretches_[number].first;)
            explainer.explain(segment, own);
        for (size_t kind = 0; kind < own.size(); kind++)
            totals_[kind].take(stretches_, number, std::move(own[kind]));
    }

    void tell_pairs(size_t kind, DelayCost &cost)
    {
        std::vector<const PairSums::Own *> owns;
        explainers_.for_each([&](const Explainer &one) { owns.push_back(&one.pairs(kind)); });
        const size_t ranks = run_.program->ranks();
        for (const auto &[pair, ns] : pairs_[kind].sorted(owns)) {
            cost.waiter.push_back(static_cast<int64_t>(pair / ranks));
            cost.cause.push_back(static_cast<int64_t>(pair % ranks));
            cost.ns.push_back(ns);
        }
    }

    const DelayRun &run_;
    const unsigned threads_;
    const std::vector<Stretch> stretches_;
    std::shared_ptr<const Tape> tape_;
    std::optional<Arrivals> arrivals_;
    std::deque<Total> totals_; // of each kind of tags
    std::vector<PairSums> pairs_;
    SharedHands<Explainer> explainers_;
};

} // namespace

std::vector<DelayCost> delay_cost(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting,
                                  const std::vector<Tags> &tags, const std::vector<size_t> &edges, unsigned threads)
{
    const auto is_empty = [](const Tags &one) { return one.count == 0; };
    if (pieces.starts_size != program.rows() + 1 || waiting.at_end.size() != program.ranks() ||
        std::any_of(tags.begin(), tags.end(), is_empty))
        throw ReplayError("the pieces of work do not fit the rows");
    if (edges.size() < 2 || edges.front() != 0 || edges.back() != program.segments() || !std::is_sorted(edges.begin(), edges.end()))
        throw ReplayError("the parts of the run do not fit its segments");
    const DelayRun run{&program, costs, pieces, waiting, tags};
    return Explanation(run, edges, threads).found();
}

} // namespace perfscope
