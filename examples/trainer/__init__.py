"""The parts of train_numpy.py: data, network, ranks, input queue, planted faults, options."""
