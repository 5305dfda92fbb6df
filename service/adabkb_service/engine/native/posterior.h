/* Mean, deviation and upper confidence bound of the posterior of auto/model/surrogate.py. */
#ifndef POSTERIOR_H
#define POSTERIOR_H

#include "kernel.h"

/* As Posterior of structures.py. */
typedef struct {
    Kernel kernel;
    Points inducing;       /* S, (columns, m), scaled */
    const double *weights; /* (m,) a */
    const double *factor;  /* (rows, m) W */
    int64_t rows;
    double variance; /* sigma_f^2 */
} Posterior;

/* f~ = mean + beta s at cube positions X, (n, d). */
void ucb(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n, double beta, double *values);

/* f~, (n,), and its gradient in the cube, (n, d), which is 0 along categorical axes. */
void ucb_and_gradient(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n, double beta,
                      double *values, double *gradient);

/* The index of the largest value; in a tie, the first. */
int64_t largest(const double *values, int64_t n);

#endif
