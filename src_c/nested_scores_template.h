/* Compiled twice by nested_scores.h, with REAL = float and double.
   Arithmetic is double. Rows are checked on the way, as long as they are in the cache: a
   kernel stops at the first that is no probability vector, and returns it; else it returns
   ALL_GOOD, or NO_MEMORY. The kernels' arguments:

     probs        in   (n, K), row by row
     tolerance    in   how far from one the sum of a row may be
     s            in   which score, and its parameters
     labels       in   (n,), the true labels
     uniforms     in   (n,), one per row
     thresholds   in   (K,) by class, or (n,) by row if `one_per_row`; may be +inf
     never_empty  in   whether the most likely label is put into every set
     start, stop  in   the rows that are done: start .. stop-1
     out          out  (n,) scores of the true labels, or (n, K) of all labels
     mask, sizes  out  (n, K) and (n,), the sets and their sizes */

/* Mass and number of the entries strictly above p. Returns whether the row is a probability
   vector, as is_simplex does. */
ALWAYS_INLINE int NAMED(above)(const REAL *RESTRICT row, ptrdiff_t K, double tolerance,
                               double p, double *mass_above, double *n_above)
{
    double mass = 0.0, count = 0.0, sum = 0.0, smallest = 0.0;
    PRAGMA(omp simd reduction(+ : mass, count, sum) reduction(min : smallest))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k], on_grid_k = on_grid(x);
        mass += x > p ? on_grid_k : 0.0;
        count += x > p ? 1.0 : 0.0;
        sum += x;
        smallest = x < smallest ? x : smallest;
    }
    *mass_above = mass;
    *n_above = count;
    return fabs(sum - 1.0) <= tolerance && smallest >= 0.0;
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
    double top = NAMED(largest)(row, K), next = -1.0;
    int64_t n_top = 0;
    PRAGMA(omp simd reduction(max : next) reduction(+ : n_top))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k], beaten = x < top ? x : -1.0;
        next = beaten > next ? beaten : next;
        n_top += x == top;
    }
    *first = top;
    *second = n_top > 1 ? top : next;
}

/* Turns LANES rows into columns; returns whether all are probability vectors. */
ALWAYS_INLINE int NAMED(read_block)(const REAL *RESTRICT rows, ptrdiff_t K, double tolerance,
                                    row_block *RESTRICT b)
{
    double sum[LANES], smallest[LANES];
    for (int r = 0; r < LANES; r++) {
        sum[r] = smallest[r] = 0.0;
        b->top[r] = b->next[r] = -1.0;
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double x = (double)rows[r * K + k];
            double beaten = x < b->top[r] ? x : b->top[r];
            b->p[k * LANES + r] = x;
            b->p_on_grid[k * LANES + r] = on_grid(x);
            b->next[r] = beaten > b->next[r] ? beaten : b->next[r];
            b->top[r] = x > b->top[r] ? x : b->top[r];
            sum[r] += x;
            smallest[r] = x < smallest[r] ? x : smallest[r];
        }
    }
    return all_simplex(sum, smallest, tolerance);
}

VECTOR_CLONES
static ptrdiff_t NAMED(true_label_scores)(const REAL *probs, ptrdiff_t K, double tolerance,
                                          const nested_score *s, const int64_t *labels,
                                          const double *uniforms, ptrdiff_t start,
                                          ptrdiff_t stop, double *out)
{
    int needs_above = s->kind != SCORE_LAC && s->kind != SCORE_MARGIN;
    ptrdiff_t i = start;
    row_block b;
    for (; K <= READ_LANE_COLUMNS && i + LANES <= stop; i += LANES) {
        if (!NAMED(read_block)(probs + i * K, K, tolerance, &b))
            break;
        double own[LANES];
        for (int r = 0; r < LANES; r++)
            own[r] = b.p[labels[i + r] * LANES + r];
        score_block(s, &b, K, own, uniforms + i, out + i);
    }
    for (; i < stop; i++) {
        const REAL *row = probs + i * K;
        double p = (double)row[labels[i]];
        double mass = 0.0, count = 0.0, top = 0.0, rival = 0.0;
        prefetch_ahead(row, (size_t)K * sizeof(REAL));
        if (!(needs_above ? NAMED(above)(row, K, tolerance, p, &mass, &count)
                          : NAMED(is_simplex)(row, K, tolerance)))
            return i;
        if (s->kind == SCORE_SAPS)
            top = NAMED(largest)(row, K);
        if (s->kind == SCORE_MARGIN) {
            double next;
            NAMED(two_largest)(row, K, &top, &next);
            rival = p == top ? next : top;
        }
        out[i] = score_at(s, mass, count, p, top, rival, uniforms[i]);
    }
    return ALL_GOOD;
}

