/* The negative log posterior of auto/model/likelihood.py, and its minimization, which learns the hyperparameters.
 *
 * The parameters are the logarithms of the lengthscales of axes and of components of descriptors, and log nu. With an
 * additive part, logit w, log a and t_1 .. t_d follow, where w_k = w exp(t_k) / sum of exp(t_j). With plates, log tau is the
 * last parameter.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernel.h"
#include "linalg.h"

#define INDEFINITE 1e10 /* the value where K is not positive definite */
#define TILE 16         /* rows and columns of a matrix that are mirrored at a time */

/* As Priors of structures.py. */
typedef struct {
    const double *lengthscales;                      /* (d + p,) means of log l, whose deviations are 1 */
    double noise, noise_deviation;                   /* mean and deviation of log nu */
    double share_deviation;                          /* deviation of logit w, whose mean is 0 */
    double reach;                                    /* mean of log a, whose deviation is 1 */
    double weight_deviation;                         /* deviation of t_k, whose mean is 0 */
    double lengthscale_bounds[2], noise_bounds[2];   /* bounds of the logarithms; the first ones are also those of a */
    double share_bounds[2];                          /* bounds of logit w */
    double largest_weight;                           /* bound of |t_k| */
    double plates, plates_deviation;                 /* mean and deviation of log tau */
    double plates_bounds[2];                         /* bounds of log tau */
    double mean_variance;                            /* variance of the constant mean, a part of the kernel */
    double smallest_variance;                        /* sigma_f^2 is at least this */
} Priors;

/* As Minimization of structures.py. */
typedef struct {
    int64_t evaluations; /* maximum number of evaluations of the negative log posterior */
    double small_gain;   /* a step with a smaller gain ends the search */
    double longest_step; /* maximum change of a parameter in a step */
    double flat;         /* largest component of a gradient that counts as 0 */
    double sufficient;   /* minimum gain of a step, as a share of the gain that the gradient predicts */
} Minimization;

/* As Results of structures.py. */
typedef struct {
    int64_t n, d;
    const double *positions;    /* (n, d), in the cube */
    const double *outputs;      /* (n,) */
    const double *extra;        /* (n,) known noise ratios */
    const uint8_t *categorical; /* (d,) */
    Components components;
    int64_t q;            /* number of periodic axes */
    const int64_t *sines; /* (d,) as in Kernel */
    int64_t smooth;       /* as in Kernel */
    const int64_t *plates; /* (n,) the plate of each row, -1 for one of its own; NULL without plates */
} Results;

static double square(double x)
{
    return x * x;
}

static double clipped(double x, double low, double high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

static void transpose(const double *X, int64_t n, int64_t d, double *transposed)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t axis = 0; axis < d; axis++)
            transposed[axis * n + i] = X[i * d + axis];
}

/* Copies the upper triangle of a matrix, (n, n), to the lower one, in tiles that fit into the nearest cache. */
static void mirror(double *A, int64_t n)
{
    for (int64_t first = 0; first < n; first += TILE)
        for (int64_t left = 0; left <= first; left += TILE)
            for (int64_t i = first; i < n && i < first + TILE; i++)
                for (int64_t j = left; j < i && j < left + TILE; j++)
                    A[i * n + j] = A[j * n + i];
}

/* w_k, (d,), of (logit w, log a, t). */
static void shares_of(const double *part, int64_t d, double *shares)
{
    double sum = 0.0, share = 1.0 + exp(-part[0]);
    for (int64_t axis = 0; axis < d; axis++) {
        shares[axis] = exp(part[2 + axis]);
        sum += shares[axis];
    }
    for (int64_t axis = 0; axis < d; axis++)
        shares[axis] = shares[axis] / sum / share;
}

/* The sum of G k over ordered pairs of rows whose choices along an axis differ. Only the upper triangles are read. */
static double weight_of_differing(const double *G, const double *k, const Results *results, int64_t axis)
{
    int64_t n = results->n, d = results->d;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            if (results->positions[i * d + axis] != results->positions[j * d + axis])
                total += 2.0 * G[i * n + j] * k[i * n + j];
    return total;
}

