/* Compiled twice by mixture.h, with REAL = float and double. Arithmetic is double. The
   kernels' arguments:

     probs         in       (n, K), row by row
     tolerance     in       how far from one the sum of a row may be
     labels        in       (n,)
     row_weight    in       (n,), or NULL where said: every row once
     class_weight  in       (K,)
     a, bias       in       slope, and (K,)
     floor         in       smaller probabilities count as this positive normal number
     start, stop   in       the rows that are done: start .. stop-1
     sums          in, out  what is added to; it belongs to these rows alone
     density, by_slope, predicted  out  (n,)
     out           out      (n, K) */

/* column = the k-th entries of MIXTURE_LANES rows. */
ALWAYS_INLINE void NAMED(read_column)(const REAL *RESTRICT rows, ptrdiff_t K, ptrdiff_t k,
                                      double *RESTRICT column)
{
    for (int l = 0; l < MIXTURE_LANES; l++)
        column[l] = (double)rows[l * K + k];
}

/* predicted = column of each row's largest entry, the first one if several tie. Returns
   the first row that is no probability vector within the tolerance, where it stops, or
   -1; every comparison is written so that NaN fails it. */
VECTOR_CLONES
static ptrdiff_t NAMED(predict_rows)(const REAL *probs, ptrdiff_t K, double tolerance,
                                     ptrdiff_t start, ptrdiff_t stop, int64_t *predicted)
{
    const int in_lanes = K <= MIXTURE_LANE_COLUMNS;
    for (; in_lanes && start + MIXTURE_LANES <= stop; start += MIXTURE_LANES) {
        const REAL *RESTRICT rows = probs + start * K;
        double x[MIXTURE_LANES], sum[MIXTURE_LANES] = {0.0}, low[MIXTURE_LANES] = {0.0};
        double top[MIXTURE_LANES], first[MIXTURE_LANES];
        for (int l = 0; l < MIXTURE_LANES; l++)
            top[l] = -INFINITY, first[l] = 0.0;
        for (ptrdiff_t k = 0; k < K; k++) {
            NAMED(read_column)(rows, K, k, x);
            PRAGMA(omp simd)
            for (int l = 0; l < MIXTURE_LANES; l++) {
                sum[l] += x[l];
                low[l] = x[l] < low[l] ? x[l] : low[l];
                first[l] = x[l] > top[l] ? (double)k : first[l];
                top[l] = x[l] > top[l] ? x[l] : top[l];
            }
        }
        for (int l = 0; l < MIXTURE_LANES; l++) {
            if (!(fabs(sum[l] - 1.0) <= tolerance && low[l] >= 0.0))
                return start + l;
            predicted[start + l] = (int64_t)first[l];
        }
    }
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
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
    }
    return -1;
}

/* sums += weights_r row_r, four rows at a time: the sums are read and written less often. */
ALWAYS_INLINE void NAMED(add_rows)(const REAL *RESTRICT rows, ptrdiff_t K,
                                   const double *RESTRICT weights, ptrdiff_t n_rows,
                                   double *RESTRICT sums)
{
    ptrdiff_t r = 0;
    for (; r + 4 <= n_rows; r += 4) {
        const REAL *RESTRICT row = rows + r * K;
        const double a = weights[r], b = weights[r + 1], c = weights[r + 2];
        const double e = weights[r + 3];
        prefetch_ahead(row + 4 * K, (size_t)(4 * K) * sizeof(REAL));
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            sums[k] += (a * (double)row[k] + b * (double)row[K + k])
                       + (c * (double)row[2 * K + k] + e * (double)row[3 * K + k]);
    }
    for (; r < n_rows; r++) {
        const REAL *RESTRICT row = rows + r * K;
        const double weight = weights[r];
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            sums[k] += weight * (double)row[k];
    }
}

/* sums[label] += weight * row, sums of shape (K, K); `labels` NULL: all in the first row of
   sums, `row_weight` NULL: every row once. */
