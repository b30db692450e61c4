/* Compiled twice by row_checks.h, with REAL = float and double. Each function returns the
   first of the rows start .. stop-1 that is not in order, or -1. */

VECTOR_CLONES
static ptrdiff_t NAMED(first_non_simplex_row)(const REAL *matrix, ptrdiff_t K,
                                              double tolerance, ptrdiff_t start,
                                              ptrdiff_t stop)
{
    ptrdiff_t i = start;
    while (K <= READ_LANE_COLUMNS && i + LANES <= stop
           && NAMED(block_is_simplex)(matrix + i * K, K, tolerance))
        i += LANES;
    for (; i < stop; i++)
        if (!NAMED(is_simplex)(matrix + i * K, K, tolerance))
            return i;
    return -1;
}

/* Rows do not matter until one is bad: the entries are looked at in one long loop. */
VECTOR_CLONES
static ptrdiff_t NAMED(first_non_finite_row)(const REAL *matrix, ptrdiff_t K,
                                             ptrdiff_t start, ptrdiff_t stop)
{
    const REAL *RESTRICT entries = matrix + start * K;
    ptrdiff_t n_entries = (stop - start) * K, n_finite = 0;
    PRAGMA(omp simd reduction(+ : n_finite))
    for (ptrdiff_t j = 0; j < n_entries; j++)
        n_finite += fabs((double)entries[j]) <= DBL_MAX;
    if (n_finite == n_entries)
        return -1;
    ptrdiff_t first = 0;
    while (fabs((double)entries[first]) <= DBL_MAX)
        first++;
    return start + first / K;
}
