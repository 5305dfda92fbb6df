/* Products by BLAS and Cholesky factors by LAPACK. Both are SciPy's, and called by address: see library.py. Matrices are
 * stored by rows. */
#ifndef LINALG_H
#define LINALG_H

#include <stdbool.h>
#include <stdint.h>

/* x'y, of (n,) each. */
double dot(int64_t n, const double *x, const double *y);

/* y = A x, with A (rows, columns). */
void times_vector(const double *A, int64_t rows, int64_t columns, const double *x, double *y);

/* C = A B, with A (n, k), B (k, m) and C (n, m). */
void times(const double *A, int64_t n, int64_t k, const double *B, int64_t m, double *C);

/* C = A B', with A (n, k), B (m, k) and C (n, m). */
void times_transposed(const double *A, int64_t n, int64_t k, const double *B, int64_t m, double *C);

/* Replaces the upper triangle of A, (n, n), by U with A = U'U. Returns whether A is positive definite. */
bool factorize(double *A, int64_t n);

/* x = A^-1 b, (n,), with the factor U of A. */
void solve(const double *U, int64_t n, const double *b, double *x);

/* Replaces the factor U of A, an upper triangle, by the upper triangle of A^-1. */
void invert(double *U, int64_t n);

#endif
