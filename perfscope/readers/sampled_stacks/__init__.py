"""Stacks that a sampler wrote by itself: py-spy's three forms, and speedscope files of others."""
