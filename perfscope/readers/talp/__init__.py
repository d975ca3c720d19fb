"""Reader of the figures that DLB's TALP writes."""
