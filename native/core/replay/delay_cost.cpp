#include "replay/delay_cost.h"

#include "parallel.h"
#include "replay/costing.h"

#include <algorithm>
#include <memory>

namespace perfscope {

namespace {

constexpr size_t MOST_PARTS = 64; // of the program, each with sums of its own
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

// One thread's hands: explains the waits of segments.
class Explainer {
public:
    // Of the whole run, whose arrivals all threads have in common.
    Explainer(const DelayRun &run, Arrivals &arrivals) : run_(run)
    {
        sweep_.emplace(*run.program, run.costs, arrivals);
        costing_.emplace(run, arrivals);
    }
    // Window by window.
    Explainer(const DelayRun &run, const Tape &tape) : run_(run), tape_(&tape) { window_.emplace(run, tape); }

    void explain(size_t segment, std::vector<DelaySums> &sums)
    {
        const bool is_last = segment + 1 == run_.program->segments();
        order_.clear();
        if (window_) {
            enter(tape_->window_of(segment));
            tape_->words(segment).for_each([this](uint32_t one, const uint32_t *, uint32_t) {
                order_.push_back(one & Tape::PLACE);
            });
            costing_->explain(segment - window_->first(), is_last, order_, sums);
        } else {
            sweep_->segment(segment, &order_);
            costing_->explain(segment, is_last, order_, sums);
        }
    }

private:
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
};

// All segments of a run, cut into parts for the threads.
class Parts {
public:
    Parts(const DelayRun &run, unsigned threads) : run_(run), threads_(threads)
    {
        // rows of few ranks lie together anyway, and hubs are told of whole runs
        if (run.program->ranks() >= MANY_RANKS && run.program->hub_count() == 0)
            tape_ = run.program->tape();
        if (!tape_)
            arrivals_.emplace(*run.program);
    }

    // What the waits of the segments [first, behind) cost, by each kind of tags.
    std::vector<DelayCost> between(size_t first, size_t behind)
    {
        const size_t segments = behind - first, count = std::max<size_t>(std::min(segments, MOST_PARTS), 1);
        const auto begin_of = [&](size_t part) { return first + segments * part / count; };
        const size_t rows = run_.program->rows() / std::max<size_t>(run_.program->segments(), 1) * (segments / count + 1);
        std::vector<std::vector<Found>> found(count);
        const auto explain = [&](Explainer &explainer, size_t part) {
            std::vector<DelaySums> own;
            for (const Tags &tags : run_.tags)
                own.emplace_back(run_.program->ranks(), rows, tags);
            for (size_t segment = begin_of(part + 1); segment-- > begin_of(part);)
                explainer.explain(segment, own);
            for (DelaySums &sums : own)
                found[part].push_back({std::move(sums.sum), sums.pairs.sorted()});
        };
        // parts of one window are one thread's
        std::vector<size_t> edges{0};
        for (size_t part = 1; part < count; part++)
            if (!tape_ || tape_->window_of(begin_of(part)) != tape_->window_of(begin_of(part - 1)))
                edges.push_back(part);
        edges.push_back(count);
        parallel_for(edges.size() - 1, threads_, [&](size_t batch) {
            explainers_.with([&] { return made(); },
                             [&](Explainer &explainer) {
                                 for (size_t part = edges[batch]; part < edges[batch + 1]; part++)
                                     explain(explainer, part);
                             });
        });
        std::vector<DelayCost> costs;
        for (size_t kind = 0; kind < run_.tags.size(); kind++)
            costs.push_back(together(found, kind));
        return costs;
    }

private:
    struct Found {
        DelayCost cost;
        std::vector<std::pair<uint64_t, double>> pairs;
    };

    std::unique_ptr<Explainer> made()
    {
        return tape_ ? std::make_unique<Explainer>(run_, *tape_) : std::make_unique<Explainer>(run_, *arrivals_);
    }

    DelayCost together(std::vector<std::vector<Found>> &parts, size_t kind) const
    {
        const size_t ranks = run_.program->ranks();
        DelayCost cost = std::move(parts[0][kind].cost);
        PairSums pairs(run_.tags[kind].tells_pairs ? ranks : 0, run_.program->rows());
        for (size_t part = 0; part < parts.size(); part++) {
            for (const auto &[pair, ns] : parts[part][kind].pairs)
                pairs.add(pair, ns);
            if (part == 0)
                continue;
            const DelayCost &own = parts[part][kind].cost;
            add(cost.direct, own.direct);
            add(cost.indirect, own.indirect);
            append(cost.charges, own.charges);
            cost.unattributed += own.unattributed;
            cost.waiting += own.waiting;
        }
        for (const auto &[pair, ns] : pairs.sorted()) {
            cost.waiter.push_back(static_cast<int64_t>(pair / ranks));
            cost.cause.push_back(static_cast<int64_t>(pair % ranks));
            cost.ns.push_back(ns);
        }
        return cost;
    }

    const DelayRun &run_;
    const unsigned threads_;
    std::shared_ptr<const Tape> tape_;
    std::optional<Arrivals> arrivals_;
    SharedHands<Explainer> explainers_;
};

} // namespace

std::vector<DelayCost> delay_cost(const ReplayProgram &program, const Costs &costs, const Pieces &pieces,
                                  const Waiting &waiting, const std::vector<Tags> &tags, unsigned threads)
{
    std::vector<DelayCost> found;
    delay_costs(program, costs, pieces, waiting, tags, {0, program.segments()}, threads,
                [&](std::vector<DelayCost> &&whole) { found = std::move(whole); });
    return found;
}

void delay_costs(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting,
                 const std::vector<Tags> &tags, const std::vector<size_t> &edges, unsigned threads,
                 const std::function<void(std::vector<DelayCost> &&)> &take)
{
    const auto is_empty = [](const Tags &one) { return one.count == 0; };
    if (pieces.starts.size != program.rows() + 1 || waiting.at_end.size() != program.ranks() ||
        std::any_of(tags.begin(), tags.end(), is_empty))
        throw ReplayError("the pieces of work do not fit the rows");
    if (!std::is_sorted(edges.begin(), edges.end()) || (!edges.empty() && edges.back() > program.segments()))
        throw ReplayError("the parts of the run do not fit its segments");
    const DelayRun run{&program, costs, pieces, waiting, tags};
    Parts parts(run, threads);
    for (size_t part = 1; part < edges.size(); part++)
        take(parts.between(edges[part - 1], edges[part]));
}

} // namespace perfscope