/* Scores of all labels of a row that need no other entry but the largest: LAC, margin. */
ALWAYS_INLINE void NAMED(score_row)(const nested_score *s, const REAL *RESTRICT row,
                                    ptrdiff_t K, double *RESTRICT out)
{
    if (s->kind == SCORE_LAC) {
        for (ptrdiff_t k = 0; k < K; k++)
            out[k] = 1.0 - (double)row[k];
        return;
    }
    double top, next;
    NAMED(two_largest)(row, K, &top, &next);
    for (ptrdiff_t k = 0; k < K; k++) {
        double p = (double)row[k], rival = p == top ? next : top;
        out[k] = rival - p;
    }
}

/* Scores of every label, out of shape (n, K). */
VECTOR_CLONES
static ptrdiff_t NAMED(all_label_scores)(const REAL *probs, ptrdiff_t K, double tolerance,
                                         const nested_score *s, const double *uniforms,
                                         ptrdiff_t start, ptrdiff_t stop, double *out)
{
    int by_label = s->kind == SCORE_LAC || s->kind == SCORE_MARGIN;
    ptrdiff_t i = start;
    row_block block;
    for (; K <= READ_LANE_COLUMNS && i + LANES <= stop; i += LANES) {
        if (!NAMED(read_block)(probs + i * K, K, tolerance, &block))
            break;
        for (ptrdiff_t k = 0; k < K; k++) {
            double score[LANES];
            score_block(s, &block, K, block.p + k * LANES, uniforms + i, score);
            for (int r = 0; r < LANES; r++)
                out[(i + r) * K + k] = score[r];
        }
    }
    row_buffers b = allocate_buffers(K);
    if (b.p == NULL)
        return NO_MEMORY;
    for (; i < stop; i++) {
        const REAL *row = probs + i * K;
        if (!NAMED(is_simplex)(row, K, tolerance))
            break;
        if (by_label) {
            NAMED(score_row)(s, row, K, out + i * K);
            continue;
        }
        for (ptrdiff_t k = 0; k < K; k++)
            b.p[k] = (double)row[k];
        double top = s->kind == SCORE_SAPS ? NAMED(largest)(row, K) : 0.0;
        score_labels(s, &b, K, 0.0, 0.0, top, uniforms[i], out + i * K);
    }
    free(b.p);
    return i < stop ? i : ALL_GOOD;
}

/* Marks the labels with 1 - p at most the threshold, and returns how many they are. */
ALWAYS_INLINE int64_t NAMED(mark_by_value)(const REAL *RESTRICT row, ptrdiff_t K,
                                           double threshold, uint8_t *RESTRICT in_set)
{
    double size = 0.0; /* as wide as the entries, or the sum would not be vectors */
    PRAGMA(omp simd reduction(+ : size))
    for (ptrdiff_t k = 0; k < K; k++)
        size += 1.0 - (double)row[k] <= threshold ? 1.0 : 0.0;
    for (ptrdiff_t k = 0; k < K; k++)
        in_set[k] = 1.0 - (double)row[k] <= threshold;
    return (int64_t)size;
}

/* One look at a row: what stands above `at`, and the largest entry that does not, or -1. */
ALWAYS_INLINE void NAMED(look)(const REAL *RESTRICT row, ptrdiff_t K, double at,
                               double *mass_above, double *n_above, double *entry)
{
    double mass = 0.0, largest = -1.0;
    int64_t count = 0;
    PRAGMA(omp simd reduction(+ : mass, count) reduction(max : largest))
    for (ptrdiff_t k = 0; k < K; k++) {
        double x = (double)row[k];
        double counted = x > at ? x : 0.0, other = x > at ? -1.0 : x;
        mass += on_grid(counted);
        count += x > at;
        largest = other > largest ? other : largest;
    }
    *mass_above = mass;
    *n_above = (double)count;
    *entry = largest;
}

/* Entries between `out` and `in`, and their labels; returns their number. As a rule they are
   few: which of 32 entries they are is found by one sum of powers of two, which vectorises.
   Without this, entry by entry: 0.80 -> 1.22 us per row of mark_labels at K = 1000 on flat
   rows, 0.55 -> 0.95 on peaked ones, 9.8 -> 14.7 at K = 10,000 (min of 25). */
ALWAYS_INLINE ptrdiff_t NAMED(gather_between)(const REAL *RESTRICT row, ptrdiff_t K,
                                              double out, double in, double *RESTRICT p,
                                              uint32_t *RESTRICT label)
{
    ptrdiff_t m = 0, first = 0;
    for (; first + 32 <= K; first += 32) {
        double sum = 0.0;
        PRAGMA(omp simd reduction(+ : sum))
        for (int j = 0; j < 32; j++) {
            double x = (double)row[first + j], bit = x > out ? POWER_OF_TWO[j] : 0.0;
            sum += x < in ? bit : 0.0;
        }
        for (uint64_t between = (uint64_t)sum; between != 0; between &= between - 1) {
            ptrdiff_t k = first + lowest_bit(between);
            p[m] = (double)row[k];
            label[m++] = (uint32_t)k;
        }
    }
    for (ptrdiff_t k = first; k < K; k++) {
        double x = (double)row[k];
        p[m] = x;
        label[m] = (uint32_t)k;
        m += (x > out) & (x < in);
    }
    return m;
}

