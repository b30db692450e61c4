/* Quantiles of numbers that are in ascending order already, each with a label: one read of
   them and no room, where selection needs 16 to 24 bytes for each.

   The weight of a number is its label's. Labels are counted a block at a time, and the mass
   up to the block's end is the sum of counts times weights; only in blocks where a quantile
   lies are weights added one by one. Sums are those of weighted_select.h, and so are the
   quantiles.

   Nanoseconds per number at n = 10 million, K = 10, one thread (selection): 1.6 (9). */
#ifndef DISTFREEUQ_ASCENDING_QUANTILES_H
#define DISTFREEUQ_ASCENDING_QUANTILES_H

#include <math.h>
#include "portability.h"
#include "weighted_select.h"

typedef struct {
    const double *values; /* ascending */
    const int64_t *labels;
    ptrdiff_t n;
    const double *mass; /* of a number with a label */
    ptrdiff_t n_labels;
} labelled_numbers;

/* Adds so many masses at once, as exactly as one by one. */
ALWAYS_INLINE void add_times(long_sum *s, double times, double mass)
{
    double product = times * mass;
    add_to(s, product);
    s->lost += fma(times, mass, -product);
}

static long_sum mass_of_counts(const int64_t *count, const double *mass, ptrdiff_t n_labels)
{
    long_sum sum = {0.0, 0.0};
    for (ptrdiff_t k = 0; k < n_labels; k++)
        add_times(&sum, (double)count[k], mass[k]);
    return sum;
}

static double mass_of_all(const int64_t *count, const double *mass, ptrdiff_t n_labels)
{
    return value_of(mass_of_counts(count, mass, n_labels));
}

/* Finds quantiles among the numbers of one block, and returns the needs that are left. `before`
   is the mass of the blocks before, `up_to` that with this block. */
static needs find_in_block(labelled_numbers x, ptrdiff_t start, ptrdiff_t stop, long_sum before,
                           double up_to, needs q)
{
    for (ptrdiff_t i = start; i < stop && q.n > 0; i++) {
        const double own = x.mass[x.labels[i]];
        if (own == 0.0)
            continue;
        add_to(&before, own);
        double mass = i == stop - 1 ? up_to : value_of(before);
        for (; q.n > 0 && mass >= q.mass[0]; q.n--, q.mass++)
            *q.quantile++ = x.values[i];
    }
    return q;
}

/* `after` is the mass of all numbers, `count` scratch of n_labels. */
static void ascending_quantiles(labelled_numbers x, double after, needs q, int64_t *count)
{
    const ptrdiff_t block = x.n_labels < 1024 ? 4096 : 4 * x.n_labels;
    long_sum before = {0.0, 0.0};
    while (x.n > 0 && x.mass[x.labels[x.n - 1]] == 0.0) /* no quantile is there */
        x.n--;
    for (ptrdiff_t k = 0; k < x.n_labels; k++)
        count[k] = 0;
    for (ptrdiff_t start = 0; start < x.n && q.n > 0; start += block) {
        const ptrdiff_t stop = x.n - start < block ? x.n : start + block;
        for (ptrdiff_t i = start; i < stop; i++)
            count[x.labels[i]]++;
        const long_sum sum = mass_of_counts(count, x.mass, x.n_labels);
        const double up_to = stop == x.n ? after : value_of(sum);
        if (up_to >= q.mass[0])
            q = find_in_block(x, start, stop, before, up_to, q);
        before = sum;
    }
}

static int is_ascending(const double *values, ptrdiff_t n)
{
    ptrdiff_t i = 1;
    while (i < n && values[i] >= values[i - 1])
        i++;
    return i >= n;
}

/* The ranks[k]-th of the numbers with label k; those that are not there stay as they are. */
static void ascending_ranks(const double *values, const int64_t *labels, ptrdiff_t n,
                            const int64_t *ranks, ptrdiff_t n_labels, int64_t *count, double *out)
{
    ptrdiff_t n_left = n_labels;
    for (ptrdiff_t k = 0; k < n_labels; k++)
        count[k] = 0;
    for (ptrdiff_t i = 0; i < n && n_left > 0; i++) {
        const int64_t k = labels[i];
        if (++count[k] == ranks[k]) {
            out[k] = values[i];
            n_left--;
        }
    }
}

#endif
