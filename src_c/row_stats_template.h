/* Compiled twice by row_stats.h, with REAL = float and double. Sums are double. */

/* What is read of every row; all but `hits` may be NULL, and is then left out. */
typedef struct {
    uint8_t *hits;      /* whether the predicted column is the label */
    int64_t *predicted; /* column of the largest entry, the first one if several tie */
    REAL *confidence;   /* that entry */
    REAL *of_label;     /* the label's entry */
    double *brier;      /* squared distance to the label's corner of the simplex */
} NAMED(row_outputs);

/* Every comparison is written so that NaN fails it. */
ALWAYS_INLINE int NAMED(on_simplex)(double sum, REAL low, double tolerance)
{
    return (fabs(sum - 1.0) <= tolerance) & (low >= (REAL)0.0);
}

/* Reads `lanes` short rows from row i on, as lanes.h says. The Brier score is a sum of
   squares without the label's own, so that it is never negative. Returns the first row that
   is no probability vector, or -1. */
ALWAYS_INLINE ptrdiff_t NAMED(read_short_rows)(const REAL *probs, ptrdiff_t K,
                                               const int64_t *labels, double tolerance,
                                               ptrdiff_t i, const int lanes,
                                               const int with_brier,
                                               const NAMED(row_outputs) *out)
{
    const REAL *RESTRICT rows = probs + i * K;
    REAL top[LANES], low[LANES];
    PLACE place[LANES], label[LANES];
    double sum[LANES], squares[LANES];
    PRAGMA(omp simd)
    for (int l = 0; l < lanes; l++) {
        top[l] = low[l] = rows[l * K];
        sum[l] = squares[l] = 0.0;
        place[l] = 0;
        label[l] = (PLACE)labels[i + l];
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int l = 0; l < lanes; l++) {
            const REAL x = rows[l * K + k];
            const PLACE larger = -(PLACE)(x > top[l]);
            place[l] ^= (place[l] ^ (PLACE)k) & larger; /* a choice without a branch */
            top[l] = x > top[l] ? x : top[l];
            low[l] = x < low[l] ? x : low[l];
            sum[l] += (double)x;
            if (with_brier)
                squares[l] += label[l] == (PLACE)k ? 0.0 : (double)x * (double)x;
        }
    }
    PLACE bad = 0;
    PRAGMA(omp simd reduction(| : bad))
    for (int l = 0; l < lanes; l++)
        bad |= NAMED(on_simplex)(sum[l], low[l], tolerance) ? 0 : 1;
    if (bad)
        for (int l = 0; l < lanes; l++)
            if (!NAMED(on_simplex)(sum[l], low[l], tolerance))
                return i + l;
    for (int l = 0; l < lanes; l++)
        out->hits[i + l] = place[l] == label[l];
    if (out->predicted != NULL)
        for (int l = 0; l < lanes; l++)
            out->predicted[i + l] = place[l];
    if (out->confidence != NULL)
        for (int l = 0; l < lanes; l++)
            out->confidence[i + l] = top[l];
    if (out->of_label != NULL)
        for (int l = 0; l < lanes; l++)
            out->of_label[i + l] = rows[l * K + (ptrdiff_t)label[l]];
    if (with_brier)
        for (int l = 0; l < lanes; l++) {
            const double missing = 1.0 - (double)rows[l * K + (ptrdiff_t)label[l]];
            out->brier[i + l] = squares[l] + missing * missing;
        }
    return -1;
}

ALWAYS_INLINE ptrdiff_t NAMED(read_all_short_rows)(const REAL *probs, ptrdiff_t K,
                                                   const int64_t *labels, double tolerance,
                                                   ptrdiff_t start, ptrdiff_t stop,
                                                   const int with_brier,
                                                   const NAMED(row_outputs) *out)
{
    ptrdiff_t bad = -1;
    if (stop - start < LANES) {
        for (ptrdiff_t i = start; i < stop && bad < 0; i++)
            bad = NAMED(read_short_rows)(probs, K, labels, tolerance, i, 1, with_brier, out);
        return bad;
    }
    for (ptrdiff_t i = start; i < stop && bad < 0; i += LANES) {
        const ptrdiff_t first = block_at(i, stop);
        prefetch_ahead(probs + first * K, (size_t)(LANES * K) * sizeof(REAL));
        bad = NAMED(read_short_rows)(probs, K, labels, tolerance, first, LANES,
                                     with_brier, out);
    }
    return bad;
}

