/* Weighted quantiles by selection: only values near a quantile are ever sorted.

   A quantile is the first value, from the smallest up, at which the cumulative mass reaches
   what it needs. Values are dealt into buckets of ascending ranges, and the buckets' masses
   added up; that tells in which bucket each quantile lies. Buckets with quantiles are
   treated in the same way, the others are done with, until few values are left to sort.

   Sums are compensated, so that a hundred million terms lose nothing, and that the order in
   which they are added does not show. */
#ifndef DISTFREEUQ_WEIGHTED_SELECT_H
#define DISTFREEUQ_WEIGHTED_SELECT_H

#include <math.h>
#include <string.h>
#include "ordered_key.h"
#include "portability.h"

typedef struct {
    double total, lost;
} long_sum;

ALWAYS_INLINE void add_to(long_sum *s, double x)
{
    double sum = s->total + x, of_x = sum - s->total;
    s->lost += (s->total - (sum - of_x)) + (x - of_x); /* exactly what rounding took away */
    s->total = sum;
}

ALWAYS_INLINE double value_of(long_sum s) { return s.total + s.lost; }

static double scaled_mass(const double *weights, ptrdiff_t n, double scale)
{
    long_sum sum = {0.0, 0.0};
    for (ptrdiff_t i = 0; i < n; i++)
        add_to(&sum, weights[i] / scale);
    return value_of(sum);
}

/* Values, in any order, and their weights; a mass is a weight over `scale`. */
typedef struct {
    const double *values, *weights;
    ptrdiff_t n;
    double scale;
    long_sum before; /* mass of all smaller values */
    double after;    /* mass up to and including these */
} weighted_values;

/* The masses that quantiles need, ascending, more than before and at most after. */
typedef struct {
    const double *mass;
    ptrdiff_t n;
    double *quantile; /* the answers */
} needs;

enum { FEW_VALUES = 48 };

static void select_few(weighted_values w, needs q)
{
    double value[FEW_VALUES], weight[FEW_VALUES];
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < w.n; i++) {
        if (w.weights[i] == 0.0)
            continue;
        ptrdiff_t j = n++;
        for (; j > 0 && value[j - 1] > w.values[i]; j--) {
            value[j] = value[j - 1];
            weight[j] = weight[j - 1];
        }
        value[j] = w.values[i];
        weight[j] = w.weights[i];
    }
    ptrdiff_t j = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        add_to(&w.before, weight[i] / w.scale);
        double mass = i == n - 1 ? w.after : value_of(w.before);
        for (; j < q.n && mass >= q.mass[j]; j++)
            q.quantile[j] = value[i];
    }
}

typedef struct {
    long_sum mass;
    ptrdiff_t n;       /* values with a weight */
    ptrdiff_t n_needs; /* quantiles among them */
    ptrdiff_t at;      /* where its values go, or -1 */
} bucket;

static int select_quantiles(weighted_values w, needs q);

/* Which buckets have quantiles: counts them, and returns how many values are there. */
static ptrdiff_t find_needs(bucket *buckets, ptrdiff_t n_buckets, weighted_values w, needs q)
{
    ptrdiff_t j = 0, n_kept = 0, last = n_buckets - 1;
    while (buckets[last].n == 0)
        last--;
    for (ptrdiff_t b = 0; b <= last; b++) {
        bucket *here = &buckets[b];
        add_to(&w.before, here->mass.total);
        w.before.lost += here->mass.lost;
        double mass = b == last ? w.after : value_of(w.before);
        ptrdiff_t first = j;
        while (here->n > 0 && j < q.n && mass >= q.mass[j])
            j++;
        here->n_needs = j - first;
        here->at = -1;
        if (here->n_needs > 0) {
            here->at = n_kept;
            n_kept += here->n;
        }
    }
    return n_kept;
}

/* Returns -1 if out of memory. */
static int select_among_many(weighted_values w, needs q, uint64_t low, int shift,
                             bucket *buckets, ptrdiff_t n_buckets)
{
    for (ptrdiff_t i = 0; i < w.n; i++) {
        if (w.weights[i] == 0.0)
            continue;
        bucket *b = &buckets[(key_of(w.values[i]) - low) >> shift];
        add_to(&b->mass, w.weights[i] / w.scale);
        b->n++;
    }
    ptrdiff_t n_kept = find_needs(buckets, n_buckets, w, q);
    uint64_t first_kept = 0, last_kept = (uint64_t)n_buckets - 1;
    while (buckets[first_kept].n_needs == 0)
        first_kept++;
    while (buckets[last_kept].n_needs == 0)
        last_kept--;
    double *values = (double *)malloc(2 * (size_t)n_kept * sizeof(double));
    double *weights = values + n_kept;
    if (values == NULL)
        return -1;
    for (ptrdiff_t i = 0; i < w.n; i++) {
        uint64_t which = (key_of(w.values[i]) - low) >> shift;
        if (which - first_kept > last_kept - first_kept) /* most values are here */
            continue;
        bucket *b = &buckets[which];
        if (b->at >= 0 && w.weights[i] != 0.0) {
            values[b->at] = w.values[i];
            weights[b->at++] = w.weights[i];
        }
    }
    int failed = 0;
    for (bucket *b = buckets; b < buckets + n_buckets && !failed; b++) {
        weighted_values within = w;
        add_to(&w.before, b->mass.total);
        w.before.lost += b->mass.lost;
        if (b->n_needs == 0)
            continue;
        needs among = {q.mass, b->n_needs, q.quantile};
        within.values = values + b->at - b->n;
        within.weights = weights + b->at - b->n;
        within.n = b->n;
        within.after = q.n == b->n_needs ? w.after : value_of(w.before);
        failed = select_quantiles(within, among);
        q.mass += b->n_needs;
        q.quantile += b->n_needs;
        q.n -= b->n_needs;
    }
    free(values);
    return failed;
}

