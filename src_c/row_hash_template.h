/* Compiled twice by row_hash.h, with REAL = float and double.

   out[i] in [0, 1) for rows start .. stop-1 of K entries; keys: K + 1 of them. */
VECTOR_CLONES
static void NAMED(hash_rows)(const REAL *probs, ptrdiff_t K, const uint64_t *RESTRICT keys,
                             ptrdiff_t start, ptrdiff_t stop, double *RESTRICT out)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = probs + i * K;
        uint64_t sum = 0;
        for (ptrdiff_t k = 0; k < K; k++)
            sum += product_of_halves((double)row[k], keys[k]);
        out[i] = as_uniform(sum, keys[K]);
    }
}