/* First column that holds the row's largest entry. */
ALWAYS_INLINE ptrdiff_t NAMED(first_place)(const REAL *RESTRICT row, ptrdiff_t K, REAL top)
{
    PLACE first = (PLACE)K;
    PRAGMA(omp simd reduction(min : first))
    for (PLACE k = 0; k < (PLACE)K; k++) {
        const PLACE place = row[k] == top ? k : (PLACE)K;
        first = place < first ? place : first;
    }
    return first;
}

/* Reads one long row in the same way; returns whether it is a probability vector. Sums are
   taken in STRANDS strands, whatever the clone's vectors: all clones give the same bits. */
ALWAYS_INLINE int NAMED(read_long_row)(const REAL *RESTRICT row, ptrdiff_t K,
                                       ptrdiff_t label, double tolerance, ptrdiff_t i,
                                       const int with_brier,
                                       const NAMED(row_outputs) *out)
{
    const ptrdiff_t whole = K - K % STRANDS;
    REAL tops[STRANDS], lows[STRANDS], top = row[0], low = row[0];
    double sums[STRANDS], squares[STRANDS], sum = 0.0, square = 0.0;
    for (int s = 0; s < STRANDS; s++) {
        tops[s] = lows[s] = row[0];
        sums[s] = squares[s] = 0.0;
    }
    for (ptrdiff_t k = 0; k < whole; k += STRANDS) {
        const PLACE own = (PLACE)(label - k);
        PRAGMA(omp simd)
        for (PLACE s = 0; s < STRANDS; s++) {
            const REAL x = row[k + s];
            tops[s] = x > tops[s] ? x : tops[s];
            lows[s] = x < lows[s] ? x : lows[s];
            sums[s] += (double)x;
            if (with_brier)
                squares[s] += s == own ? 0.0 : (double)x * (double)x;
        }
    }
    for (ptrdiff_t k = whole; k < K; k++) {
        const REAL x = row[k];
        top = x > top ? x : top;
        low = x < low ? x : low;
        sum += (double)x;
        square += k == label ? 0.0 : (double)x * (double)x;
    }
    PRAGMA(omp simd reduction(max : top) reduction(min : low))
    for (int s = 0; s < STRANDS; s++) {
        top = tops[s] > top ? tops[s] : top;
        low = lows[s] < low ? lows[s] : low;
    }
    for (int half = STRANDS / 2; half > 0; half /= 2)
        for (int s = 0; s < half; s++)
            sums[s] += sums[s + half];
    sum += sums[0];
    for (int s = 0; s < STRANDS && with_brier; s++)
        square += squares[s];
    if (!NAMED(on_simplex)(sum, low, tolerance))
        return 0;
    const ptrdiff_t place = NAMED(first_place)(row, K, top);
    out->hits[i] = place == label;
    if (out->predicted != NULL)
        out->predicted[i] = place;
    if (out->confidence != NULL)
        out->confidence[i] = top;
    if (out->of_label != NULL)
        out->of_label[i] = row[label];
    if (with_brier) {
        const double missing = 1.0 - (double)row[label];
        out->brier[i] = square + missing * missing;
    }
    return 1;
}

ALWAYS_INLINE ptrdiff_t NAMED(read_any_rows)(const REAL *probs, ptrdiff_t K,
                                             const int64_t *labels, double tolerance,
                                             ptrdiff_t start, ptrdiff_t stop,
                                             const int with_brier,
                                             const NAMED(row_outputs) *out)
{
    if (K <= READ_LANE_COLUMNS)
        return NAMED(read_all_short_rows)(probs, K, labels, tolerance, start, stop,
                                          with_brier, out);
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *row = probs + i * K;
        prefetch_ahead(row, (size_t)K * sizeof(REAL));
        if (!NAMED(read_long_row)(row, K, labels[i], tolerance, i, with_brier, out))
            return i;
    }
    return -1;
}

/* All that the top-label metrics need of rows start .. stop-1, in one read. Returns the first
   row that is no probability vector, where it stops, or -1.

     probs, labels          in   (n, K) and (n,)
     tolerance              in   how far from one the sum of a row may be
     start, stop            in   the rows that are done
     hits                   out  (n,)
     predicted, confidence,
     of_label, brier        out  (n,) each, or NULL; as in row_outputs */