VECTOR_CLONES
static void NAMED(sum_by_class)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                const double *row_weight, ptrdiff_t start, ptrdiff_t stop,
                                double *sums)
{
    double weights[LANES];
    for (; labels == NULL && start < stop; start += LANES) {
        ptrdiff_t n_rows = start + LANES < stop ? LANES : stop - start;
        for (ptrdiff_t r = 0; r < n_rows; r++)
            weights[r] = row_weight == NULL ? 1.0 : row_weight[start + r];
        NAMED(add_rows)(probs + start * K, K, weights, n_rows, sums);
    }
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        double *RESTRICT sum = sums + labels[i] * K;
        double weight = row_weight == NULL ? 1.0 : row_weight[i];
        if (weight == 0.0)
            continue;
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            sum[k] += weight * (double)row[k];
    }
}

/* The sum of weights_k row_k, eight partial sums at a time: the same in every clone. */
ALWAYS_INLINE double NAMED(weighted_sum)(const double *RESTRICT weights,
                                         const REAL *RESTRICT row, ptrdiff_t K)
{
    double lanes[MIXTURE_LANES] = {0.0};
    ptrdiff_t k = 0;
    for (; k + MIXTURE_LANES <= K; k += MIXTURE_LANES) {
        PRAGMA(omp simd)
        for (int l = 0; l < MIXTURE_LANES; l++)
            lanes[l] += weights[k + l] * (double)row[k + l];
    }
    for (int l = 0; k + l < K; l++)
        lanes[l] += weights[k + l] * (double)row[k + l];
    return sum_of_lanes(lanes);
}

/* The mixture density d = sum_k class_weight_k row_k of each row, and
     sums[k]     += weight * row_k / d, the gradient of the log-likelihood,
     sums[K]     += weight * log(d),
     sums[K + 1] += weight of the rows with d = 0, which the other sums leave out.
   A density too small to divide by counts as 0. `row_weight` NULL: every row once. */
VECTOR_CLONES
static void NAMED(mixture_likelihood)(const REAL *probs, ptrdiff_t K,
                                      const double *row_weight, const double *class_weight,
                                      ptrdiff_t start, ptrdiff_t stop, double *density,
                                      double *sums)
{
    double *RESTRICT gradient = sums;
    double share[LANES], d[LANES], x[MIXTURE_LANES];
    double by_class[MIXTURE_LANE_COLUMNS][MIXTURE_LANES] = {{0.0}};
    double logs[MIXTURE_LANES] = {0.0}, lost[MIXTURE_LANES] = {0.0};
    for (ptrdiff_t begin = start; begin < stop; begin += LANES) {
        const ptrdiff_t n_rows = begin + LANES < stop ? LANES : stop - begin;
        const int turned = K <= MIXTURE_LANE_COLUMNS && n_rows == LANES;
        const REAL *RESTRICT rows = probs + begin * K;
        if (turned)
            for (int half = 0; half < LANES; half += MIXTURE_LANES) {
                double sum[MIXTURE_LANES] = {0.0};
                for (ptrdiff_t k = 0; k < K; k++) {
                    NAMED(read_column)(rows + half * K, K, k, x);
                    PRAGMA(omp simd)
                    for (int l = 0; l < MIXTURE_LANES; l++)
                        sum[l] += class_weight[k] * x[l];
                }
                for (int l = 0; l < MIXTURE_LANES; l++)
                    d[half + l] = sum[l];
            }
        else
            for (int r = 0; r < LANES; r++)
                d[r] = r < n_rows ? NAMED(weighted_sum)(class_weight, rows + r * K, K) : 0.0;
        for (int r = 0; r < LANES; r++)
            share[r] = r >= n_rows ? 0.0 : row_weight == NULL ? 1.0 : row_weight[begin + r];
        for (int r = 0; r < LANES; r += MIXTURE_LANES) {
            PRAGMA(omp simd)
            for (int l = 0; l < MIXTURE_LANES; l++) {
                double weight = share[r + l];
                int possible = d[r + l] > SMALLEST_DENSITY;
                double divisor = possible ? d[r + l] : 1.0;
                d[r + l] = possible ? divisor : 0.0;
                share[r + l] = possible ? weight / divisor : 0.0;
                logs[l] += weight * log_normal(divisor);
                lost[l] += possible ? 0.0 : weight;
            }
        }
        memcpy(density + begin, d, (size_t)n_rows * sizeof(double));
        if (turned)
            for (int half = 0; half < LANES; half += MIXTURE_LANES)
                for (ptrdiff_t k = 0; k < K; k++) {
                    NAMED(read_column)(rows + half * K, K, k, x);
                    PRAGMA(omp simd)
                    for (int l = 0; l < MIXTURE_LANES; l++)
                        by_class[k][l] += share[half + l] * x[l];
                }
        else
            NAMED(add_rows)(rows, K, share, n_rows, gradient);
    }
    for (ptrdiff_t k = 0; K <= MIXTURE_LANE_COLUMNS && k < K; k++)
        gradient[k] += sum_of_lanes(by_class[k]);
    sums[K] += sum_of_lanes(logs);
    sums[K + 1] += sum_of_lanes(lost);
}

