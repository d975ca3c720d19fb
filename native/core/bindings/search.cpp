// places_of for numpy.
#include "search.h"

#include "arrays.h"
#include "bindings.h"

namespace nb = nanobind;

namespace perfscope {

using Moments = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static auto places(const Moments &ordered, const Moments &moments, bool behind_equal)
{
    std::vector<int64_t> found(moments.size());
    {
        const nb::gil_scoped_release unlocked;
        places_of(ordered.data(), ordered.size(), moments.data(), moments.size(), behind_equal, found.data());
    }
    return to_numpy(std::move(found));
}

void bind_search(nb::module_ &module)
{
    module.def("places", &places, nb::arg("ordered"), nb::arg("moments"), nb::arg("behind_equal"));
}

} // namespace perfscope
