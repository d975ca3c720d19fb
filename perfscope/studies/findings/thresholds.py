"""From when on a finding about several runs matters."""

LEAST_COUNT = 2  # occurrences at the largest size below which a frequency says nothing
FREQUENCY_WARN = 1.25  # times as often per unit of work, at the largest size
FREQUENCY_FAIL = 1.5
FREQUENCY_OF_SIZE = 0.25  # of the growth in size, in logarithms: slower growth is no rule of it
PHASE_SHARE_WARN = 0.01  # of the run time at the largest size
PHASE_SHARE_FAIL = 0.03

SERIAL_SHARE_WARN = 0.1  # of the run time at the largest size, in time that did not shrink
SERIAL_SHARE_FAIL = 0.25
CONSTANT_SPEEDUP = 0.25  # of the ideal growth in speed-up: a phase that gains less is serial

THROUGHPUT_SCALES = 0.5  # efficiency of the throughput from which on it promises a shorter run
TIME_BEHIND_WARN = 1.15  # speed-up of the throughput over that of the time
TIME_BEHIND_FAIL = 1.4

TRANSFER_SHARE_WARN = 0.15  # of the ranks' time, moving data at the largest size
TRANSFER_SHARE_FAIL = 0.3
TRANSFER_GROWTH = 1.25  # against the smallest size with several ranks