/* logs_k = log(max(row_k, floor)); values_k = exp(a logs_k + bias_k - largest). Returns the
   sum of the values. The bias may be -inf for some classes, not for all. */
ALWAYS_INLINE double NAMED(scaled_row)(const REAL *RESTRICT row, ptrdiff_t K, double a,
                                       const double *RESTRICT bias, double floor,
                                       double *RESTRICT logs, double *RESTRICT values,
                                       double *largest)
{
    double top = -INFINITY, total = 0.0;
    PRAGMA(omp simd reduction(max : top))
    for (ptrdiff_t k = 0; k < K; k++) {
        double p = (double)row[k];
        logs[k] = log_normal(p > floor ? p : floor);
        double z = a * logs[k] + bias[k];
        values[k] = z;
        top = z > top ? z : top;
    }
    PRAGMA(omp simd reduction(+ : total))
    for (ptrdiff_t k = 0; k < K; k++) {
        values[k] = exp_nonpositive(values[k] - top);
        total += values[k];
    }
    *largest = top;
    return total;
}

/* out = softmax(a log(probs) + bias), row by row. Returns -1 if out of memory. */
VECTOR_CLONES
static int NAMED(scale_rows)(const REAL *probs, ptrdiff_t K, double a, const double *bias,
                             double floor, ptrdiff_t start, ptrdiff_t stop, REAL *out)
{
    double *memory = (double *)malloc(2 * (size_t)K * sizeof(double));
    if (memory == NULL)
        return -1;
    double *RESTRICT values = memory + K, top;
    for (ptrdiff_t i = start; i < stop; i++) {
        REAL *RESTRICT scaled = out + i * K;
        double total =
            NAMED(scaled_row)(probs + i * K, K, a, bias, floor, memory, values, &top);
        double share = 1.0 / total;
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            scaled[k] = (REAL)(values[k] * share);
    }
    free(memory);
    return 0;
}

/* out = factors_k row_k / their sum; a row without such a sum stays as it is. Returns the
   first row that is no probability vector, as predict_rows does. */
