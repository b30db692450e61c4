/* Compiled twice by row_checks.h, with REAL = float and double. Each function returns the
   first of the rows start .. stop-1 that is not in order, or -1. */

/* Entries non-negative, row sum within `tolerance` of one. A NaN or an infinity spoils the
   sum, and every comparison below is written so that NaN fails it. */
VECTOR_CLONES
static ptrdiff_t NAMED(first_non_simplex_row)(const REAL *matrix, ptrdiff_t K,
                                              double tolerance, ptrdiff_t start,
                                              ptrdiff_t stop)
{
    /* Two columns: the loop over them would cost more than their sum. */
    for (ptrdiff_t i = start; K == 2 && i < stop; i++) {
        double zero = (double)matrix[2 * i], one = (double)matrix[2 * i + 1];
        if (!(fabs(zero + one - 1.0) <= tolerance && zero >= 0.0 && one >= 0.0))
            return i;
    }
    for (ptrdiff_t i = start; K != 2 && i < stop; i++) {
        const REAL *RESTRICT row = matrix + i * K;
        double sum = 0.0, smallest = 0.0;
        prefetch_ahead(row, (size_t)K * sizeof(REAL));
        PRAGMA(omp simd reduction(+ : sum) reduction(min : smallest))
        for (ptrdiff_t k = 0; k < K; k++) {
            double x = (double)row[k];
            sum += x;
            smallest = x < smallest ? x : smallest;
        }
        if (!(fabs(sum - 1.0) <= tolerance && smallest >= 0.0))
            return i;
    }
    return -1;
}

VECTOR_CLONES
static ptrdiff_t NAMED(first_non_finite_row)(const REAL *matrix, ptrdiff_t K,
                                             ptrdiff_t start, ptrdiff_t stop)
{
    /* Rows are told apart only where something is wrong: a loop over the few entries of a
       short row would cost more than it looks at. */
    enum { STRIDE = 512 };
    for (ptrdiff_t j = start * K; j < stop * K; j += STRIDE) {
        const REAL *RESTRICT some = matrix + j;
        ptrdiff_t n_some = stop * K - j < STRIDE ? stop * K - j : STRIDE;
        int n_finite = 0;
        prefetch_ahead(some, (size_t)n_some * sizeof(REAL));
        PRAGMA(omp simd reduction(+ : n_finite))
        for (ptrdiff_t k = 0; k < n_some; k++)
            n_finite += fabs((double)some[k]) <= DBL_MAX;
        for (ptrdiff_t k = 0; k < n_some && n_finite != n_some; k++)
            if (!(fabs((double)some[k]) <= DBL_MAX))
                return (j + k) / K;
    }
    return -1;
}
