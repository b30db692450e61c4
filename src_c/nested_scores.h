/* Scores of nested prediction sets: what is the same for float and double matrices.

   A label's score depends on the row only through
     mass_above   the probability of the strictly more likely labels,
     n_above      how many of them there are (rank - 1),
     p            its own probability,
     top, rival   the largest probability, and the largest among the other labels,
   and never decreases from a label to a less likely one. So a prediction set is always
   {k : p_k >= cutoff}, and tied labels stand on the same side.

   Exact sums. Probabilities are rounded to multiples of 2^-52 before they are added; a sum
   of such numbers that stays below 2 is exact in double precision. The order of summation
   then does not matter: a label's score is the same, bit for bit, at calibration (one pass,
   unsorted), in a prediction set (selection) and in the matrix of all scores (sorted). */
#ifndef DISTFREEUQ_NESTED_SCORES_H
#define DISTFREEUQ_NESTED_SCORES_H

#include <math.h>
#include <string.h>
#include "portability.h"

enum { SCORE_LAC, SCORE_APS, SCORE_RAPS, SCORE_SAPS, SCORE_RANK, SCORE_MARGIN };

typedef struct {
    int kind;
    double penalty; /* RAPS: added per rank beyond k_reg */
    double k_reg;
    double weight; /* SAPS: added per rank beyond the first */
} nested_score;

ALWAYS_INLINE double on_grid(double p) { return (p + 1.0) - 1.0; }

ALWAYS_INLINE double score_at(const nested_score *s, double mass_above, double n_above,
                              double p, double top, double rival, double u)
{
    double excess;
    switch (s->kind) {
    case SCORE_LAC:
        return 1.0 - p;
    case SCORE_APS:
        return mass_above + u * on_grid(p);
    case SCORE_RAPS:
        excess = n_above + 1.0 - s->k_reg;
        return mass_above + u * on_grid(p) + s->penalty * (excess > 0.0 ? excess : 0.0);
    case SCORE_SAPS:
        return n_above == 0.0 ? u * top : top + (n_above - 1.0 + u) * s->weight;
    case SCORE_RANK:
        return n_above + u;
    default: /* SCORE_MARGIN */
        return rival - p;
    }
}

/* Bottom-up merge sort, largest first: O(n log n) whatever the input, no branch to predict
   in the merge. Returns the sorted array, which is `a` or `scratch`. */
static double *sort_descending(double *a, double *scratch, ptrdiff_t n)
{
    enum { RUN = 12 };
    for (ptrdiff_t start = 0; start < n; start += RUN) {
        ptrdiff_t stop = start + RUN < n ? start + RUN : n;
        for (ptrdiff_t i = start + 1; i < stop; i++) {
            double x = a[i];
            ptrdiff_t j = i;
            for (; j > start && a[j - 1] < x; j--)
                a[j] = a[j - 1];
            a[j] = x;
        }
    }
    for (ptrdiff_t width = RUN; width < n; width *= 2) {
        for (ptrdiff_t start = 0; start < n; start += 2 * width) {
            ptrdiff_t middle = start + width < n ? start + width : n;
            ptrdiff_t stop = start + 2 * width < n ? start + 2 * width : n;
            ptrdiff_t left = start, right = middle, out = start;
            while (left < middle && right < stop) {
                double x = a[left], y = a[right];
                int take_left = x >= y;
                scratch[out++] = take_left ? x : y;
                left += take_left;
                right += !take_left;
            }
            memcpy(scratch + out, a + left, (size_t)(middle - left) * sizeof(double));
            out += middle - left;
            memcpy(scratch + out, a + right, (size_t)(stop - right) * sizeof(double));
        }
        double *swap = a;
        a = scratch;
        scratch = swap;
    }
    return a;
}

ALWAYS_INLINE double median_of_3(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

#define REAL double
#define NAMED(name) name##_f64
#include "nested_scores_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "nested_scores_template.h"
#undef REAL
#undef NAMED

#endif
