/* The bounds of auto/search/pruning.py over cells. */
#include <math.h>

#include "posterior.h"

/* The largest distance along a component between the choice at the position low and those from there to the position high. */
static double farthest(const Components *components, int64_t component, double low, double high)
{
    int64_t first = choice_at(components, component, low), last = choice_at(components, component, high);
    double found = 0.0;
    for (int64_t choice = first + 1; choice <= last; choice++) {
        double away = fabs(place(components, component, choice) - place(components, component, first));
        found = away > found ? away : found;
    }
    return found;
}

/* U = f~(c) + F d_k(reach) of boxes between lows and highs, (n, d) each. c has the middle of each ordered axis, and the first
 * choice of each categorical one. */
EXPORTED int adabkb_upper_bounds(const Posterior *posterior, double beta, double norm, int64_t n, const double *lows,
                                 const double *highs, double *bounds)
{
    const Kernel *kernel = &posterior->kernel;
    double share = posterior->inducing.share;
    int64_t d = kernel->d;
    BEGIN(workspace)
    double *centres = reals(&workspace, n * d), *distances = reals(&workspace, n);
    for (int64_t box = 0; box < n; box++) {
        double square = 0.0, q = 0.0, total = 0.0;
        for (int64_t axis = 0; axis < d; axis++) {
            double low = lows[box * d + axis], high = highs[box * d + axis], width = high - low, alone = 1.0;
            centres[box * d + axis] = low;
            if (!kernel->categorical[axis]) {
                double away = kernel->sines[axis] > 0 ? chord(width / 2.0) : width / 2.0;
                double half = away / kernel->lengthscales[axis];
                centres[box * d + axis] = (low + high) / 2.0;
                square += half * half;
                alone = along_axis(ROOT_5 * away / kernel->reach);
            } else if (width > 0.0) {
                q += 1.0 / kernel->lengthscales[axis];
                alone = along_axis(ROOT_5 / kernel->reach);
            }
            if (share > 0.0)
                total += kernel->shares[axis] * alone;
        }
        for (int64_t component = 0; component < kernel->components->p; component++) {
            int64_t at = box * d + kernel->components->axes[component];
            double away = farthest(kernel->components, component, lows[at], highs[at]) / kernel->lengthscales[d + component];
            square += away * away;
        }
        double least = radial_at(kernel, square, q); /* k between c and the farthest corner */
        if (share > 0.0)
            least = (1.0 - share) * least + total;
        double apart = 2.0 - 2.0 * least;
        distances[box] = norm * sqrt(apart > 0.0 ? apart : 0.0);
    }
    ucb(&workspace, posterior, centres, n, beta, bounds);
    for (int64_t box = 0; box < n; box++)
        bounds[box] += distances[box];
    END(workspace)
}

/* Marks all descendants of marked cells; arrays are (n,). Parents come before their children. */
EXPORTED int adabkb_mark_descendants(int64_t n, uint8_t *marked, const int32_t *parents)
{
    for (int64_t cell = 1; cell < n; cell++)
        marked[cell] |= marked[parents[cell]];
    return DONE;
}