/* tr(G k) of symmetric matrices, (n, n). Only the upper triangles are read. */
static double weighted(const double *G, const double *k, int64_t n)
{
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double *g = G + i * n + i, *row = k + i * n + i;
        total += g[0] * row[0] + 2.0 * dot(n - i - 1, g + 1, row + 1);
    }
    return total;
}

/* tr(G g_k) and tr(G dg_k / dlog a), (d,) each, with the matrix g_k of the results along each axis, where
 * dg / dlog a = r^2 (1 + r) exp(-r) / 3. Only the upper triangle of the symmetric G, (n, n), is read. */
static void traces(Workspace *workspace, const double *G, const Results *results, double reach, double *values,
                   double *changes)
{
    int64_t n = results->n, d = results->d;
    Block *mark = workspace->last;
    double *u = reals(workspace, n), *rising = reals(workspace, n), *falling = reals(workspace, n);
    double *restrict g = reals(workspace, n), *restrict change = reals(workspace, n);
    double r_differing = ROOT_5 / reach, differing = along_axis(r_differing);
    double changing = square(r_differing) * (1.0 + r_differing) * exp(-r_differing) / 3.0;
    for (int64_t axis = 0; axis < d; axis++) {
        values[axis] = changes[axis] = 0.0;
        for (int64_t j = 0; j < n; j++) {
            u[j] = results->positions[j * d + axis] * ROOT_5 / reach;
            rising[j] = exp(u[j]);
            falling[j] = 1.0 / rising[j];
        }
        for (int64_t i = 0; i < n; i++) {
            const double *row = G + i * n;
            if (results->categorical[axis]) {
                for (int64_t j = i; j < n; j++) {
                    g[j] = u[j] == u[i] ? 1.0 : differing;
                    change[j] = u[j] == u[i] ? 0.0 : changing;
                }
            } else if (results->sines[axis] > 0) {
                double here = results->positions[i * d + axis];
                for (int64_t j = i; j < n; j++) {
                    double r = chord(here - results->positions[j * d + axis]) * ROOT_5 / reach;
                    g[j] = along_axis(r);
                    change[j] = r * r * (1.0 + r) / 3.0 * exp(-r);
                }
            } else {
                double up = rising[i], down = falling[i];
                for (int64_t j = i; j < n; j++) {
                    double r = fabs(u[i] - u[j]), left = up * falling[j], right = down * rising[j];
                    double e = left < right ? left : right;
                    g[j] = (1.0 + r + r * r / 3.0) * e;
                    change[j] = r * r * (1.0 + r) / 3.0 * e;
                }
            }
            values[axis] += 2.0 * dot(n - i, row + i, g + i) - row[i];
            changes[axis] += 2.0 * dot(n - i, row + i, change + i);
        }
    }
    release(workspace, mark);
}

/* The squared distance of (logit w, log a, t) from the center of the prior, in deviations. Half of its gradient is added to
 * ``gradient``, unless this is NULL. */
static double away_from_prior(const Priors *priors, const double *part, int64_t count, double *gradient)
{
    double total = 0.0;
    for (int64_t k = 0; k < count; k++) {
        double deviation = k == 0 ? priors->share_deviation : k == 1 ? 1.0 : priors->weight_deviation;
        double away = (part[k] - (k == 1 ? priors->reach : 0.0)) / deviation;
        if (gradient != NULL)
            gradient[k] += away / deviation;
        total += away * away;
    }
    return total;
}

/* Whether two rows are of the same plate. */
static bool share_plate(const Results *results, int64_t i, int64_t j)
{
    return i == j || (results->plates[i] >= 0 && results->plates[i] == results->plates[j]);
}

/* The sum of G over the ordered pairs of rows of the same plate, including each row with itself. Only the upper
 * triangle of the symmetric G is read. */