/* The median of three entries between `out` and `in`; -1 if no three are found. The search
   starts at place k and jumps about, so that sorted rows are no worse than others. It is
   asked where guesses have failed. Without this, by guesses alone: 9.7 -> 19.7 us per row of
   mark_labels at K = 10,000 on flat rows; no gain at K = 1000 (min of 25). */
ALWAYS_INLINE double NAMED(sample_between)(const REAL *RESTRICT row, ptrdiff_t K, ptrdiff_t k,
                                           double out, double in)
{
    double found[3];
    ptrdiff_t n_found = 0, jump = (ptrdiff_t)(0.6180339887 * (double)K) | 1;
    for (ptrdiff_t seen = 0; seen < K && n_found < 3; seen++) {
        double x = (double)row[k];
        if (x > out && x < in)
            found[n_found++] = x;
        k = k + jump < K ? k + jump : k + jump - K;
    }
    return n_found < 3 ? -1.0 : median_of_3(found[0], found[1], found[2]);
}

/* Marks the labels by thresholds of their own, without looking for where they part. */
ALWAYS_INLINE int64_t NAMED(mark_row)(const nested_score *s, const REAL *RESTRICT row,
                                      ptrdiff_t K, const double *thresholds, double top,
                                      double u, row_buffers *b, uint8_t *RESTRICT in_set)
{
    for (ptrdiff_t k = 0; k < K; k++)
        b->p[k] = (double)row[k];
    int64_t size = mark_by_buckets(s, b, K, top, u, thresholds, in_set);
    if (size >= 0)
        return size;
    score_labels(s, b, K, 0.0, 0.0, top, u, b->score);
    size = 0;
    for (ptrdiff_t k = 0; k < K; k++) {
        in_set[k] = b->score[k] <= thresholds[k];
        size += in_set[k];
    }
    return size;
}

/* Marks the labels with scores of at most their threshold; returns how many they are.

   The row is looked at until all but a few labels are known to be in or out; those few are
   scored. `lowest` and `highest` are the extremes of the finite thresholds per class, or both
   the one threshold of the row if `thresholds` is NULL. `at` is where to look first, and
   becomes where the next row might be looked at first: that can save looks, and nothing
   else. If looks do not help, what is left is scored, however much it is; where thresholds by
   class leave much open, this row and the next `n_spread` ones are marked by buckets.

   Without this, scoring all labels: 0.80 -> 8.0 us per row at K = 1000, 0.20 -> 0.88 at
   K = 100. Without `at`: 0.80 -> 1.90 at K = 1000 (flat rows, APS, min of 25). */
ALWAYS_INLINE int64_t NAMED(mark_labels)(const nested_score *s, const REAL *RESTRICT row,
                                         ptrdiff_t K, const double *thresholds, double lowest,
                                         double highest, double top, double u, double *at,
                                         int *n_spread, row_buffers *b,
                                         uint8_t *RESTRICT in_set)
{
    if (thresholds != NULL && *n_spread > 0) {
        (*n_spread)--;
        return NAMED(mark_row)(s, row, K, thresholds, top, u, b, in_set);
    }
    enum { MAX_LOOKS = 12, GUESSES = 3 }; /* the first so many looks are always guesses */
    bracket low = open_bracket(lowest, K), high = open_bracket(highest, K);
    double n_left = (double)K, look_at = *at;
    for (int looks = 1; looks <= MAX_LOOKS && look_at >= 0.0; looks++) {
        double mass, count, entry;
        NAMED(look)(row, K, look_at, &mass, &count, &entry);
        /* If all stand above, there is nothing to be found down there. */
        double score = entry < 0.0 ? INFINITY : score_at(s, mass, count, entry, top, top, u);
        entry = entry < 0.0 ? look_at : entry;
        tighten(&low, entry, score, count, mass);
        tighten(&high, entry, score, count, mass);
        const bracket *wider = n_between(&low) >= n_between(&high) ? &low : &high;
        double n_certain = high.n_above_in - low.n_above_out; /* to be scored anyway */
        if (high.n_above_out - low.n_above_in <= FEW_LABELS || n_between(wider) <= LANES
            || n_between(&low) + n_between(&high) <= n_certain || low.in <= 0.0)
            break;
        int is_halved = n_between(wider) <= 0.5 * n_left;
        n_left = n_between(wider);
        look_at = looks < GUESSES || is_halved
                      ? next_look(s, wider)
                      : NAMED(sample_between)(row, K, looks * (K / MAX_LOOKS) % K, wider->out,
                                              wider->in);
    }
    if (low.in < INFINITY)
        *at = 0.5 * (low.in + (high.out > 0.0 ? high.out : 0.0));
    else if (high.out > 0.0)
        *at = high.out;

    double n_open = high.n_above_out - low.n_above_in;
    if (thresholds != NULL && K >= SHORTEST_DEALT && n_open > 0.25 * (double)K) {
        *n_spread = ROWS_BEFORE_LOOKING;
        return NAMED(mark_row)(s, row, K, thresholds, top, u, b, in_set);
    }
    if (high.mass_above_out < 0.0)
        NAMED(above)(row, K, 0.0, high.out, &high.mass_above_out, &high.n_above_out);
    ptrdiff_t m = NAMED(gather_between)(row, K, high.out, low.in, b->p, b->label);
    double mass_in = high.mass_above_out, n_in = high.n_above_out - (double)m;
    for (ptrdiff_t j = 0; j < m; j++)
        mass_in -= on_grid(b->p[j]);
    for (ptrdiff_t k = 0; k < K; k++)
        in_set[k] = (double)row[k] >= low.in;
    score_labels(s, b, m, mass_in, n_in, top, u, b->score);
    int64_t size = (int64_t)n_in;
    for (ptrdiff_t j = 0; j < m; j++) {
        uint32_t k = b->label[j];
        int is_in = b->score[j] <= (thresholds == NULL ? lowest : thresholds[k]);
        in_set[k] = (uint8_t)is_in;
        size += is_in;
    }
    return size;
}

