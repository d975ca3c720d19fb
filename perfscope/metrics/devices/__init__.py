"""Metrics of devices: kernels, copies, idle time, and who uses them."""
