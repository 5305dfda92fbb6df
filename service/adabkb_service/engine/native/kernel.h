/* The kernel of auto/model/kernel.py, with the additive part of auto/model/additive.py.
 *
 * Positions are scaled: divided by the lengthscales along ordered axes. A scaled point has a column for each axis, then one
 * for each component of the descriptors of choices (auto/domain/components.py). A periodic axis is a circle: its column has
 * the cosine, and a further column after the components has the sine.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

#include "workspace.h"

#define ROOT_5 2.23606797749978969640917366873127623
#define PI 3.14159265358979323846264338327950288
#define RADIUS 0.5 /* radius of the circle that represents a periodic axis: RADIUS of auto/model/kernel.py */

/* As Components of structures.py. */
typedef struct {
    int64_t p;
    const int64_t *axes;   /* (p,) the categorical axis of each component */
    const int64_t *counts; /* (p,) the number of choices of this axis */
    int64_t most;          /* the largest of these numbers */
    const double *places;  /* (p, most) the coordinate of each choice along each component */
} Components;

/* As Kernel of structures.py. */
typedef struct {
    int64_t d;
    int64_t columns;            /* d + p + q, with q periodic axes */
    const double *lengthscales; /* (d + p,) */
    const uint8_t *categorical; /* (d,) */
    const int64_t *sines;       /* (d,) the column of the sine of a periodic axis; 0 for other axes */
    const Components *components;
    const double *shares;       /* (d,) w_k of the additive part; NULL without one */
    double reach;               /* a, the lengthscale of the additive part */
    int64_t smooth;             /* whether the radial part is Matern 5/2; else it is Matern 3/2 */
    double mean_variance;       /* variance of the constant mean, which is a part of the kernel */
} Kernel;

/* The points on the right of a gram matrix, as Points of structures.py. With u = sqrt(5) x_k / a, the tables of e^u and e^-u
 * replace an exponential per axis and pair: exp(-|u - v|) = min(e^u e^-v, e^-u e^v). */
typedef struct {
    int64_t m;
    const double *X; /* (columns, m) */
    double share;    /* w, the sum of w_k; 0 without an additive part */
    double *rising;  /* (d, m) e^u */
    double *falling; /* (d, m) e^-u */
} Points;

/* The choice whose bin contains a position in the cube. */
int64_t choice_at(const Components *components, int64_t component, double x);

/* The coordinate of a choice along a component. */
double place(const Components *components, int64_t component, int64_t choice);

/* Converts cube positions X, (n, d), to scaled points, (n, columns). */
void scale(const Kernel *kernel, const double *X, int64_t n, double *scaled);

/* Fills the tables of points, whose memory is reserved already. */
void tabulate(const Kernel *kernel, Points *points);

/* Points with their tables. */
Points tabulated(Workspace *workspace, const Kernel *kernel, const double *X, int64_t m);

/* K = k_w + mean_variance, (n, m), between scaled X, (n, columns), and points. */
void gram(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K);

/* K as above, and E = (1 - w) exp(-r - q), (n, m), times 5 (1 + r) / 9 for Matern 5/2. Along an ordered axis,
 * (1 - w) dk/dx_k = -3 (x_k - x'_k) / l_k^2 E. */
void gram_and_radial(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K,
                     double *E);

/* The upper triangles of K and E, (n, n), of points with themselves, without the additive part. X are the same points,
 * (n, columns). */
void gram_and_radial_within(Workspace *workspace, const Kernel *kernel, const double *X, const Points *points, double *K,
                            double *E);

/* k without the additive part and the constant mean, given the square of a scaled distance, and q. r^2 is 3 times this square,
 * or 5 times for Matern 5/2. */
double radial_at(const Kernel *kernel, double square, double q);

/* Replaces k by k_w, (n, m). */
void mix(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *k);

/* The same for the upper triangle of k, (n, n), of points with themselves. */
void mix_within(Workspace *workspace, const Kernel *kernel, const double *X, const Points *points, double *k);

/* g of one distance: (1 + r + r^2 / 3) exp(-r). */
double along_axis(double r);

/* The length of the chord between two positions of a periodic axis, given their distance along the axis. */
double chord(double away);

/* The gradient in the cube, (d,), of the additive part of sum_j pulls_j k_w(x, y_j), with x scaled and pulls (m,):
 * dg / dr = -r (1 + r) exp(-r) / 3, and 0 along categorical axes. */
void additive_slopes(Workspace *workspace, const Kernel *kernel, const double *x, const Points *points, const double *pulls,
                     double *gradient);

#endif