enum { RANGE_STRANDS = 4 };

/* The smallest and the largest of at least RANGE_STRANDS values. Both are values themselves,
   so that their buckets differ, and no bucket gets all that were dealt. A reduction by OpenMP
   would not do: clang begins it at the largest finite number, the smallest of values that are
   all +inf would be finite, and dealing them out would never end. */
static void find_range(const double *values, ptrdiff_t n, double *smallest, double *largest)
{
    double low[RANGE_STRANDS], high[RANGE_STRANDS];
    const ptrdiff_t whole = n - n % RANGE_STRANDS;
    for (int s = 0; s < RANGE_STRANDS; s++)
        low[s] = high[s] = values[n - 1 - s];
    for (ptrdiff_t i = 0; i < whole; i += RANGE_STRANDS) {
        PRAGMA(omp simd)
        for (int s = 0; s < RANGE_STRANDS; s++) {
            const double x = values[i + s];
            low[s] = x < low[s] ? x : low[s];
            high[s] = x > high[s] ? x : high[s];
        }
    }
    *smallest = low[0], *largest = high[0];
    for (int s = 1; s < RANGE_STRANDS; s++) {
        *smallest = low[s] < *smallest ? low[s] : *smallest;
        *largest = high[s] > *largest ? high[s] : *largest;
    }
}

static int select_quantiles(weighted_values w, needs q)
{
    if (w.n <= FEW_VALUES) {
        select_few(w, q);
        return 0;
    }
    double smallest, largest;
    find_range(w.values, w.n, &smallest, &largest);
    uint64_t low = key_of(smallest), high = key_of(largest);
    if (low == high) {
        for (ptrdiff_t j = 0; j < q.n; j++)
            q.quantile[j] = w.values[0];
        return 0;
    }
    ptrdiff_t n_buckets = 64;
    while (n_buckets < 4096 && n_buckets < w.n)
        n_buckets *= 2;
    int shift = 0;
    while ((high - low) >> shift >= (uint64_t)n_buckets)
        shift++;
    bucket *buckets = (bucket *)calloc((size_t)n_buckets, sizeof(bucket));
    if (buckets == NULL)
        return -1;
    int failed = select_among_many(w, q, low, shift, buckets, n_buckets);
    free(buckets);
    return failed;
}

/* The ranks[k]-th smallest of the values with label k, or +inf beyond the last of them: ranks
   are quantiles with unit weights. Returns -1 if out of memory. */
static int select_by_label(const double *values, const int64_t *labels, ptrdiff_t n,
                           const int64_t *ranks, ptrdiff_t n_labels, double *out)
{
    double *grouped = (double *)malloc(2 * (size_t)(n + 1) * sizeof(double));
    double *units = grouped + n;
    ptrdiff_t *stop = (ptrdiff_t *)calloc((size_t)n_labels + 1, sizeof(ptrdiff_t));
    int failed = grouped == NULL || stop == NULL;
    for (ptrdiff_t i = 0; i < n && !failed; i++)
        stop[labels[i] + 1]++;
    for (ptrdiff_t k = 1; k < n_labels && !failed; k++)
        stop[k] += stop[k - 1];
    for (ptrdiff_t i = 0; i < n && !failed; i++) {
        grouped[stop[labels[i]]++] = values[i];
        units[i] = 1.0;
    }
    ptrdiff_t start = 0;
    for (ptrdiff_t k = 0; k < n_labels && !failed; k++) {
        ptrdiff_t count = stop[k] - start;
        double rank = (double)ranks[k];
        out[k] = INFINITY;
        if (ranks[k] <= count) {
            weighted_values own = {grouped + start, units,      count,
                                   1.0,             {0.0, 0.0}, (double)count};
            needs one = {&rank, 1, out + k};
            failed = select_quantiles(own, one);
        }
        start = stop[k];
    }
    free(stop);
    free(grouped);
    return failed ? -1 : 0;
}

#endif
