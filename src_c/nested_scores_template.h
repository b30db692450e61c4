/* Compiled twice by nested_scores.h, with REAL = float and double.
   `probs` is row-major with K columns; rows start .. stop-1 are done; arithmetic is double. */

/* Mass and number of the entries strictly above p. */
ALWAYS_INLINE void NAMED(above)(const REAL *RESTRICT row, ptrdiff_t K, double p,
                                double *mass_above, double *n_above)
{
    double mass = 0.0, count = 0.0;
    PRAGMA(omp simd reduction(+ : mass, count))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k], x_on_grid = on_grid(x);
        mass += x > p ? x_on_grid : 0.0;
        count += x > p ? 1.0 : 0.0;
    }
    *mass_above = mass;
    *n_above = count;
}

ALWAYS_INLINE double NAMED(largest)(const REAL *RESTRICT row, ptrdiff_t K)
{
    double top = 0.0;
    PRAGMA(omp simd reduction(max : top))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k];
        top = x > top ? x : top;
    }
    return top;
}

/* The two largest entries, equal if the largest is tied. */
ALWAYS_INLINE void NAMED(two_largest)(const REAL *RESTRICT row, ptrdiff_t K, double *first,
                                      double *second)
{
    double top = -1.0, next = -1.0;
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k];
        double beaten = x > top ? top : x;
        top = x > top ? x : top;
        next = beaten > next ? beaten : next;
    }
    *first = top;
    *second = next;
}

VECTOR_CLONES
static void NAMED(true_label_scores)(const nested_score *s, const REAL *probs, ptrdiff_t K,
                                     const int64_t *labels, const double *uniforms,
                                     ptrdiff_t start, ptrdiff_t stop, double *out)
{
    int needs_above = s->kind != SCORE_LAC && s->kind != SCORE_MARGIN;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *row = probs + i * K;
        double p = (double)row[labels[i]];
        double mass = 0.0, count = 0.0, top = 0.0, rival = 0.0;
        if (needs_above)
            NAMED(above)(row, K, p, &mass, &count);
        if (s->kind == SCORE_SAPS)
            top = NAMED(largest)(row, K);
        if (s->kind == SCORE_MARGIN) {
            double next;
            NAMED(two_largest)(row, K, &top, &next);
            rival = p == top ? next : top;
        }
        out[i] = score_at(s, mass, count, p, top, rival, uniforms[i]);
    }
}

/* Scores of every label, out of shape (n, K). Returns -1 if out of memory. */
VECTOR_CLONES
static int NAMED(all_label_scores)(const nested_score *s, const REAL *probs, ptrdiff_t K,
                                   const double *uniforms, ptrdiff_t start, ptrdiff_t stop,
                                   double *out)
{
    double *memory = (double *)malloc(3 * (size_t)K * sizeof(double));
    if (memory == NULL)
        return -1;
    double *group_scores = memory + 2 * K;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *row = probs + i * K;
        double *scores = out + i * K;
        for (ptrdiff_t k = 0; k < K; k++)
            memory[k] = (double)row[k];
        double *sorted = sort_descending(memory, memory + K, K);
        double top = sorted[0], next = K > 1 ? sorted[1] : -1.0;

        /* Keep the distinct values only, each with the score its labels share. */
        double mass = 0.0;
        ptrdiff_t n_groups = 0, k = 0;
        while (k < K) {
            double p = sorted[k];
            ptrdiff_t after = k + 1;
            while (after < K && sorted[after] == p)
                after++;
            double rival = p == top ? next : top;
            group_scores[n_groups] = score_at(s, mass, (double)k, p, top, rival, uniforms[i]);
            sorted[n_groups++] = p;
            mass += (double)(after - k) * on_grid(p);
            k = after;
        }
        for (k = 0; k < K; k++) {
            double p = (double)row[k];
            const double *base = sorted; /* branch-free search for p, which is there */
            for (ptrdiff_t len = n_groups; len > 1;) {
                ptrdiff_t half = len / 2;
                base += base[half] >= p ? half : 0;
                len -= half;
            }
            scores[k] = group_scores[base - sorted];
        }
    }
    free(memory);
    return 0;
}

/* The smallest probability whose score is at most `threshold`; +inf if there is none.

   Weighted selection: a pivot's score tells on which side of it the cutoff lies, and only
   that side is kept. Expected O(K), and the rest is sorted if the pivots are unlucky.
   `buffer` has room for 2 K doubles. */
ALWAYS_INLINE double NAMED(set_cutoff)(const nested_score *s, const REAL *RESTRICT row,
                                       ptrdiff_t K, double threshold, double top, double u,
                                       double *RESTRICT buffer)
{
    enum { SMALL = 24, MAX_ROUNDS = 40 };
    double cutoff = INFINITY, mass_done = 0.0, n_done = 0.0;
    ptrdiff_t m = K;
    for (ptrdiff_t k = 0; k < K; k++)
        buffer[k] = (double)row[k];

    for (int round = 0; m > SMALL && round < MAX_ROUNDS; round++) {
        ptrdiff_t step = m / 9;
        const double *b = buffer;
        double pivot = median_of_3(median_of_3(b[0], b[step], b[2 * step]),
                                   median_of_3(b[3 * step], b[4 * step], b[5 * step]),
                                   median_of_3(b[6 * step], b[7 * step], b[8 * step]));
        double mass, count;
        above_f64(buffer, m, pivot, &mass, &count);
        ptrdiff_t kept = 0;
        if (score_at(s, mass_done + mass, n_done + count, pivot, top, top, u) <= threshold) {
            cutoff = pivot;
            for (ptrdiff_t k = 0; k < m; k++) {
                double x = buffer[k];
                buffer[kept] = x;
                kept += x < pivot;
            }
            double n_equal = (double)(m - kept) - count;
            mass_done += mass + n_equal * on_grid(pivot);
            n_done += count + n_equal;
        } else {
            for (ptrdiff_t k = 0; k < m; k++) {
                double x = buffer[k];
                buffer[kept] = x;
                kept += x > pivot;
            }
        }
        m = kept;
    }

    const double *sorted = sort_descending(buffer, buffer + K, m);
    for (ptrdiff_t k = 0; k < m;) {
        double p = sorted[k];
        if (!(score_at(s, mass_done, n_done, p, top, top, u) <= threshold))
            break;
        cutoff = p;
        for (; k < m && sorted[k] == p; k++) {
            mass_done += on_grid(p);
            n_done += 1.0;
        }
    }
    return cutoff;
}

