#include "kernel.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "linalg.h"

#define BLOCK 4096 /* number of matrix entries that are computed at a time; they fit into the nearest cache */

static double smaller(double x, double y)
{
    return x < y ? x : y;
}

/* Replaces n values x <= 0 by exp(x), accurate to 2 units in the last place. Values below -708 become about 1e-308.
 *
 * With x = k ln 2 + r and |r| <= ln(2) / 2, exp(x) is 2^k times the Taylor polynomial of exp(r). The compiler turns loops
 * without branches and calls into vector instructions.
 */
static void exponentials(double *restrict x, double *restrict scratch, int64_t n)
{
    const double shift = 1.5 * 4503599627370496.0; /* adding it rounds to an integer, stored in the last bits */
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const double log2_e = 1.0 / 0.693147180559945309417232121458176568;
    for (int64_t j = 0; j < n; j++) {
        x[j] = x[j] > -708.0 ? x[j] : -708.0;
        scratch[j] = x[j] * log2_e + shift;
    }
    for (int64_t j = 0; j < n; j++) {
        double k = scratch[j] - shift;
        double r = (x[j] - k * ln2_high) - k * ln2_low;
        double p = 1.0 / 6227020800.0;
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 0.5;
        p = p * r + 1.0;
        x[j] = p * r + 1.0;
    }
    for (int64_t j = 0; j < n; j++) {
        uint64_t bits;
        memcpy(&bits, &scratch[j], sizeof bits);
        bits = (bits + 1023) << 52; /* 2^k: the exponent's bias, and the width of the mantissa */
        memcpy(&scratch[j], &bits, sizeof bits);
    }
    for (int64_t j = 0; j < n; j++)
        x[j] *= scratch[j];
}

/* 2 nu of the Matern kernel. */
static double twice_nu(const Kernel *kernel)
{
    return kernel->smooth ? 5.0 : 3.0;
}

/* Computes k, and E of gram_and_radial without the factor 1 - w, between X, (n, columns), and m points, into arrays of n m
 * values. The coordinates of the points along the k-th axis begin at Y[k * step]. */
static void radial(const Kernel *kernel, const double *X, int64_t n, const double *Y, int64_t step, int64_t m,
                   double *restrict k, double *restrict E, double *restrict scratch)
{
    int64_t d = kernel->d, columns = kernel->columns, size = n * m;
    memset(k, 0, (size_t)size * sizeof(double));
    memset(E, 0, (size_t)size * sizeof(double));
    for (int64_t axis = 0; axis < columns; axis++) {
        const double *others = Y + axis * step;
        for (int64_t i = 0; i < n; i++) {
            double here = X[i * columns + axis];
            double *restrict row = k + i * m, *restrict e = E + i * m;
            if (axis < d && kernel->categorical[axis]) {
                double less = 1.0 / kernel->lengthscales[axis];
                for (int64_t j = 0; j < m; j++)
                    e[j] = others[j] != here ? e[j] - less : e[j];
            } else {
                for (int64_t j = 0; j < m; j++) {
                    double away = here - others[j];
                    row[j] += away * away;
                }
            }
        }
    }
    double factor = twice_nu(kernel);
    for (int64_t j = 0; j < size; j++)
        k[j] = sqrt(factor * k[j]);
    for (int64_t j = 0; j < size; j++)
        E[j] -= k[j];
    exponentials(E, scratch, size);
    if (!kernel->smooth) {
        for (int64_t j = 0; j < size; j++)
            k[j] = (1.0 + k[j]) * E[j];
        return;
    }
    for (int64_t j = 0; j < size; j++) {
        double r = k[j];
        k[j] = (1.0 + r + r * r / 3.0) * E[j];
        E[j] *= 5.0 / 9.0 * (1.0 + r);
    }
}

double radial_at(const Kernel *kernel, double square, double q)
{
    double r = sqrt(twice_nu(kernel) * square);
    return (1.0 + r + (kernel->smooth ? r * r / 3.0 : 0.0)) * exp(-r - q);
}

int64_t choice_at(const Components *components, int64_t component, double x)
{
    int64_t count = components->counts[component], choice = (int64_t)(x * (double)count);
    return choice < 0 ? 0 : choice < count ? choice : count - 1;
}

double place(const Components *components, int64_t component, int64_t choice)
{
    return components->places[component * components->most + choice];
}