static double weight_within_plates(const double *G, const Results *results)
{
    int64_t n = results->n;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            if (share_plate(results, i, j))
                total += (i == j ? 1.0 : 2.0) * G[i * n + j];
    return total;
}

/* The quantities at some parameters from which the negative log posterior and its gradient are computed. Only the upper
 * triangles of matrices, (n, n), are filled. */
typedef struct {
    Kernel kernel;
    const double *part; /* the parameters of the additive part; NULL without one */
    double *shares;     /* (d,) w_k */
    double share;       /* w, the sum of w_k; 0 without an additive part */
    double noise, tau;
    double *scaled;     /* (n, columns) the scaled positions */
    double *covariance; /* k + mean_variance of the radial part */
    double *E;          /* see gram_and_radial_within */
    double *K;          /* the Cholesky factor of K */
    double *alpha;      /* (n,) K^-1 z */
    double variance;    /* sigma_f^2 */
    double fit_weight;  /* 1 / sigma_f^2; 0 if sigma_f^2 is at its bound */
    bool is_definite;   /* whether K is positive definite; if not, alpha is not computed */
} Fit;

/* The Fit at ``count`` parameters. */
static Fit fit_at(Workspace *workspace, const Priors *priors, const Results *results, const double *parameters, int64_t count)
{
    int64_t n = results->n, d = results->d, lengths = d + results->components.p, columns = lengths + results->q, size = n * n;
    bool has_plates = results->plates != NULL;
    double *lengthscales = reals(workspace, lengths), *transposed = reals(workspace, n * columns);
    Fit fit = {.part = count - has_plates > lengths + 1 ? parameters + lengths + 1 : NULL,
               .shares = reals(workspace, d),
               .noise = exp(parameters[lengths]),
               .tau = has_plates ? exp(parameters[count - 1]) : 0.0,
               .scaled = reals(workspace, n * columns),
               .covariance = reals(workspace, size),
               .E = reals(workspace, size),
               .K = reals(workspace, size),
               .alpha = reals(workspace, n),
               .variance = priors->smallest_variance};
    for (int64_t axis = 0; axis < lengths; axis++)
        lengthscales[axis] = exp(parameters[axis]);
    fit.kernel = (Kernel){.d = d, .columns = columns, .lengthscales = lengthscales, .categorical = results->categorical,
                          .components = &results->components, .sines = results->sines, .smooth = results->smooth,
                          .mean_variance = priors->mean_variance};
    scale(&fit.kernel, results->positions, n, fit.scaled);
    transpose(fit.scaled, n, columns, transposed);
    Points plain = {.m = n, .X = transposed};
    gram_and_radial_within(workspace, &fit.kernel, fit.scaled, &plain, fit.covariance, fit.E);
    double *K = fit.K;
    for (int64_t i = 0; i < n; i++)
        memcpy(K + i * n + i, fit.covariance + i * n + i, (size_t)(n - i) * sizeof(double));
    if (fit.part != NULL) {
        shares_of(fit.part, d, fit.shares);
        fit.kernel.shares = fit.shares;
        fit.kernel.reach = exp(fit.part[1]);
        Points points = tabulated(workspace, &fit.kernel, transposed, n);
        fit.share = points.share;
        mix_within(workspace, &fit.kernel, fit.scaled, &points, K);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++)
                K[i * n + j] += fit.share * priors->mean_variance;
    }
    for (int64_t i = 0; i < n; i++)
        K[i * n + i] += fit.noise + results->extra[i];
    for (int64_t i = 0; has_plates && i < n; i++)
        for (int64_t j = i; j < n; j++)
            K[i * n + j] += share_plate(results, i, j) ? fit.tau : 0.0;
    fit.is_definite = factorize(K, n);
    if (!fit.is_definite)
        return fit;
    solve(K, n, results->outputs, fit.alpha);
    double variance = dot(n, results->outputs, fit.alpha) / (double)n;
    bool is_above = variance > priors->smallest_variance;
    fit.fit_weight = is_above ? 1.0 / variance : 0.0;
    fit.variance = is_above ? variance : priors->smallest_variance;
    return fit;
}

