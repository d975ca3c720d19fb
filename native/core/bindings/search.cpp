// Places, groups and medians for numpy.
#include "search.h"

#include "arrays.h"
#include "bindings.h"
#include "grouping.h"
#include "reducers/like_rows.h"
#include "small_codes.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <optional>
#include <tuple>

namespace nb = nanobind;

namespace perfscope {

using Moments = Column<int64_t>;

static auto places(const Moments &ordered, const Moments &moments, bool behind_equal)
{
    std::vector<int64_t> found(moments.size());
    {
        const nb::gil_scoped_release unlocked;
        places_of(ordered.data(), ordered.size(), moments.data(), moments.size(), behind_equal, found.data());
    }
    return to_numpy(std::move(found));
}

static nb::tuple grouped_places(const Moments &numbers, size_t count)
{
    if (!are_below(numbers, count))
        throw nb::value_error("there are numbers beyond those that were told");
    Grouped found;
    {
        const nb::gil_scoped_release unlocked;
        found = grouped(numbers.data(), numbers.size(), count);
    }
    return nb::make_tuple(to_numpy(std::move(found.places)), to_numpy(std::move(found.starts)));
}

// None where the numbers lie in more than `most_spread` places for each of them, and some more.
static std::optional<std::tuple<nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>, size_t>> ranked_numbers(const Moments &numbers,
                                                                                                     size_t most_spread)
{
    constexpr size_t SOME = 1000;
    const int64_t *const first = numbers.data(), *const behind = first + numbers.size();
    std::optional<Ranked> found;
    {
        const nb::gil_scoped_release unlocked;
        int64_t least = first == behind ? 0 : *first, most = least;
        for (const int64_t *one = first; one != behind; ++one) {
            least = std::min(least, *one);
            most = std::max(most, *one);
        }
        if (static_cast<uint64_t>(most) - static_cast<uint64_t>(least) <= most_spread * numbers.size() + SOME)
            found = ranked(first, numbers.size(), least, most);
    }
    if (!found)
        return std::nullopt;
    const size_t different = found->different;
    return std::tuple(to_numpy(std::move(found->places)), different);
}

using Marks = Column<uint8_t>;

static void check_segments(const Moments &boundaries, const Marks &chosen)
{
    if (boundaries.size() < 2 || chosen.size() + 1 != boundaries.size())
        throw nb::value_error("the segments do not fit their boundaries");
}

static auto before_boundaries(const Moments &boundaries, const Marks &chosen)
{
    check_segments(boundaries, chosen);
    std::vector<int64_t> before(boundaries.size());
    {
        const nb::gil_scoped_release unlocked;
        time_before(boundaries.data(), boundaries.size(), chosen.data(), before.data());
    }
    return to_numpy(std::move(before));
}

static auto until_moments(const Moments &boundaries, const Marks &chosen, const Moments &before, const Moments &moments)
{
    check_segments(boundaries, chosen);
    if (before.size() != boundaries.size())
        throw nb::value_error("the sums do not fit the boundaries");
    std::vector<int64_t> until(moments.size());
    {
        const nb::gil_scoped_release unlocked;
        time_until(boundaries.data(), boundaries.size(), chosen.data(), before.data(), moments.data(), moments.size(),
                   until.data());
    }
    return to_numpy(std::move(until));
}

// What a table says of each code, in one walk: codes that the table does not have are told by a mark of their own.
static auto of_codes(const Marks &wanted, const Column<uint16_t> &codes)
{
    constexpr uint8_t UNKNOWN = 2;
    std::vector<uint8_t> of(size_t{UINT16_MAX} + 1, UNKNOWN), found(codes.size());
    for (size_t code = 0; code < std::min(wanted.size(), of.size()); code++)
        of[code] = wanted.data()[code] != 0;
    uint8_t every = 0;
    {
        const nb::gil_scoped_release unlocked;
        const uint16_t *const code = codes.data();
        const uint8_t *const table = of.data();
        uint8_t *const marks = found.data();
        const size_t count = codes.size();
        for (size_t row = 0; row < count; row++) {
            const uint8_t mark = table[code[row]];
            marks[row] = mark;
            every |= mark;
        }
    }
    if (every & UNKNOWN)
        throw nb::value_error("there are codes that nothing is said of");
    return to_numpy(std::move(found));
}

using Small = Column<int32_t>;
using Values = Column<double>;

static nb::tuple rows_alike(const Codes &ranks, const Small &units, const Codes &ops, size_t unit_count)
{
    if (units.size() != size_of(ranks) || units.size() != size_of(ops) || !are_below(units, unit_count))
        throw nb::value_error("the units of time do not fit the rows");
    LikeRows found;
    {
        const nb::gil_scoped_release unlocked;
        found = like_rows(codes_of(ranks), units.data(), codes_of(ops), units.size(), unit_count);
    }
    return nb::make_tuple(to_numpy(std::move(found.numbers)), found.count);
}

static nb::tuple medians_by(const Values &values, const Small &numbers, size_t count)
{
    if (values.size() != numbers.size() || !are_below(numbers, count))
        throw nb::value_error("the numbers do not fit the values");
    Medians found;
    {
        const nb::gil_scoped_release unlocked;
        found = medians(values.data(), numbers.data(), values.size(), count);
    }
    return nb::make_tuple(to_numpy(std::move(found.sizes)), to_numpy(std::move(found.values)),
                          to_numpy(std::move(found.deviations)));
}

void bind_search(nb::module_ &module)
{
    module.def("of_codes", &of_codes, nb::arg("wanted"), nb::arg("codes"));
    module.def("grouped", &grouped_places, nb::arg("numbers"), nb::arg("count"));
    module.def("ranked", &ranked_numbers, nb::arg("numbers"), nb::arg("most_spread"));
    module.def("like_rows", &rows_alike, nb::arg("ranks"), nb::arg("units"), nb::arg("ops"), nb::arg("unit_count"));
    module.def("medians", &medians_by, nb::arg("values"), nb::arg("numbers"), nb::arg("count"));
    module.def("time_before", &before_boundaries, nb::arg("boundaries"), nb::arg("chosen"));
    module.def("time_until", &until_moments, nb::arg("boundaries"), nb::arg("chosen"), nb::arg("before"),
               nb::arg("moments"));
    module.def("places", &places, nb::arg("ordered"), nb::arg("moments"), nb::arg("behind_equal"));
}

} // namespace perfscope