void scale(const Kernel *kernel, const double *X, int64_t n, double *scaled)
{
    const Components *components = kernel->components;
    int64_t d = kernel->d, columns = kernel->columns;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t axis = 0; axis < d; axis++) {
            double x = X[i * d + axis];
            scaled[i * columns + axis] = kernel->categorical[axis] ? x : x / kernel->lengthscales[axis];
        }
        for (int64_t component = 0; component < components->p; component++) {
            int64_t choice = choice_at(components, component, X[i * d + components->axes[component]]);
            scaled[i * columns + d + component] = place(components, component, choice) / kernel->lengthscales[d + component];
        }
        for (int64_t axis = 0; axis < d; axis++) {
            if (kernel->sines[axis] == 0)
                continue;
            double angle = 2.0 * PI * X[i * d + axis], radius = RADIUS / kernel->lengthscales[axis];
            scaled[i * columns + axis] = radius * cos(angle);
            scaled[i * columns + kernel->sines[axis]] = radius * sin(angle);
        }
    }
}

void tabulate(const Kernel *kernel, Points *points)
{
    int64_t d = kernel->d, m = points->m;
    points->share = 0.0;
    if (kernel->shares == NULL)
        return;
    for (int64_t axis = 0; axis < d; axis++) {
        double rate = ROOT_5 * kernel->lengthscales[axis] / kernel->reach;
        points->share += kernel->shares[axis];
        for (int64_t j = axis * m; j < (axis + 1) * m; j++) {
            bool is_line = !kernel->categorical[axis] && kernel->sines[axis] == 0;
            points->rising[j] = is_line ? exp(rate * points->X[j]) : 1.0;
            points->falling[j] = 1.0 / points->rising[j];
        }
    }
}

Points tabulated(Workspace *workspace, const Kernel *kernel, const double *X, int64_t m)
{
    Points points = {.m = m, .X = X};
    if (kernel->shares != NULL) {
        points.rising = reals(workspace, kernel->d * m);
        points.falling = reals(workspace, kernel->d * m);
    }
    tabulate(kernel, &points);
    return points;
}

void gram(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K)
{
    int64_t m = points->m, rows = m > 1 ? BLOCK / m : BLOCK;
    rows = rows < 1 ? 1 : rows > n ? n : rows;
    Block *mark = workspace->last;
    double *E = reals(workspace, rows * m), *scratch = reals(workspace, rows * m);
    for (int64_t first = 0; first < n; first += rows) {
        int64_t count = n - first < rows ? n - first : rows;
        double *k = K + first * m;
        radial(kernel, X + first * kernel->columns, count, points->X, m, m, k, E, scratch);
        if (points->share > 0.0)
            mix(workspace, kernel, X + first * kernel->columns, count, points, k);
        for (int64_t j = 0; j < count * m; j++)
            k[j] += kernel->mean_variance;
    }
    release(workspace, mark);
}

void gram_and_radial(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *K,
                     double *E)
{
    int64_t size = n * points->m;
    Block *mark = workspace->last;
    radial(kernel, X, n, points->X, points->m, points->m, K, E, reals(workspace, size));
    if (points->share > 0.0) {
        for (int64_t j = 0; j < size; j++)
            E[j] *= 1.0 - points->share;
        mix(workspace, kernel, X, n, points, K);
    }
    for (int64_t j = 0; j < size; j++)
        K[j] += kernel->mean_variance;
    release(workspace, mark);
}

void gram_and_radial_within(Workspace *workspace, const Kernel *kernel, const double *X, const Points *points, double *K,
                            double *E)
{
    int64_t n = points->m;
    Block *mark = workspace->last;
    double *scratch = reals(workspace, n);
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = K + i * n;
        radial(kernel, X + i * kernel->columns, 1, points->X + i, n, n - i, row + i, E + i * n + i, scratch);
        for (int64_t j = i; j < n; j++)
            row[j] += kernel->mean_variance;
    }
    release(workspace, mark);
}

double along_axis(double r)
{
    return (1.0 + r + r * r / 3.0) * exp(-r);
}

double chord(double away)
{
    return 2.0 * RADIUS * fabs(sin(PI * away));
}

/* column = w_k g between one coordinate and those of the points, along a categorical axis. */
static void along_choices(double here, const double *others, int64_t m, double reach, double share, double *column)
{
    double differing = share * along_axis(ROOT_5 / reach);
    for (int64_t j = 0; j < m; j++)
        column[j] = others[j] == here ? share : differing;
}

/* The same along an ordered axis. */
static void along_ordered(double u, double rate, const double *others, const double *rising, const double *falling, int64_t m,
                          double share, double *restrict column)
{
    double up = exp(u), down = exp(-u);
    for (int64_t j = 0; j < m; j++) {
        double r = fabs(u - rate * others[j]);
        column[j] = share * (1.0 + r + r * r / 3.0) * smaller(up * falling[j], down * rising[j]);
    }
}