/* The negative log posterior at ``count`` parameters, given their Fit; huge where K is not positive definite. */
static double objective(const Priors *priors, const Results *results, const double *parameters, int64_t count, const Fit *fit)
{
    int64_t n = results->n, d = results->d, lengths = d + results->components.p;
    double log_determinant = 0.0;
    if (!fit->is_definite)
        return INDEFINITE;
    for (int64_t i = 0; i < n; i++)
        log_determinant += 2.0 * log(fit->K[i * n + i]);
    double value = (double)n * log(fit->variance) + log_determinant;
    if (fit->share > 0.0)
        value += away_from_prior(priors, fit->part, d + 2, NULL);
    if (results->plates != NULL)
        value += square((parameters[count - 1] - priors->plates) / priors->plates_deviation);
    for (int64_t axis = 0; axis < lengths; axis++)
        value += square(parameters[axis] - priors->lengthscales[axis]);
    double from_noise = (parameters[lengths] - priors->noise) / priors->noise_deviation;
    return 0.5 * (value + from_noise * from_noise);
}

/* The gradient of the negative log posterior at ``count`` parameters; 0 where K is not positive definite. The matrices of
 * the Fit are overwritten.
 *
 * With G = (K^-1 - K^-1 z z' K^-1 / sigma_f^2) / 2 the gradient along a parameter is tr(G dK), and
 * dK / dlog l_k = 3 ((x_k - x'_k) / l_k)^2 E, or [x_k != x'_k] k / l_k along a categorical axis, times 1 - w. With S = sum
 * of w_k g_k, dK / dlogit w = (1 - w) (S - w k), dK / dlog a = dS / dlog a and dK / dt_k = w_k (g_k - S / w). With
 * plates, dK / dlog tau = tau [same plate].
 */
static void gradient_of(Workspace *workspace, const Priors *priors, const Results *results, const double *parameters,
                        int64_t count, Fit *fit, double *gradient)
{
    int64_t n = results->n, d = results->d, lengths = d + results->components.p, columns = fit->kernel.columns;
    double *K = fit->K, *E = fit->E, *covariance = fit->covariance, share = fit->share, trace = 0.0;
    const double *scaled = fit->scaled;
    for (int64_t k = 0; k < count; k++)
        gradient[k] = 0.0;
    if (!fit->is_definite)
        return;
    Block *mark = workspace->last;
    invert(K, n);
    for (int64_t i = 0; i < n; i++) { /* K becomes G, E becomes G E, and covariance k alone */
        double weight = fit->fit_weight * fit->alpha[i];
        for (int64_t j = i; j < n; j++) {
            double G = 0.5 * (K[i * n + j] - weight * fit->alpha[j]);
            K[i * n + j] = G;
            E[i * n + j] *= G;
            covariance[i * n + j] -= priors->mean_variance;
        }
    }
    mirror(E, n);
    double *across = reals(workspace, n * columns);
    times(E, n, n, scaled, columns, across);
    for (int64_t i = 0; i < n; i++) {
        double row_sum = 0.0;
        for (int64_t j = 0; j < n; j++)
            row_sum += E[i * n + j];
        trace += K[i * n + i];
        for (int64_t axis = 0; axis < lengths; axis++) {
            int64_t at = i * columns + axis, sine = axis < d ? results->sines[axis] : 0;
            gradient[axis] += 6.0 * scaled[at] * (row_sum * scaled[at] - across[at]);
            at = i * columns + sine;
            gradient[axis] += sine > 0 ? 6.0 * scaled[at] * (row_sum * scaled[at] - across[at]) : 0.0;
        }
    }
    for (int64_t axis = 0; axis < lengths; axis++) {
        if (axis < d && results->categorical[axis])
            gradient[axis] = weight_of_differing(K, covariance, results, axis) / fit->kernel.lengthscales[axis];
        gradient[axis] *= 1.0 - share;
    }
    if (share > 0.0) {
        double *values = reals(workspace, d), *changes = reals(workspace, d);
        traces(workspace, K, results, fit->kernel.reach, values, changes);
        double alone = dot(d, fit->shares, values);
        double *of_part = gradient + lengths + 1;
        of_part[0] = (1.0 - share) * (alone - share * weighted(K, covariance, n));
        of_part[1] = dot(d, fit->shares, changes);
        for (int64_t axis = 0; axis < d; axis++)
            of_part[2 + axis] = fit->shares[axis] * (values[axis] - alone / share);
        away_from_prior(priors, fit->part, d + 2, of_part);
    }
    if (results->plates != NULL) {
        double away = (parameters[count - 1] - priors->plates) / priors->plates_deviation;
        gradient[count - 1] = fit->tau * weight_within_plates(K, results) + away / priors->plates_deviation;
    }
    for (int64_t axis = 0; axis < lengths; axis++)
        gradient[axis] += parameters[axis] - priors->lengthscales[axis];
    double from_noise = (parameters[lengths] - priors->noise) / priors->noise_deviation;
    gradient[lengths] = fit->noise * trace + from_noise / priors->noise_deviation;
    release(workspace, mark);
}

