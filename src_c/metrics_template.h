/* Compiled twice by metrics.h, with REAL = float and double. Sums are double. */

ALWAYS_INLINE double NAMED(sum_of_squares)(const REAL *RESTRICT row, ptrdiff_t K)
{
    double total = 0.0;
    PRAGMA(omp simd reduction(+ : total))
    for (ptrdiff_t k = 0; k < K; k++)
        total += (double)row[k] * (double)row[k];
    return total;
}

/* All that the top-label metrics need of rows start .. stop-1, in one read: the column of
   the largest entry (the first one if several tie), that entry, the label's entry, and the
   squared distance to the label's corner of the simplex. The last is a sum of squares
   without the label's own, so that it is never negative; it is left out if `brier` is
   NULL. Returns the first row that is no probability vector within the tolerance, where it
   stops, or -1; every comparison is written so that NaN fails it. */
VECTOR_CLONES
static ptrdiff_t NAMED(read_rows)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                  double tolerance, ptrdiff_t start, ptrdiff_t stop,
                                  int64_t *predicted, REAL *confidence, REAL *of_label,
                                  double *brier)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        ptrdiff_t label = labels[i];
        REAL top = row[0], low = row[0];
        double sum = 0.0;
        prefetch_ahead(row, (size_t)K * sizeof(REAL));
        PRAGMA(omp simd reduction(+ : sum) reduction(max : top) reduction(min : low))
        for (ptrdiff_t k = 0; k < K; k++) {
            sum += (double)row[k];
            top = row[k] > top ? row[k] : top;
            low = row[k] < low ? row[k] : low;
        }
        if (!(fabs(sum - 1.0) <= tolerance && low >= (REAL)0.0))
            return i;
        PLACE first = (PLACE)K;
        PRAGMA(omp simd reduction(min : first))
        for (PLACE k = 0; k < (PLACE)K; k++) {
            PLACE place = row[k] == top ? k : (PLACE)K;
            first = place < first ? place : first;
        }
        predicted[i] = first;
        confidence[i] = top;
        of_label[i] = row[label];
        if (brier != NULL) {
            double missing = 1.0 - (double)row[label];
            brier[i] = NAMED(sum_of_squares)(row, label)
                       + NAMED(sum_of_squares)(row + label + 1, K - label - 1)
                       + missing * missing;
        }
    }
    return -1;
}

/* Number of edges below the value; right-closed bins. The guess is right or next to it for
   equal widths, and the edges themselves decide. */
ALWAYS_INLINE ptrdiff_t NAMED(bin_of)(REAL value, const REAL *edges, ptrdiff_t n_edges)
{
    double place = (double)value * (double)(n_edges + 1);
    ptrdiff_t m = place < (double)n_edges ? (ptrdiff_t)place : n_edges;
    m = m > 0 ? m : 0;
    while (m > 0 && !(edges[m - 1] < value))
        m--;
    while (m < n_edges && edges[m] < value)
        m++;
    return m;
}

/* Adds rows start .. stop-1 to the bins of every class:
     sums[0][m][k] += weight, for bins m = 1 and up (the first is what is left of all);
     sums[1][m][k] += weight * value;
     sums[2][m][k] += weight if k is the label.
   In a row of many classes nearly all entries are in the first bin: these are added in
   vectors, and only blocks that hold a larger one are looked at entry by entry. */
VECTOR_CLONES
static void NAMED(sum_class_bins)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                  const double *weights, const REAL *edges,
                                  ptrdiff_t n_edges, ptrdiff_t start, ptrdiff_t stop,
                                  double *sums)
{
    enum { BLOCK = 16 };
    const ptrdiff_t size = (n_edges + 1) * K;
    double *RESTRICT mass = sums, *RESTRICT value = sums + size;
    double *RESTRICT hits = sums + 2 * size;
    const REAL first_edge = n_edges > 0 ? edges[0] : (REAL)2.0;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        const double weight = weights[i];
        if (weight == 0.0)
            continue;
        for (ptrdiff_t begin = 0; begin < K; begin += BLOCK) {
            const ptrdiff_t end = begin + BLOCK < K ? begin + BLOCK : K;
            int beyond = 0;
            PRAGMA(omp simd reduction(+ : beyond))
            for (ptrdiff_t k = begin; k < end; k++) {
                double x = (double)row[k];
                int above = row[k] > first_edge;
                value[k] += above ? 0.0 : weight * x;
                beyond += above;
            }
            for (ptrdiff_t k = begin; beyond > 0; k++)
                if (row[k] > first_edge) {
                    ptrdiff_t cell = NAMED(bin_of)(row[k], edges, n_edges) * K + k;
                    mass[cell] += weight;
                    value[cell] += weight * (double)row[k];
                    beyond--;
                }
        }
        hits[NAMED(bin_of)(row[labels[i]], edges, n_edges) * K + labels[i]] += weight;
    }
}
