/* Programs that are built with the address sanitizer. Its runtime library ends a program in which
 * another one is loaded before it, as a preloaded one is, because functions of the C library that
 * it replaces might then be found elsewhere. Those that the recorder replaces as well are passed
 * on, so it is told not to look. It asks the first definition of this function in the process: one
 * of the program itself takes precedence, and so does ASAN_OPTIONS. */

const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "verify_asan_link_order=0";
}
