/* When to ask Python whether the user has pressed Ctrl-C: see _common.pxd. */
#ifndef DISTFREEUQ_CTRL_C_H
#define DISTFREEUQ_CTRL_C_H

#include <time.h>
#include "portability.h"

typedef struct {
    double due;           /* when to ask, in seconds; 0 before the first block, -1 in it */
    volatile int pressed; /* written by the first thread, read by all */
} ctrl_c;

static inline double seconds_now(void)
{
    struct timespec now;
    return timespec_get(&now, TIME_UTC) ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

/* Whether to ask before this block: ten times a second, on the thread that Python called. A
   kernel of one block does not even look at the clock. */
static inline int time_to_ask(ctrl_c *watch)
{
    if (thread_number() != 0)
        return 0;
    if (watch->due == 0.0) {
        watch->due = -1.0;
        return 0;
    }
    double now = seconds_now();
    if (watch->due > 0.0 && now < watch->due)
        return 0;
    int ask = watch->due > 0.0;
    watch->due = now + 0.1;
    return ask;
}

#endif