VECTOR_CLONES
static ptrdiff_t NAMED(reweight_rows)(const REAL *probs, ptrdiff_t K, const double *factors,
                                      double tolerance, ptrdiff_t start, ptrdiff_t stop,
                                      REAL *out)
{
    double sum[MIXTURE_LANES], low[MIXTURE_LANES], share[MIXTURE_LANES], x[MIXTURE_LANES];
    for (ptrdiff_t begin = start; begin < stop; begin += MIXTURE_LANES) {
        const ptrdiff_t n_rows = begin + MIXTURE_LANES < stop ? MIXTURE_LANES : stop - begin;
        const REAL *RESTRICT rows = probs + begin * K;
        for (int l = 0; l < MIXTURE_LANES; l++)
            sum[l] = low[l] = share[l] = 0.0;
        if (K <= MIXTURE_LANE_COLUMNS && n_rows == MIXTURE_LANES)
            for (ptrdiff_t k = 0; k < K; k++) {
                NAMED(read_column)(rows, K, k, x);
                PRAGMA(omp simd)
                for (int l = 0; l < MIXTURE_LANES; l++) {
                    sum[l] += x[l];
                    low[l] = x[l] < low[l] ? x[l] : low[l];
                    share[l] += factors[k] * x[l];
                }
            }
        else
            for (ptrdiff_t r = 0; r < n_rows; r++) {
                const REAL *RESTRICT row = rows + r * K;
                double plain = 0.0, smallest = 0.0;
                prefetch_ahead(row, (size_t)K * sizeof(REAL));
                PRAGMA(omp simd reduction(+ : plain) reduction(min : smallest))
                for (ptrdiff_t k = 0; k < K; k++) {
                    double entry = (double)row[k];
                    plain += entry;
                    smallest = entry < smallest ? entry : smallest;
                }
                sum[r] = plain;
                low[r] = smallest;
                share[r] = NAMED(weighted_sum)(factors, row, K);
            }
        for (ptrdiff_t r = 0; r < n_rows; r++)
            if (!(fabs(sum[r] - 1.0) <= tolerance && low[r] >= 0.0))
                return begin + r;
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            const REAL *RESTRICT row = rows + r * K;
            REAL *RESTRICT to = out + (begin + r) * K;
            if (!(share[r] > 0.0)) {
                memcpy(to, row, (size_t)K * sizeof(REAL));
                continue;
            }
            if (share[r] < DBL_MIN) { /* whose inverse may be infinite */
                for (ptrdiff_t k = 0; k < K; k++)
                    to[k] = (REAL)(factors[k] * (double)row[k] / share[r]);
                continue;
            }
            const double scale = 1.0 / share[r];
            PRAGMA(omp simd)
            for (ptrdiff_t k = 0; k < K; k++)
                to[k] = (REAL)(factors[k] * (double)row[k] * scale);
        }
    }
    return -1;
}

/* Negative log-likelihood of the labels under softmax(a log(probs) + bias), with P_k the
   scaled probabilities and L_k = log(probs_k):
     sums[k]             += its derivative by bias_k,
     sums[K]             += its derivative by a,
     sums[K + 1]         += itself,
     sums[K + 2 + k]     += its second derivative by bias_k and a, P_k (L_k - sum_j P_j L_j),
     sums[2 K + 2]       += its second derivative by a, the variance of L under P;
   by_slope[i] is the row's own derivative by a. Returns -1 if out of memory. */
VECTOR_CLONES
static int NAMED(scaled_likelihood)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                    const double *row_weight, double a, const double *bias,
                                    double floor, ptrdiff_t start, ptrdiff_t stop,
                                    double *by_slope, double *sums)
{
    double *memory = (double *)malloc(2 * (size_t)K * sizeof(double));
    if (memory == NULL)
        return -1;
    double *RESTRICT logs = memory, *RESTRICT values = memory + K;
    double *RESTRICT by_bias = sums, *RESTRICT cross = sums + K + 2;
    double slope_sum = 0.0, loss = 0.0, slope_curvature = 0.0, top;
    for (ptrdiff_t i = start; i < stop; i++) {
        ptrdiff_t label = labels[i];
        double weight = row_weight[i], mean_log = 0.0, variance = 0.0;
        by_slope[i] = 0.0;
        if (weight == 0.0)
            continue;
        double total =
            NAMED(scaled_row)(probs + i * K, K, a, bias, floor, logs, values, &top);
        double share = 1.0 / total;
        PRAGMA(omp simd reduction(+ : mean_log))
        for (ptrdiff_t k = 0; k < K; k++) {
            values[k] *= share;
            mean_log += values[k] * logs[k];
        }
        PRAGMA(omp simd reduction(+ : variance))
        for (ptrdiff_t k = 0; k < K; k++) {
            double p = values[k], centred = logs[k] - mean_log, moved = p * centred;
            by_bias[k] += weight * p;
            cross[k] += weight * moved;
            variance += moved * centred;
        }
        by_bias[label] -= weight;
        by_slope[i] = mean_log - logs[label];
        slope_sum += weight * by_slope[i];
        slope_curvature += weight * variance;
        loss += weight * (top + log(total) - a * logs[label] - bias[label]);
    }
    sums[K] += slope_sum;
    sums[K + 1] += loss;
    sums[2 * K + 2] += slope_curvature;
    free(memory);
    return 0;
}