/* Labels between the cutoffs of the smallest and the largest finite threshold: in or out by
   their own class's threshold. Only these few are sorted. */
ALWAYS_INLINE void NAMED(decide_between)(const nested_score *s, const REAL *row, ptrdiff_t K,
                                         const double *thresholds, double never_below,
                                         double sure_from, double top, double u,
                                         double *buffer, uint8_t *mask)
{
    double mass = 0.0, count = 0.0;
    ptrdiff_t m = 0;
    for (ptrdiff_t k = 0; k < K; k++) {
        double p = (double)row[k];
        mass += p >= sure_from ? on_grid(p) : 0.0;
        count += p >= sure_from ? 1.0 : 0.0;
        buffer[m] = p;
        m += p >= never_below && p < sure_from;
    }
    if (m == 0)
        return;
    double *sorted = sort_descending(buffer, buffer + K, m);
    double *scores = sorted == buffer ? buffer + K : buffer;
    for (ptrdiff_t j = 0; j < m;) {
        double p = sorted[j], shared = score_at(s, mass, count, p, top, top, u);
        for (; j < m && sorted[j] == p; j++) {
            scores[j] = shared;
            mass += on_grid(p);
            count += 1.0;
        }
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        double p = (double)row[k];
        if (p < never_below || p >= sure_from)
            continue;
        ptrdiff_t low = 0;
        for (ptrdiff_t len = m; len > 1;) {
            ptrdiff_t half = len / 2;
            low += sorted[low + half] >= p ? half : 0;
            len -= half;
        }
        mask[k] = scores[low] <= thresholds[k];
    }
}

/* Prediction sets {k : score_k <= threshold}; mask of shape (n, K), sizes of shape (n,).
   Thresholds are one per class, shape (K,), or one per row, shape (n,). +inf puts its label
   into every set, or every label into its row's set. Returns -1 if out of memory. */
VECTOR_CLONES
static int NAMED(prediction_sets)(const nested_score *s, const REAL *probs, ptrdiff_t K,
                                  const double *uniforms, const double *thresholds,
                                  int one_per_row, int never_empty, ptrdiff_t start,
                                  ptrdiff_t stop, uint8_t *mask, int64_t *sizes)
{
    int by_label = s->kind == SCORE_LAC || s->kind == SCORE_MARGIN;
    double lowest = INFINITY, highest = -INFINITY;
    int some_infinite = 0;
    for (ptrdiff_t k = 0; k < K && !one_per_row; k++) {
        double t = thresholds[k];
        lowest = t < lowest ? t : lowest;
        if (t < INFINITY)
            highest = t > highest ? t : highest;
        else
            some_infinite = 1;
    }
    double *buffer = (double *)malloc(2 * (size_t)K * sizeof(double));
    if (buffer == NULL)
        return -1;

    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        uint8_t *RESTRICT in_set = mask + i * K;
        double u = uniforms[i], top = 0.0, next = 0.0;
        if (one_per_row)
            lowest = highest = thresholds[i];

        if (by_label) {
            NAMED(two_largest)(row, K, &top, &next);
            for (ptrdiff_t k = 0; k < K; k++) {
                double p = (double)row[k];
                in_set[k] = score_at(s, 0.0, 0.0, p, top, p == top ? next : top, u)
                            <= (one_per_row ? lowest : thresholds[k]);
            }
        } else if (lowest == INFINITY) {
            memset(in_set, 1, (size_t)K);
        } else {
            if (never_empty || s->kind == SCORE_SAPS)
                top = NAMED(largest)(row, K);
            double sure_from = NAMED(set_cutoff)(s, row, K, lowest, top, u, buffer);
            for (ptrdiff_t k = 0; k < K; k++)
                in_set[k] = (double)row[k] >= sure_from;
            if (highest > lowest) {
                double never_below =
                    NAMED(set_cutoff)(s, row, K, highest, top, u, buffer);
                if (never_below < sure_from)
                    NAMED(decide_between)(s, row, K, thresholds, never_below, sure_from, top,
                                          u, buffer, in_set);
            }
            if (some_infinite)
                for (ptrdiff_t k = 0; k < K; k++)
                    in_set[k] |= thresholds[k] == INFINITY;
        }
        if (never_empty)
            for (ptrdiff_t k = 0; k < K; k++)
                in_set[k] |= (double)row[k] == top;

        int64_t size = 0;
        for (ptrdiff_t k = 0; k < K; k++)
            size += in_set[k];
        sizes[i] = size;
    }
    free(buffer);
    return 0;
}
