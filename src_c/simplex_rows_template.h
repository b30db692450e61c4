/* Compiled twice by simplex_rows.h, with REAL = float and double. */

/* Entries non-negative, sum within `tolerance` of one. A NaN or an infinity spoils the sum,
   and every comparison is written so that NaN fails it. */
ALWAYS_INLINE int NAMED(is_simplex)(const REAL *RESTRICT row, ptrdiff_t K, double tolerance)
{
    double sum = 0.0, smallest = 0.0;
    prefetch_ahead(row, (size_t)K * sizeof(REAL));
    PRAGMA(omp simd reduction(+ : sum) reduction(min : smallest))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k];
        sum += x;
        smallest = x < smallest ? x : smallest;
    }
    return fabs(sum - 1.0) <= tolerance && smallest >= 0.0;
}

/* Are all of LANES rows probability vectors? Each row has a lane of its own, so that no sum
   across lanes is needed, which for few columns would cost more than everything else. */
ALWAYS_INLINE int NAMED(block_is_simplex)(const REAL *RESTRICT rows, ptrdiff_t K,
                                          double tolerance)
{
    double sum[LANES] = {0.0}, smallest[LANES] = {0.0};
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double x = (double)rows[r * K + k];
            sum[r] += x;
            smallest[r] = x < smallest[r] ? x : smallest[r];
        }
    }
    return all_simplex(sum, smallest, tolerance);
}
