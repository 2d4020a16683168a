/* What differs between compilers: vectorised loops, restrict, and forms of a function for newer processors. */

#ifndef SEMTROPY_PORTABLE_H
#define SEMTROPY_PORTABLE_H

#include <math.h>

#if defined(__GNUC__) || (defined(_OPENMP) && !defined(_MSC_VER)) /* MSVC takes `omp simd` as an experiment only */
#define SIMD _Pragma("omp simd")
#define SIMD_SUM _Pragma("omp simd reduction(+ : sum)")
#define SIMD_THREE_SUMS _Pragma("omp simd reduction(+ : total, first, second)")
#define SIMD_SUMS _Pragma("omp simd reduction(+ : a_re, a_im, b_re, b_im, c_re, c_im)")
#else
#define SIMD
#define SIMD_SUM
#define SIMD_THREE_SUMS
#define SIMD_SUMS
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#elif defined(__GNUC__)
#define RESTRICT __restrict__
#else
#define RESTRICT
#endif

/* glibc on x86-64 has vector forms of the elementary functions (libmvec), which its header offers under -ffast-math only.
 * That flag would also void every check for NaN, so the forms are declared here. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
#define SIMD_FORM __attribute__((__simd__("notinbranch")))
SIMD_FORM extern double exp(double);
SIMD_FORM extern double log(double);
SIMD_FORM extern double cos(double);
SIMD_FORM extern double atan2(double, double);
#endif
/* GCC knows these names of processors from version 12 on. Sanitizers are not ready when the dynamic linker chooses. */
#if __GNUC__ >= 12 && !defined(SEMTROPY_ONE_FORM)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#if !defined(VECTORISED)
#define VECTORISED
#endif

#endif
