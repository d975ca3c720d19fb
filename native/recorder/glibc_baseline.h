/* Binds the functions that newer C libraries version anew to their oldest version, so that the library loads
 * wherever glibc is 2.17 or later, whatever it was built with. Force-included before every source.
 * A C library older than 2.34 binds them so by itself.
 *
 * Functions that lived outside libc.so before 2.34 are weak: a process without libdl or libpthread (a shell started
 * by the job) must still load us, and never needs them. */
#ifndef PERFSCOPE_GLIBC_BASELINE_H
#define PERFSCOPE_GLIBC_BASELINE_H

#include <features.h>

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34) && defined(__x86_64__)
#define PS_BASELINE "GLIBC_2.2.5"
#elif __GLIBC_PREREQ(2, 34) && defined(__aarch64__)
#define PS_BASELINE "GLIBC_2.17"
#endif
#endif

#ifdef PS_BASELINE
__asm__(".symver dlsym,dlsym@" PS_BASELINE);
__asm__(".symver dlopen,dlopen@" PS_BASELINE);
__asm__(".symver dlclose,dlclose@" PS_BASELINE);
__asm__(".symver dladdr,dladdr@" PS_BASELINE);
__asm__(".symver pthread_create,pthread_create@" PS_BASELINE);
__asm__(".symver pthread_attr_setstacksize,pthread_attr_setstacksize@" PS_BASELINE);
#endif

#pragma weak dlsym
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dladdr
#pragma weak pthread_create
#pragma weak pthread_attr_setstacksize

#endif