/* The bounds of ``count`` parameters. The first ``columns`` of them are lengthscales. With plates, the last one is log tau. */
static void bound(const Priors *priors, int64_t columns, int64_t count, bool has_plates, double *low, double *high)
{
    if (has_plates) {
        count--;
        low[count] = priors->plates_bounds[0];
        high[count] = priors->plates_bounds[1];
    }
    for (int64_t k = 0; k < count; k++) {
        low[k] = k > columns + 2 ? -priors->largest_weight : priors->lengthscale_bounds[0];
        high[k] = k > columns + 2 ? priors->largest_weight : priors->lengthscale_bounds[1];
    }
    low[columns] = priors->noise_bounds[0];
    high[columns] = priors->noise_bounds[1];
    if (count > columns + 1) {
        low[columns + 1] = priors->share_bounds[0];
        high[columns + 1] = priors->share_bounds[1];
    }
}

static void identity(double *H, int64_t n)
{
    memset(H, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t k = 0; k < n; k++)
        H[k * n + k] = 1.0;
}

/* BFGS: H is the inverse Hessian that maps the change y of the gradient to the step s, (n,) each. */
static void update(double *H, int64_t n, const double *s, const double *y, double sy, double *Hy)
{
    times_vector(H, n, n, y, Hy);
    double scale = (1.0 + dot(n, y, Hy) / sy) / sy;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            H[i * n + j] += scale * (s[i] * s[j]) - (Hy[i] * s[j] + s[i] * Hy[j]) / sy;
}

static double largest_size(const double *x, int64_t n)
{
    double found = 0.0;
    for (int64_t k = 0; k < n; k++)
        found = fabs(x[k]) > found ? fabs(x[k]) : found;
    return found;
}

EXPORTED int adabkb_negative_log_posterior(const Priors *priors, const Results *results, int64_t count,
                                           const double *parameters, double *value, double *gradient, double *variance)
{
    BEGIN(workspace)
    Fit fit = fit_at(&workspace, priors, results, parameters, count);
    *value = objective(priors, results, parameters, count, &fit);
    *variance = fit.variance;
    gradient_of(&workspace, priors, results, parameters, count, &fit, gradient);
    END(workspace)
}

/* Minimizes the negative log posterior from ``count`` parameters x, which are overwritten with those at the minimum.
 *
 * BFGS within the bounds: a parameter at a bound does not move if the gradient points outwards, and other parameters stop at
 * their bounds. The inverse Hessian begins as the identity. A step is shortened to half or less until it gains enough.
 */