VECTOR_CLONES
static ptrdiff_t NAMED(read_rows)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                  double tolerance, ptrdiff_t start, ptrdiff_t stop,
                                  uint8_t *hits, int64_t *predicted, REAL *confidence,
                                  REAL *of_label, double *brier)
{
    const NAMED(row_outputs) out = {hits, predicted, confidence, of_label, brier};
    if (brier != NULL)
        return NAMED(read_any_rows)(probs, K, labels, tolerance, start, stop, 1, &out);
    return NAMED(read_any_rows)(probs, K, labels, tolerance, start, stop, 0, &out);
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

/* Which of n <= STRANDS entries, `stride` apart, are beyond the first bin: bit s for s. */
ALWAYS_INLINE uint32_t NAMED(beyond)(const REAL *RESTRICT entries, ptrdiff_t stride,
                                     const int n, REAL first_edge)
{
    /* Shifts by s would not become vectors. Without this table: 207 -> 288 ns per row at
       K = 1000, 30 -> 41 at K = 100; 15 -> 12.5 at K = 10, where rows are strided (min of
       400, sum_class_gaps). */
    static const PLACE bit[STRANDS] = {1,       1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                       1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                       1 << 12, 1 << 13, 1 << 14, 1 << 15};
    PLACE bits = 0;
    PRAGMA(omp simd reduction(| : bits))
    for (int s = 0; s < n; s++)
        bits |= entries[s * stride] > first_edge ? bit[s] : 0;
    return (uint32_t)bits;
}

/* Adds an entry of one class to its bin; `gaps` begins at that class. */
ALWAYS_INLINE void NAMED(add_gap)(REAL value, double weight, const REAL *edges,
                                  ptrdiff_t n_edges, ptrdiff_t K, double *RESTRICT gaps)
{
    gaps[NAMED(bin_of)(value, edges, n_edges) * K] += weight * (double)value;
}

/* Rows i .. i+lanes-1 of few classes; the sums of the first bin are kept by lane. */
ALWAYS_INLINE ptrdiff_t NAMED(sum_short_gaps)(const REAL *probs, ptrdiff_t K,
                                              const int64_t *labels, const double *weights,
                                              double tolerance, const REAL *edges,
                                              ptrdiff_t n_edges, ptrdiff_t i,
                                              const int lanes, double *RESTRICT first_bin,
                                              double *RESTRICT gaps)
{
    const REAL first_edge = n_edges > 0 ? edges[0] : (REAL)INFINITY;
    const REAL *RESTRICT rows = probs + i * K;
    double sum[LANES], weight[LANES];
    REAL low[LANES];
    PRAGMA(omp simd)
    for (int l = 0; l < lanes; l++) {
        weight[l] = weights[i + l];
        sum[l] = 0.0;
        low[l] = (REAL)0.0;
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        double *RESTRICT first = first_bin + k * LANES;
        PRAGMA(omp simd)
        for (int l = 0; l < lanes; l++) {
            const REAL x = rows[l * K + k];
            const double counted = x > first_edge ? 0.0 : (double)x;
            first[l] += weight[l] * counted;
            low[l] = x < low[l] ? x : low[l];
            sum[l] += (double)x;
        }
        uint32_t bits = NAMED(beyond)(rows + k, K, lanes, first_edge);
        for (; bits != 0; bits &= bits - 1) {
            const int l = lowest_bit(bits);
            NAMED(add_gap)(rows[l * K + k], weight[l], edges, n_edges, K, gaps + k);
        }
    }
    for (int l = 0; l < lanes; l++) {
        if (!NAMED(on_simplex)(sum[l], low[l], tolerance))
            return i + l;
        const ptrdiff_t label = labels[i + l];
        const REAL own = rows[l * K + label];
        gaps[NAMED(bin_of)(own, edges, n_edges) * K + label] -= weight[l];
    }
    return -1;
}

ALWAYS_INLINE ptrdiff_t NAMED(sum_all_short_gaps)(const REAL *probs, ptrdiff_t K,
                                                  const int64_t *labels,
                                                  const double *weights, double tolerance,
                                                  const REAL *edges, ptrdiff_t n_edges,
                                                  ptrdiff_t start, ptrdiff_t stop,
                                                  double *RESTRICT gaps)
{
    double first_bin[READ_LANE_COLUMNS * LANES] = {0.0};
    ptrdiff_t bad = -1, i = start;
    for (; i + LANES <= stop && bad < 0; i += LANES) {
        prefetch_ahead(probs + i * K, (size_t)(LANES * K) * sizeof(REAL));
        bad = NAMED(sum_short_gaps)(probs, K, labels, weights, tolerance, edges, n_edges, i,
                                    LANES, first_bin, gaps);
    }
    for (; i < stop && bad < 0; i++)
        bad = NAMED(sum_short_gaps)(probs, K, labels, weights, tolerance, edges, n_edges, i,
                                    1, first_bin, gaps);
    for (ptrdiff_t k = 0; k < K; k++)
        for (int l = 0; l < LANES; l++)
            gaps[k] += first_bin[k * LANES + l];
    return bad;
}

/* One row of many classes; returns whether it is a probability vector. */
ALWAYS_INLINE int NAMED(sum_long_gaps)(const REAL *RESTRICT row, ptrdiff_t K,
                                       ptrdiff_t label, double weight, double tolerance,
                                       const REAL *edges, ptrdiff_t n_edges,
                                       double *RESTRICT gaps)
{
    const REAL first_edge = n_edges > 0 ? edges[0] : (REAL)INFINITY;
    const ptrdiff_t whole = K - K % STRANDS;
    double sums[STRANDS] = {0.0}, sum = 0.0;
    REAL lows[STRANDS] = {(REAL)0.0}, low = (REAL)0.0;
    for (ptrdiff_t begin = 0; begin < whole; begin += STRANDS) {
        double *RESTRICT first = gaps + begin;
        PRAGMA(omp simd)
        for (int s = 0; s < STRANDS; s++) {
            const REAL x = row[begin + s];
            const double counted = x > first_edge ? 0.0 : (double)x;
            first[s] += weight * counted;
            lows[s] = x < lows[s] ? x : lows[s];
            sums[s] += (double)x;
        }
        uint32_t bits = NAMED(beyond)(row + begin, 1, STRANDS, first_edge);
        for (; bits != 0; bits &= bits - 1) {
            const ptrdiff_t k = begin + lowest_bit(bits);
            NAMED(add_gap)(row[k], weight, edges, n_edges, K, gaps + k);
        }
    }
    for (ptrdiff_t k = whole; k < K; k++) {
        NAMED(add_gap)(row[k], weight, edges, n_edges, K, gaps + k);
        low = row[k] < low ? row[k] : low;
        sum += (double)row[k];
    }
    for (int s = 0; s < STRANDS; s++) {
        sum += sums[s];
        low = lows[s] < low ? lows[s] : low;
    }
    if (!NAMED(on_simplex)(sum, low, tolerance))
        return 0;
    gaps[NAMED(bin_of)(row[label], edges, n_edges) * K + label] -= weight;
    return 1;
}

/* Adds to gaps[m][k] what rows start .. stop-1 have in bin m of class k: the sums of
   weight * (entry - 1 if k is the label). Where classes are many, most entries are in the
   first bin: these are added in vectors, and only the others are looked at one by one.
   Returns the first row that is no probability vector, where it stops, or -1.

     probs, labels  in       (n, K) and (n,)
     weights        in       (n,), of the rows
     tolerance      in       how far from one the sum of a row may be
     edges          in       (n_edges,), the interior edges of the bins, ascending
     start, stop    in       the rows that are done
     gaps           in, out  (n_edges + 1, K) */
VECTOR_CLONES
static ptrdiff_t NAMED(sum_class_gaps)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                       const double *weights, double tolerance,
                                       const REAL *edges, ptrdiff_t n_edges,
                                       ptrdiff_t start, ptrdiff_t stop, double *gaps)
{
    if (K <= READ_LANE_COLUMNS)
        return NAMED(sum_all_short_gaps)(probs, K, labels, weights, tolerance, edges,
                                         n_edges, start, stop, gaps);
    for (ptrdiff_t i = start; i < stop; i++) {
        prefetch_ahead(probs + i * K, (size_t)K * sizeof(REAL));
        if (!NAMED(sum_long_gaps)(probs + i * K, K, labels[i], weights[i], tolerance, edges,
                                  n_edges, gaps))
            return i;
    }
    return -1;
}
