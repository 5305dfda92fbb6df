/* The kernel of auto/kernel.py, with the additive part of auto/additive.py.
 *
 * Positions are scaled: divided by the lengthscales along ordered axes.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

#include "workspace.h"

#define ROOT_5 2.23606797749978969640917366873127623

/* As Kernel of structures.py. */
typedef struct {
    int64_t d;
    const double *lengthscales; /* (d,) */
    const uint8_t *categorical; /* (d,) */
    const double *shares;       /* (d,) w_k of the additive part; NULL without one */
    double reach;               /* a, the lengthscale of the additive part */
    double mean_variance;       /* of the constant mean, which is a part of the kernel */
} Kernel;

/* The points on the right of a gram matrix, as Points of structures.py. With u = sqrt(5) x_k / a, the tables of e^u and e^-u
 * replace an exponential per axis and pair: exp(-|u - v|) = min(e^u e^-v, e^-u e^v). */
typedef struct {
    int64_t m;
    const double *X; /* (d, m) */
    double share;    /* w, the sum of w_k; 0 without an additive part */
    double *rising;  /* (d, m) e^u */
    double *falling; /* (d, m) e^-u */
} Points;

/* X, (n, d), in lengthscales. */
void scale(const Kernel *kernel, const double *X, int64_t n, double *scaled);

/* Fills the tables of points whose memory is reserved. */
void tabulate(const Kernel *kernel, Points *points);

/* Points with their tables. */
Points tabulated(Workspace *workspace, const Kernel *kernel, const double *X, int64_t m);

/* K = k_w + mean_variance, (n, m), between X, (n, d), and points. */
void gram(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K);

/* K as above, and the radial part E = (1 - w) exp(-r - q), (n, m), whose slope along an ordered axis is
 * (1 - w) dk/dx_k = -3 (x_k - x'_k) / l_k^2 E. */
void gram_and_radial(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K,
                     double *E);

/* k_w in place of k, (n, m). */
void mix(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *k);

/* g of one distance: (1 + r + r^2 / 3) exp(-r). */
double along_axis(double r);

/* The gradient in the cube, (d,), of the additive part of sum_j pulls_j k_w(x, y_j), with x (d,) and pulls (m,):
 * dg / dr = -r (1 + r) exp(-r) / 3, and 0 along categorical axes. */
void additive_slopes(Workspace *workspace, const Kernel *kernel, const double *x, const Points *points, const double *pulls,
                     double *gradient);

#endif
