"""perfscope's own recordings."""
