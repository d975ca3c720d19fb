"""Nsight Systems: what `nsys export --type sqlite` writes."""
