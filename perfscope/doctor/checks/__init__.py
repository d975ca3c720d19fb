"""The checks of `perfscope doctor`; a module with `CHECK` in it is one."""
