/* Which instruction a thread is at, read without the interpreter's lock.
 *
 * The evaluation loop looks up behind calls and at the ends of loops only: what a line does with operators would be
 * seen there. But each frame keeps which instruction it is at. The kernel reads that, as the memory may be gone
 * meanwhile, and it counts only where the frame is still on the stack when the thread notes that itself.
 *
 * Where a Python keeps it is found out by a frame of which Python tells the same: up to Python 3.10 as a number in the
 * frame, which is an object; later as an address in what belongs to such an object. Nothing is told any more once it
 * does not agree with what Python says. */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#include "python/current_place.h"

#define WORDS_OF_THREAD 48
#define WORDS_OF_HOLDER 4 /* of what the thread's state may point at, which points at the frame */
#define WORDS_OF_FRAME 10
#define WORDS_OF_OBJECT 16
#define LEAST_HEADER 64 /* bytes of a code object before its instructions */
#define MOST_HEADER 512
#define DIRECT UINT32_MAX

static struct {
    atomic_bool is_known;
    uintptr_t thread; /* its state */
    uint32_t in_object; /* of a frame object: the word with the frame's address; DIRECT where it is the frame */
    uint32_t in_thread, in_holder;
    uint32_t words, code, instruction; /* of the frame: how many are read, and which they are */
    uintptr_t header;
    uint32_t bytes, shift; /* of a number: bytes per unit, 0 for an address; and where it is in its word */
} layout;

static bool read_words(uintptr_t from, uintptr_t *to, size_t count)
{
    struct iovec into = {.iov_base = to, .iov_len = count * sizeof *to};
    struct iovec of = {.iov_base = (void *)from, .iov_len = count * sizeof *to};
    bool is_address = from && from % sizeof(uintptr_t) == 0;
    return is_address && process_vm_readv(getpid(), &into, 1, &of, 1, 0) == (ssize_t)into.iov_len;
}

/* The word that has a value; `count` where none has it. */
static uint32_t find_word(const uintptr_t *words, uint32_t count, uintptr_t value)
{
    uint32_t at = 0;
    while (at < count && words[at] != value)
        at++;
    return at;
}

/* Whether this is a frame of the code; where it keeps that and its instruction is noted. */
static bool learn_frame(uintptr_t frame, uintptr_t code, int last)
{
    uintptr_t words[WORDS_OF_FRAME];
    if (!read_words(frame, words, WORDS_OF_FRAME))
        return false;
    layout.words = WORDS_OF_FRAME;
    layout.code = find_word(words, WORDS_OF_FRAME, code);
    layout.bytes = 0;
    if (layout.code == WORDS_OF_FRAME)
        return false;
    for (uint32_t at = 0; at < WORDS_OF_FRAME; at++) {
        uintptr_t header = words[at] - code - (uintptr_t)last;
        if (header >= LEAST_HEADER && header <= MOST_HEADER && header % sizeof(uintptr_t) == 0) {
            layout.instruction = at;
            layout.header = header;
            return true;
        }
    }
    return false;
}

/* Whether a frame object keeps the code and a number that is its instruction, in bytes or in units of two. */
static bool learn_object(const uintptr_t *words, uintptr_t code, int last)
{
    layout.words = WORDS_OF_OBJECT;
    layout.in_object = DIRECT;
    layout.header = 0;
    layout.code = find_word(words, WORDS_OF_OBJECT, code);
    for (uint32_t half = 2 * layout.code; half < 2 * WORDS_OF_OBJECT; half++) {
        layout.instruction = half / 2;
        layout.shift = half % 2 * 32;
        uint32_t number = (uint32_t)(words[layout.instruction] >> layout.shift);
        for (layout.bytes = 1; number && layout.bytes <= 2; layout.bytes++)
            if (number * layout.bytes == (uint32_t)last)
                return true;
    }
    return false;
}

