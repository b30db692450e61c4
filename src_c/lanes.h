/* How many numbers are worked on side by side, and up to which row length rows are.

   A loop along a short row spends most of its time before and after: on folding vectors
   of sums and maxima into one number, and on the columns that fill no vector. So short rows
   are taken LANES at a time, a row in every lane of a vector:

       for (ptrdiff_t k = 0; k < K; k++)
           PRAGMA(omp simd)
           for (int l = 0; l < LANES; l++)
               sum[l] += rows[l * K + k];

   with `sum` an array of LANES, which the compiler keeps in registers. A row's columns are
   then added in their order whatever the lane, so that neither the clone nor the place of a
   row among others changes a bit.

   Nanoseconds per row of doubles, in lanes / row by row (AMD EPYC with AVX-512, one thread,
   min of 200 repeats; rows in the cache). Lanes gain most below sixteen columns. What they
   gain ends earlier for a plain sum (check) than where there is more to do per entry:

      K    check       APS sets     row stats    NLL          softmax      mixture
      3    0.9 / 10    4.0 / 30     1.5 / 17     5.8 / 17     3.0 / 32     1.7 / 4.5
     10    2.2 / 10     15 / 38     2.4 / 18     9.8 / 19     9.0 / 41     3.5 / 5.5
     24    4.9 / 4.3    60 / 88     4.4 / 13      18 / 18      18 / 19     7.2 / 5.6
     32    6.5 / 4.9   104 / 111    5.5 / 12      22 / 22      23 / 24     9.4 / 6.9
     40    8.0 / 5.4   165 / 168    6.7 / 15      27 / 25      29 / 28      12 / 7.3
     64     13 / 6.9   432 / 164     10 / 15      40 / 35      48 / 45      18 / 9.9

   With AVX2 the crossings are at about the same K.

   Results depend on these numbers in their last digits, because a row in a lane is added up
   in another order than a row by itself: a change shows in tests that compare bits. */
#ifndef DISTFREEUQ_LANES_H
#define DISTFREEUQ_LANES_H

#include "portability.h"

enum {
    LANES = 16,        /* doubles side by side: two vectors of AVX-512, four of AVX2 */
    MIXTURE_LANES = 8, /* the same in mixture.h, which keeps its sums over rows by lane */
    STRANDS = 16,      /* partial sums side by side along one long row */

    /* Longest rows that go into lanes, by what a kernel does with an entry. */
    READ_LANE_COLUMNS = 40,    /* compares and adds: scores, checks, row statistics */
    SOFTMAX_LANE_COLUMNS = 32, /* takes an exponential: softmax losses */
    MIXTURE_LANE_COLUMNS = 24  /* adds to a sum of its class as well: mixtures */
};

/* First row of the LANES rows that are due at row i < stop: the last block ends with the
   rows, and takes some of them twice. For at least LANES rows. */
ALWAYS_INLINE ptrdiff_t block_at(ptrdiff_t i, ptrdiff_t stop)
{
    return i + LANES <= stop ? i : stop - LANES;
}

#endif