/* The same along a periodic axis, given the cosines and the sines. */
static void along_circle(double cosine, double sine, double rate, const double *cosines, const double *sines, int64_t m,
                         double share, double *restrict column)
{
    for (int64_t j = 0; j < m; j++)
        column[j] = share * along_axis(rate * hypot(cosine - cosines[j], sine - sines[j]));
}

/* mix or, if is_within, mix_within: row i of k is then changed only from column i on. */
static void mix_from(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *k,
                     bool is_within)
{
    int64_t d = kernel->d, columns = kernel->columns, m = points->m;
    Block *mark = workspace->last;
    double *column = reals(workspace, m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = is_within ? i : 0; j < m; j++)
            k[i * m + j] *= 1.0 - points->share;
    for (int64_t axis = 0; axis < d; axis++) {
        double rate = ROOT_5 * kernel->lengthscales[axis] / kernel->reach, share = kernel->shares[axis];
        int64_t sine = kernel->sines[axis];
        for (int64_t i = 0; i < n; i++) {
            int64_t first = is_within ? i : 0, count = m - first;
            double here = X[i * columns + axis], *restrict row = k + i * m, *restrict found = column + first;
            if (i == 0 || sine > 0 || here != X[(i - 1) * columns + axis]) { /* neighboring rows often agree in it */
                const double *others = points->X + axis * m + first;
                if (sine > 0) {
                    const double *sines = points->X + sine * m + first;
                    along_circle(here, X[i * columns + sine], rate, others, sines, count, share, found);
                } else if (kernel->categorical[axis])
                    along_choices(here, others, count, kernel->reach, share, found);
                else {
                    const double *rising = points->rising + axis * m + first, *falling = points->falling + axis * m + first;
                    along_ordered(rate * here, rate, others, rising, falling, count, share, found);
                }
            }
            for (int64_t j = first; j < m; j++)
                row[j] += column[j];
        }
    }
    release(workspace, mark);
}

void mix(Workspace *workspace, const Kernel *kernel, const double *X, int64_t n, const Points *points, double *k)
{
    mix_from(workspace, kernel, X, n, points, k, false);
}

void mix_within(Workspace *workspace, const Kernel *kernel, const double *X, const Points *points, double *k)
{
    mix_from(workspace, kernel, X, points->m, points, k, true);
}

/* The slope in the cube of sum_j pulls_j w_k g along a periodic axis, between scaled x and points. */
static double slope_along_circle(const Kernel *kernel, int64_t axis, const double *x, const Points *points,
                                 const double *pulls)
{
    int64_t m = points->m, at = kernel->sines[axis];
    double rate = ROOT_5 * kernel->lengthscales[axis] / kernel->reach, cosine = x[axis], sine = x[at], total = 0.0;
    const double *cosines = points->X + axis * m, *sines = points->X + at * m;
    for (int64_t j = 0; j < m; j++) {
        double r = rate * hypot(cosine - cosines[j], sine - sines[j]);
        total += pulls[j] * (1.0 + r) * exp(-r) * (cosines[j] * sine - sines[j] * cosine);
    }
    return -kernel->shares[axis] * rate * rate * 2.0 * PI / 3.0 * total;
}

void additive_slopes(Workspace *workspace, const Kernel *kernel, const double *x, const Points *points, const double *pulls,
                     double *gradient)
{
    int64_t m = points->m;
    Block *mark = workspace->last;
    double *restrict column = reals(workspace, m);
    for (int64_t axis = 0; axis < kernel->d; axis++) {
        gradient[axis] = 0.0;
        if (kernel->sines[axis] > 0)
            gradient[axis] = slope_along_circle(kernel, axis, x, points, pulls);
        if (kernel->categorical[axis] || kernel->sines[axis] > 0)
            continue;
        double rate = ROOT_5 * kernel->lengthscales[axis] / kernel->reach, u = rate * x[axis];
        double up = exp(u), down = exp(-u);
        const double *others = points->X + axis * m, *rising = points->rising + axis * m,
                     *falling = points->falling + axis * m;
        for (int64_t j = 0; j < m; j++) {
            double r = u - rate * others[j];
            column[j] = r * (1.0 + fabs(r)) * smaller(up * falling[j], down * rising[j]);
        }
        gradient[axis] = -kernel->shares[axis] * ROOT_5 / (3.0 * kernel->reach) * dot(m, pulls, column);
    }
    release(workspace, mark);
}

EXPORTED int adabkb_gram(const Kernel *kernel, int64_t n, const double *X, int64_t m, const double *Y, double *K)
{
    BEGIN(workspace)
    Points points = tabulated(&workspace, kernel, Y, m);
    gram(&workspace, kernel, X, n, &points, K);
    END(workspace)
}

EXPORTED int adabkb_tabulate(const Kernel *kernel, Points *points)
{
    tabulate(kernel, points);
    return DONE;
}