EXPORTED int adabkb_minimize(const Priors *priors, const Results *results, const Minimization *rules, int64_t count,
                             double *x, double *found, double *found_variance)
{
    BEGIN(workspace)
    size_t size = (size_t)count * sizeof(double);
    double *low = reals(&workspace, count), *high = reals(&workspace, count), *H = reals(&workspace, count * count);
    double *gradient = reals(&workspace, count), *free_gradient = reals(&workspace, count), *step = reals(&workspace, count);
    double *moved = reals(&workspace, count), *moved_gradient = reals(&workspace, count), *s = reals(&workspace, count);
    double *y = reals(&workspace, count), *Hy = reals(&workspace, count);
    double value, variance, moved_value;
    int64_t evaluations = 1;
    bool fresh = true;
    bound(priors, results->d + results->components.p, count, results->plates != NULL, low, high);
    for (int64_t k = 0; k < count; k++)
        x[k] = clipped(x[k], low[k], high[k]);
    identity(H, count);
    Block *mark = workspace.last;
    Fit fit = fit_at(&workspace, priors, results, x, count);
    value = objective(priors, results, x, count, &fit);
    variance = fit.variance;
    gradient_of(&workspace, priors, results, x, count, &fit, gradient);
    while (evaluations < rules->evaluations) {
        for (int64_t k = 0; k < count; k++) {
            bool held = (x[k] <= low[k] && gradient[k] > 0.0) || (x[k] >= high[k] && gradient[k] < 0.0);
            free_gradient[k] = held ? 0.0 : gradient[k];
        }
        if (largest_size(free_gradient, count) <= rules->flat)
            break;
        times_vector(H, count, count, free_gradient, step);
        for (int64_t k = 0; k < count; k++) {
            bool held = (x[k] <= low[k] && gradient[k] > 0.0) || (x[k] >= high[k] && gradient[k] < 0.0);
            step[k] = held ? 0.0 : -step[k];
        }
        if (fresh) {
            double norm = sqrt(dot(count, step, step));
            for (int64_t k = 0; k < count; k++)
                step[k] /= norm > 1.0 ? norm : 1.0;
        }
        double longest = largest_size(step, count) / rules->longest_step;
        for (int64_t k = 0; k < count; k++)
            step[k] /= longest > 1.0 ? longest : 1.0;
        moved_value = value;
        for (double length = 1.0; evaluations < rules->evaluations;) {
            for (int64_t k = 0; k < count; k++) {
                moved[k] = clipped(x[k] + length * step[k], low[k], high[k]);
                s[k] = moved[k] - x[k];
            }
            double slope = dot(count, gradient, s);
            release(&workspace, mark);
            fit = fit_at(&workspace, priors, results, moved, count);
            moved_value = objective(priors, results, moved, count, &fit);
            evaluations++;
            if (moved_value <= value + rules->sufficient * slope)
                break;
            double curvature = moved_value - value - slope;
            length *= curvature > 0.0 ? clipped(-0.5 * slope / curvature, 0.1, 0.5) : 0.1;
        }
        if (!(moved_value < value)) {
            if (fresh)
                break;
            identity(H, count);
            fresh = true;
            continue;
        }
        gradient_of(&workspace, priors, results, moved, count, &fit, moved_gradient);
        for (int64_t k = 0; k < count; k++)
            y[k] = moved_gradient[k] - gradient[k];
        double gain = value - moved_value;
        memcpy(x, moved, size);
        memcpy(gradient, moved_gradient, size);
        value = moved_value;
        variance = fit.variance;
        if (gain <= rules->small_gain)
            break;
        double sy = dot(count, s, y), yy = dot(count, y, y);
        if (sy > 1e-10 * yy) {
            if (fresh)
                for (int64_t k = 0; k < count * count; k++)
                    H[k] *= sy / yy;
            fresh = false;
            update(H, count, s, y, sy, Hy);
        }
    }
    *found = value;
    *found_variance = variance;
    END(workspace)
}