/* Prediction sets {k : score_k <= threshold}. A threshold of +inf puts its label into every
   set, or every label into its row's set. */
VECTOR_CLONES
static ptrdiff_t NAMED(prediction_sets)(const REAL *probs, ptrdiff_t K, double tolerance,
                                        const nested_score *s, const double *uniforms,
                                        const double *thresholds, int one_per_row,
                                        int never_empty, ptrdiff_t start, ptrdiff_t stop,
                                        uint8_t *mask, int64_t *sizes)
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
    ptrdiff_t i = start;
    row_block block;
    for (; K <= READ_LANE_COLUMNS && i + LANES <= stop; i += LANES) {
        if (!NAMED(read_block)(probs + i * K, K, tolerance, &block))
            break;
        mark_block(s, &block, K, uniforms + i, one_per_row ? thresholds + i : thresholds,
                   one_per_row, never_empty, mask + i * K, sizes + i);
    }
    row_buffers b = allocate_buffers(K);
    if (b.p == NULL)
        return NO_MEMORY;

    double look_at = 1.0 / (double)K;
    int n_spread = 0;
    for (; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        uint8_t *RESTRICT in_set = mask + i * K;
        double u = uniforms[i], top = 0.0;
        int64_t size = -1; /* not counted yet */
        if (!NAMED(is_simplex)(row, K, tolerance))
            break;
        if (one_per_row)
            lowest = highest = thresholds[i];
        if (never_empty || s->kind == SCORE_SAPS)
            top = NAMED(largest)(row, K);

        if (lowest == INFINITY) {
            memset(in_set, 1, (size_t)K);
            size = K;
        } else if (s->kind == SCORE_LAC && lowest == highest && !some_infinite) {
            size = NAMED(mark_by_value)(row, K, lowest, in_set);
        } else if (by_label || K <= FEW_LABELS) {
            if (by_label) {
                NAMED(score_row)(s, row, K, b.score);
            } else {
                for (ptrdiff_t k = 0; k < K; k++)
                    b.p[k] = (double)row[k];
                score_labels(s, &b, K, 0.0, 0.0, top, u, b.score);
            }
            if (one_per_row)
                for (ptrdiff_t k = 0; k < K; k++)
                    in_set[k] = b.score[k] <= lowest;
            else
                for (ptrdiff_t k = 0; k < K; k++)
                    in_set[k] = b.score[k] <= thresholds[k];
        } else {
            size = NAMED(mark_labels)(s, row, K, one_per_row ? NULL : thresholds, lowest,
                                      highest, top, u, &look_at, &n_spread, &b, in_set);
            if (some_infinite) {
                for (ptrdiff_t k = 0; k < K; k++)
                    in_set[k] |= thresholds[k] == INFINITY;
                size = -1;
            }
        }
        if (never_empty) {
            for (ptrdiff_t k = 0; k < K; k++)
                in_set[k] |= (double)row[k] == top;
            size = -1;
        }
        if (size < 0) {
            size = 0;
            for (ptrdiff_t k = 0; k < K; k++)
                size += in_set[k];
        }
        sizes[i] = size;
    }
    free(b.p);
    return i < stop ? i : ALL_GOOD;
}
