#include "linalg.h"

#include <string.h>

#include "workspace.h"

typedef double Dot(int *n, double *x, int *xstep, double *y, int *ystep);
typedef void MatrixVector(char *form, int *m, int *n, double *alpha, double *a, int *lda, double *x, int *xstep, double *beta,
                          double *y, int *ystep);
typedef void MatrixMatrix(char *aform, char *bform, int *m, int *n, int *k, double *alpha, double *a, int *lda, double *b,
                          int *ldb, double *beta, double *c, int *ldc);
typedef void Factorize(char *triangle, int *n, double *a, int *lda, int *info);
typedef void Solve(char *triangle, int *n, int *columns, double *a, int *lda, double *b, int *ldb, int *info);

static struct {
    Dot *ddot;
    MatrixVector *dgemv;
    MatrixMatrix *dgemm;
    Factorize *dpotrf;
    Solve *dpotrs;
    Factorize *dpotri;
} routines;

static int one = 1;
static double unit = 1.0, nothing = 0.0;

/* The addresses of ddot, dgemv, dgemm, dpotrf, dpotrs and dpotri. */
EXPORTED void use_routines(void *const *addresses)
{
    memcpy(&routines, addresses, sizeof routines);
}

double dot(int64_t n, const double *x, const double *y)
{
    int size = (int)n;
    return routines.ddot(&size, (double *)x, &one, (double *)y, &one);
}

/* BLAS stores matrices by columns, so it reads our matrices as their transposes. */
void times_vector(const double *A, int64_t rows, int64_t columns, const double *x, double *y)
{
    int m = (int)columns, n = (int)rows;
    if (columns == 0)
        memset(y, 0, (size_t)rows * sizeof(double));
    else if (rows > 0)
        routines.dgemv("T", &m, &n, &unit, (double *)A, &m, (double *)x, &one, &nothing, y, &one);
}

static void product(const double *A, int64_t n, int64_t k, const double *B, char *form, int64_t ldb, int64_t m, double *C)
{
    int rows = (int)n, inner = (int)k, columns = (int)m, step = (int)ldb;
    if (k == 0)
        memset(C, 0, (size_t)(n * m) * sizeof(double));
    else if (n > 0 && m > 0)
        routines.dgemm(form, "N", &columns, &rows, &inner, &unit, (double *)B, &step, (double *)A, &inner, &nothing, C,
                       &columns);
}

void times(const double *A, int64_t n, int64_t k, const double *B, int64_t m, double *C)
{
    product(A, n, k, B, "N", m, m, C);
}

void times_transposed(const double *A, int64_t n, int64_t k, const double *B, int64_t m, double *C)
{
    product(A, n, k, B, "T", k, m, C);
}

/* LAPACK also stores matrices by columns, so its lower triangle is our upper one. */
bool factorize(double *A, int64_t n)
{
    int size = (int)n, info = 0;
    routines.dpotrf("L", &size, A, &size, &info);
    return info == 0;
}

void solve(const double *U, int64_t n, const double *b, double *x)
{
    int size = (int)n, info = 0;
    memcpy(x, b, (size_t)n * sizeof(double));
    routines.dpotrs("L", &size, &one, (double *)U, &size, x, &size, &info);
}

void invert(double *U, int64_t n)
{
    int size = (int)n, info = 0;
    routines.dpotri("L", &size, U, &size, &info);
}
