"""Thresholds shared by all parts that judge: what counts as the main part, as alone, as certain."""

MAIN = 0.5
"""Share of a whole above which a part is its main part; at most one part can be."""

ALONE = 0.8
"""Share of a task above which one rank counts as doing it alone; the rest may be sampling error."""

SURE = 1.96
"""Standard errors on each side of a 95 % confidence interval."""

CPU_WINDOW_NS = 500_000_000
"""In which CPU time and samples are compared: several of each lie in it."""

TURN_NS = 1_500_000.0
"""For which Linux lets a thread have a CPU at least where others want it (0.75 ms x (1 + log2 of
the CPUs), of 2 CPUs): a stretch that is shorter holds no waiting for one."""

MEAN_TO_MEDIAN = 1.2533
"""Standard error of a median over that of the mean of normally distributed values."""

MAD_TO_SIGMA = 1.4826
"""Standard deviation over the median absolute deviation of normally distributed values."""

MEDIAN_ERROR = MEAN_TO_MEDIAN * MAD_TO_SIGMA
"""Standard error of a median over the median deviation, times the root of the count (normal)."""

FEWEST_SAMPLES = 3
"""Samples in which something must be seen; fewer may be chance."""

NEGLIGIBLE = 1e-3
"""Share of a whole below which a part changes no figure that is shown."""

MOST_LOST = 0.98
"""Share of a rank's work that can have been lost at most: some of it was done."""

MAJOR = 0.1
"""Share of the run from which a problem is a major one."""

AT_THE_DOOR_NS = 500_000
"""So long a busy machine takes to enter a call, and from one to the next, without work between."""

SMALL_BYTES = 64 << 10
"""Below it collectives are made of latency and not of bandwidth."""

FAIR_BYTES_PER_S = 1e9
"""On the bus of large collectives: what an ordinary network carries, and any host in memory."""
