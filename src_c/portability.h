/* The few lines that depend on the compiler, so that no other file has to. */
#ifndef DISTFREEUQ_PORTABILITY_H
#define DISTFREEUQ_PORTABILITY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
enum { WITH_OPENMP = 1 };
static inline int max_threads(void) { return omp_get_max_threads(); }
static inline int thread_number(void) { return omp_get_thread_num(); }
#else
enum { WITH_OPENMP = 0 };
static inline int max_threads(void) { return 1; }
static inline int thread_number(void) { return 0; }
#endif

/* One binary, the widest vectors of the machine it runs on: the loader picks a clone.
   Elsewhere the same loops are compiled once, for the baseline. All clones give the
   same bits, because contraction into fused multiply-adds is off (setup.py). */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTOR_CLONES
#endif

/* A helper is compiled for the wide vectors only if it is inlined into a clone. */
#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif

/* Place of the lowest bit that is set, from 0. */
ALWAYS_INLINE int lowest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int place = 0;
    for (; (bits & 1) == 0; bits >>= 1)
        place++;
    return place;
#endif
}

/* Ask for what comes a page after these bytes. Loops over rows that stream through memory
   call it row by row: the processor's own prefetcher stops at the end of every page, and
   what a row costs to compute would then be added to what it costs to fetch. Long rows are
   left to that prefetcher: so many requests at once would make the row itself wait
   (measured at 1000 doubles: 1.6 times slower). */
ALWAYS_INLINE void prefetch_ahead(const void *bytes, size_t n_bytes)
{
#if defined(__GNUC__)
    const char *ahead = (const char *)bytes + 4096;
    if (n_bytes > 1024)
        return;
    for (size_t b = 0; b < n_bytes; b += 64)
        __builtin_prefetch(ahead + b);
#else
    (void)bytes, (void)n_bytes;
#endif
}

/* An `omp simd` pragma inside a template: of OpenMP 4.0, which Microsoft's compiler has not.
   SIMD_PRAGMAS says that the compiler obeys these without the rest of OpenMP (setup.py).
   Reductions by min or max are for finite numbers only: clang begins them at the largest or
   the smallest of these. Where there are no pragmas, GCC must at least not unroll
   the loops over lanes: GCC 12 does at -O3, then vectorises the loop around them, and mixes
   up the lanes of `sum[l] += x[l] > y[l] ? z[l] : 0.0` (tests/property/kernels/
   test_compiler_flags.py). */
#if defined(SIMD_PRAGMAS) || (defined(_OPENMP) && _OPENMP >= 201307)
#define PRAGMA(text) _Pragma(#text)
#elif defined(__GNUC__) && !defined(__clang__)
#define PRAGMA(text) _Pragma("GCC unroll 1")
#else
#define PRAGMA(text)
#endif

/* Calls name_f32 if `entries` points to floats, name_f64 if to doubles: one name for the two
   functions that a template makes. Each header ends with a list of such names. (C11, which
   Microsoft's compiler has with /std:c11.) */
#define CALL_BY_TYPE(name, entries, ...) \
    _Generic((entries), const float *: name##_f32, const double *: name##_f64)( \
        entries, __VA_ARGS__)

#endif
