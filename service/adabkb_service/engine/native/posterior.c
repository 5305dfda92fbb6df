#include "posterior.h"

#include <math.h>

#include "linalg.h"

#define MIN_DEVIATION 1e-12 /* in the gradient, smaller deviations are replaced by this */

/* The kernel, (n, m), between cube positions X, (n, d), and the inducing points. */
static double *kernel_columns(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n)
{
    double *K = reals(workspace, n * posterior->inducing.m), *scaled = reals(workspace, n * posterior->kernel.columns);
    scale(&posterior->kernel, X, n, scaled);
    gram(workspace, &posterior->kernel, scaled, n, &posterior->inducing, K);
    return K;
}

/* sigma_f sqrt(k(x, x) - |V_x|^2), (n,), given V, (n, rows). The processor can compute four independent sums in parallel. */
static void deviations(const Posterior *posterior, const double *V, int64_t n, double *deviation)
{
    int64_t m = posterior->rows;
    double prior_variance = 1.0 + posterior->kernel.mean_variance; /* k(x, x) */
    for (int64_t i = 0; i < n; i++) {
        const double *row = V + i * m;
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
        int64_t j = 0;
        for (; j < m - 3; j += 4)
            for (int lane = 0; lane < 4; lane++)
                sums[lane] += row[j + lane] * row[j + lane];
        for (; j < m; j++)
            sums[0] += row[j] * row[j];
        double rest = prior_variance - (sums[0] + sums[1] + sums[2] + sums[3]);
        deviation[i] = sqrt(posterior->variance * (rest > 0.0 ? rest : 0.0));
    }
}

static void mean_and_std(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n, double *mean,
                         double *deviation)
{
    int64_t m = posterior->inducing.m;
    Block *mark = workspace->last;
    double *K = kernel_columns(workspace, posterior, X, n), *V = reals(workspace, n * posterior->rows);
    times_vector(K, n, m, posterior->weights, mean);
    times_transposed(K, n, m, posterior->factor, posterior->rows, V);
    deviations(posterior, V, n, deviation);
    release(workspace, mark);
}

void ucb(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n, double beta, double *values)
{
    Block *mark = workspace->last;
    double *deviation = reals(workspace, n);
    mean_and_std(workspace, posterior, X, n, values, deviation);
    for (int64_t i = 0; i < n; i++)
        values[i] += beta * deviation[i];
    release(workspace, mark);
}

/* ds / dk = -sigma_f^2 W'W k / s. For dk / dx see gram_and_radial and additive_slopes. */
void ucb_and_gradient(Workspace *workspace, const Posterior *posterior, const double *X, int64_t n, double beta,
                      double *values, double *gradient)
{
    const Kernel *kernel = &posterior->kernel;
    const Points *points = &posterior->inducing;
    int64_t d = kernel->d, columns = kernel->columns, m = points->m, rows = posterior->rows;
    Block *mark = workspace->last;
    double *scaled = reals(workspace, n * columns), *K = reals(workspace, n * m), *E = reals(workspace, n * m);
    double *V = reals(workspace, n * rows), *pulled = reals(workspace, n * m), *added = reals(workspace, d);
    double *deviation = reals(workspace, n), *sums = reals(workspace, n), *across = reals(workspace, n * columns);
    scale(kernel, X, n, scaled);
    gram_and_radial(workspace, kernel, scaled, n, points, K, E);
    times_transposed(K, n, m, posterior->factor, rows, V);
    deviations(posterior, V, n, deviation);
    times_vector(K, n, m, posterior->weights, values);
    times(V, n, rows, posterior->factor, m, pulled);
    for (int64_t i = 0; i < n; i++) {
        double *restrict row = E + i * m, *restrict pulls = pulled + i * m;
        double pull = beta * posterior->variance / (deviation[i] > MIN_DEVIATION ? deviation[i] : MIN_DEVIATION);
        values[i] += beta * deviation[i];
        for (int64_t j = 0; j < m; j++) {
            pulls[j] = posterior->weights[j] - pull * pulls[j];
            row[j] *= pulls[j];
        }
        sums[i] = 0.0;
        for (int64_t j = 0; j < m; j++)
            sums[i] += row[j];
    }
    times_transposed(E, n, m, points->X, columns, across);
    for (int64_t i = 0; i < n; i++) {
        if (points->share > 0.0)
            additive_slopes(workspace, kernel, scaled + i * columns, points, pulled + i * m, added);
        for (int64_t axis = 0; axis < d; axis++) {
            int64_t at = i * columns + axis;
            double slope = -3.0 * (scaled[at] * sums[i] - across[at]) / kernel->lengthscales[axis];
            if (kernel->sines[axis] > 0) { /* by the chain rule, along the circle */
                int64_t sine = i * columns + kernel->sines[axis];
                slope = -6.0 * PI * (across[at] * scaled[sine] - across[sine] * scaled[at]);
            }
            double more = points->share > 0.0 ? added[axis] : 0.0;
            gradient[i * d + axis] = kernel->categorical[axis] ? 0.0 : slope + more;
        }
    }
    release(workspace, mark);
}

int64_t largest(const double *values, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

EXPORTED int adabkb_mean(const Posterior *posterior, int64_t n, const double *X, double *mean)
{
    BEGIN(workspace)
    double *K = kernel_columns(&workspace, posterior, X, n);
    times_vector(K, n, posterior->inducing.m, posterior->weights, mean);
    END(workspace)
}

EXPORTED int adabkb_mean_and_std(const Posterior *posterior, int64_t n, const double *X, double *mean, double *deviation)
{
    BEGIN(workspace)
    mean_and_std(&workspace, posterior, X, n, mean, deviation);
    END(workspace)
}

EXPORTED int adabkb_ucb(const Posterior *posterior, int64_t n, const double *X, double beta, double *values)
{
    BEGIN(workspace)
    ucb(&workspace, posterior, X, n, beta, values);
    END(workspace)
}

EXPORTED int adabkb_ucb_and_gradient(const Posterior *posterior, int64_t n, const double *X, double beta, double *values,
                                     double *gradient)
{
    BEGIN(workspace)
    ucb_and_gradient(&workspace, posterior, X, n, beta, values, gradient);
    END(workspace)
}
