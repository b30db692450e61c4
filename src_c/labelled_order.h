/* Ascending order of very many numbers, each with a label: stable, a part at a time.

   `sort_scores` holds a hundred million numbers four times over, and its buckets are all over
   the memory. Here the numbers are dealt once into cells of neighbouring values that fit into
   the cache, and each cell is sorted by itself, by any thread; a label goes along with its
   number in the one to eight bytes that it has. Room: what goes in, what comes out, and one
   cell four times over.

   Nanoseconds per number at n = 10 million, labels of one byte, one thread (sort_scores, and
   taking the labels by its order): 27 (79). */
#ifndef DISTFREEUQ_LABELLED_ORDER_H
#define DISTFREEUQ_LABELLED_ORDER_H

#include <math.h>
#include <string.h>
#include "ordered_key.h"
#include "portability.h"
#include "score_order.h"

typedef struct {
    double *values;
    unsigned char *labels;
    int width; /* bytes of a label: 1, 2, 4 or 8 */
} labelled;

typedef struct {
    double smallest, per_distance; /* not positive: all are in one cell */
    ptrdiff_t n;
    int how;
} cells;

ALWAYS_INLINE void copy_label(const unsigned char *from, unsigned char *to, int width)
{
    switch (width) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

/* Never decreases with the value, and is below the number of cells. */
ALWAYS_INLINE ptrdiff_t cell_of(double value, const cells *c)
{
    if (!(c->per_distance > 0.0))
        return 0;
    ptrdiff_t cell = (ptrdiff_t)(distance(value, c->smallest, c->how) * c->per_distance);
    return cell < c->n ? cell : c->n - 1;
}

/* Counts the numbers of each cell; returns the largest count. */
static ptrdiff_t count_cells(const double *values, ptrdiff_t n, const cells *c, int64_t *count)
{
    int64_t most = 0;
    memset(count, 0, (size_t)c->n * sizeof *count);
    for (ptrdiff_t i = 0; i < n; i++)
        count[cell_of(values[i], c)]++;
    for (ptrdiff_t k = 0; k < c->n; k++)
        most = count[k] > most ? count[k] : most;
    return (ptrdiff_t)most;
}

/* Cells of equal width or, if that crowds one of them, of equal shares of the bits. The counts
   of the cells end up in `count`, which has room for as many again. */
static cells choose_cells(const double *values, ptrdiff_t n, ptrdiff_t n_cells, int64_t *count)
{
    double smallest = values[0], largest = values[0];
    for (ptrdiff_t i = 1; i < n; i++) {
        smallest = values[i] < smallest ? values[i] : smallest;
        largest = values[i] > largest ? values[i] : largest;
    }
    cells best = {smallest, 0.0, n_cells, BY_VALUE};
    ptrdiff_t fewest = n + 1;
    for (int how = BY_VALUE; how <= BY_BITS && fewest > 4 * (n / n_cells + 1); how++) {
        cells here = {smallest, (double)n_cells / distance(largest, smallest, how), n_cells, how};
        if (!(here.per_distance < INFINITY))
            here.per_distance = 0.0;
        ptrdiff_t most = count_cells(values, n, &here, count + (how == BY_VALUE ? 0 : n_cells));
        if (most < fewest) {
            best = here;
            fewest = most;
        }
    }
    if (best.how == BY_BITS)
        memcpy(count, count + n_cells, (size_t)n_cells * sizeof *count);
    return best;
}

/* Puts every number where its cell is, in the order in which they stood. Cell k is then from
   stop[k - 1], or 0, up to stop[k]. `stop` has room for 2 n_cells. */
static void deal_labelled(labelled from, labelled to, ptrdiff_t n, ptrdiff_t n_cells,
                          int64_t *stop)
{
    cells c = choose_cells(from.values, n, n_cells, stop);
    int64_t first = 0;
    for (ptrdiff_t k = 0; k < n_cells; k++) {
        int64_t size = stop[k];
        stop[k] = first;
        first += size;
    }
    const size_t width = (size_t)from.width;
    for (ptrdiff_t i = 0; i < n; i++) {
        int64_t at = stop[cell_of(from.values[i], &c)]++;
        to.values[at] = from.values[i];
        copy_label(from.labels + (size_t)i * width, to.labels + (size_t)at * width, from.width);
    }
}

/* Sorts n of them where they are. Returns -1 if out of memory. */
static int sort_labelled(labelled x, ptrdiff_t n)
{
    ptrdiff_t i = 1;
    while (i < n && x.values[i] >= x.values[i - 1])
        i++;
    if (i >= n) /* nothing to do, whatever their number: they may all be equal */
        return 0;
    const size_t width = (size_t)x.width;
    size_t room = (size_t)n * (2 * sizeof(placed_value) + 2 * sizeof(uint32_t) + width);
    placed_value *placed = (placed_value *)malloc(room);
    if (placed == NULL)
        return -1;
    uint32_t *end = (uint32_t *)(placed + 2 * n);
    unsigned char *labels = (unsigned char *)(end + 2 * n);
    for (i = 0; i < n; i++) {
        placed[i].value = x.values[i];
        placed[i].place = i;
    }
    memcpy(labels, x.labels, (size_t)n * width);
    sort_placed(placed, placed + n, end, n, BY_VALUE);
    for (i = 0; i < n; i++) {
        x.values[i] = placed[i].value;
        copy_label(labels + (size_t)placed[i].place * width, x.labels + (size_t)i * width, x.width);
    }
    free(placed);
    return 0;
}

#endif