/* Where the state of the thread, or what that points at, has the address of its frame. */
static bool learn_thread(uintptr_t frame)
{
    uintptr_t words[WORDS_OF_THREAD], held[WORDS_OF_HOLDER];
    if (!read_words(layout.thread, words, WORDS_OF_THREAD))
        return false;
    layout.in_holder = DIRECT;
    layout.in_thread = find_word(words, WORDS_OF_THREAD, frame);
    for (uint32_t at = 0; layout.in_thread == WORDS_OF_THREAD && at < WORDS_OF_THREAD; at++) {
        if (!read_words(words[at], held, WORDS_OF_HOLDER))
            continue;
        layout.in_holder = find_word(held, WORDS_OF_HOLDER, frame);
        if (layout.in_holder < WORDS_OF_HOLDER)
            layout.in_thread = at;
    }
    return layout.in_thread < WORDS_OF_THREAD;
}

void ps_learn_frames(const ps_python_functions *python)
{
    uintptr_t words[WORDS_OF_OBJECT];
    atomic_store(&layout.is_known, false);
    layout.thread = (uintptr_t)python->thread();
    object frame = python->innermost(python->thread()), code = frame ? python->code(frame) : NULL;
    int last = frame ? ps_last_of(python, frame) : -1;
    bool is_told = last > 0 && read_words((uintptr_t)frame, words, WORDS_OF_OBJECT);
    bool is_known = is_told && !python->last && learn_object(words, (uintptr_t)code, last) &&
                    learn_thread((uintptr_t)frame);
    for (uint32_t at = 2; is_told && python->last && at < WORDS_OF_OBJECT && !is_known; at++) {
        layout.in_object = at;
        is_known = learn_frame(words[at], (uintptr_t)code, last) && learn_thread(words[at]);
    }
    if (code)
        python->drop(code);
    if (frame)
        python->drop(frame);
    atomic_store(&layout.is_known, is_known);
}

/* What a frame is at, whose words these are. */
static ps_current_place place_in(uintptr_t frame, const uintptr_t *words)
{
    ps_current_place place = {.frame = frame, .code = words[layout.code], .instruction = words[layout.instruction]};
    if (layout.bytes)
        place.instruction = place.code + layout.bytes * (uint32_t)(place.instruction >> layout.shift);
    return place;
}

bool ps_read_place(ps_current_place *place)
{
    uintptr_t words[WORDS_OF_OBJECT], frame = 0;
    if (!atomic_load(&layout.is_known) || !read_words(layout.thread + layout.in_thread * sizeof frame, &frame, 1))
        return false;
    if (layout.in_holder != DIRECT && !read_words(frame + layout.in_holder * sizeof frame, &frame, 1))
        return false;
    if (!read_words(frame, words, layout.words))
        return false;
    *place = place_in(frame, words);
    return true;
}

bool ps_read_own_place(ps_current_place *place)
{
    uintptr_t frame = 0;
    if (!atomic_load(&layout.is_known))
        return false;
    frame = *(const uintptr_t *)(layout.thread + layout.in_thread * sizeof frame);
    if (frame && layout.in_holder != DIRECT)
        frame = *(const uintptr_t *)(frame + layout.in_holder * sizeof frame);
    if (!frame)
        return false;
    *place = place_in(frame, (const uintptr_t *)frame);
    return true;
}

intptr_t ps_offset_of(const ps_current_place *place)
{
    return (intptr_t)(place->instruction - place->code - layout.header);
}

int ps_offset_in(const ps_current_place *place, const void *frame, const void *code)
{
    const uintptr_t *of_frame = frame, *of_code = code;
    uintptr_t start = (uintptr_t)code + layout.header;
    uintptr_t units = layout.bytes ? INT32_MAX / 2 : of_code[2]; /* its size, as of all that vary in it */
    uintptr_t frame_of_it = layout.in_object == DIRECT ? (uintptr_t)frame : of_frame[layout.in_object];
    bool is_of = place->frame && place->code == (uintptr_t)code && frame_of_it == place->frame;
    bool is_inside = place->instruction >= start && place->instruction - start < 2 * units;
    return atomic_load(&layout.is_known) && is_of && is_inside ? (int)(place->instruction - start) : -1;
}

void ps_check_frame(const void *frame, const void *code, int last)
{
    ps_current_place place;
    atomic_store(&layout.is_known, ps_read_place(&place) && ps_offset_in(&place, frame, code) == last);
}
