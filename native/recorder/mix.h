/* A number whose bits all depend on all of another one's: what is chosen by it is chosen as if by chance (splitmix64). */
#ifndef PERFSCOPE_MIX_H
#define PERFSCOPE_MIX_H

#include <stdint.h>

static inline uint64_t ps_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

#endif
