/* Compiled twice by label_shift.h, with REAL = float and double. Arithmetic is double. */

/* Column of each row's largest entry, the first one if several tie. */
VECTOR_CLONES
static void NAMED(argmax_rows)(const REAL *probs, ptrdiff_t K, ptrdiff_t start,
                               ptrdiff_t stop, int64_t *out)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        REAL top = row[0];
        PRAGMA(omp simd reduction(max : top))
        for (ptrdiff_t k = 0; k < K; k++)
            top = row[k] > top ? row[k] : top;
        ptrdiff_t first = 0;
        while (row[first] < top)
            first++;
        out[i] = first;
    }
}

/* sums[label] += weight * row, sums of shape (K, K). */
VECTOR_CLONES
static void NAMED(sum_by_class)(const REAL *probs, ptrdiff_t K, const int64_t *labels,
                                const double *row_weight, ptrdiff_t start, ptrdiff_t stop,
                                double *sums)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        double *RESTRICT sum = sums + labels[i] * K;
        double weight = row_weight[i];
        if (weight == 0.0)
            continue;
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            sum[k] += weight * (double)row[k];
    }
}

/* The mixture density d = sum_k class_weight_k row_k of each row, and
     sums[k]     += weight * row_k / d, the gradient of the log-likelihood,
     sums[K]     += weight * log(d),
     sums[K + 1] += weight of the rows with d = 0, which the other sums leave out.
   A density too small to divide by counts as 0. */
VECTOR_CLONES
static void NAMED(mixture_likelihood)(const REAL *probs, ptrdiff_t K,
                                      const double *row_weight, const double *class_weight,
                                      ptrdiff_t start, ptrdiff_t stop, double *density,
                                      double *sums)
{
    double *RESTRICT gradient = sums;
    double log_likelihood = 0.0, lost = 0.0;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        double weight = row_weight[i], d = 0.0;
        PRAGMA(omp simd reduction(+ : d))
        for (ptrdiff_t k = 0; k < K; k++)
            d += class_weight[k] * (double)row[k];
        d = d > SMALLEST_DENSITY ? d : 0.0;
        density[i] = d;
        if (d == 0.0 || weight == 0.0) {
            lost += weight;
            continue;
        }
        double share = weight / d;
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            gradient[k] += share * (double)row[k];
        log_likelihood += weight * log(d);
    }
    sums[K] += log_likelihood;
    sums[K + 1] += lost;
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
