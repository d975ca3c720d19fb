"""perfscope's own recordings."""

from perfscope.readers.detect import Tells

TELLS = Tells(
    efficiencies="yes",
    waits="collectives, messages, Horovod's tensors",
    phases="found, or marked by the program",
    devices="as the driver samples them",
    counters="of the program",
    resources="memory, threads, bytes of files",
    clock="yes",
)
