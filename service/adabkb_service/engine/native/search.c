/* The searches of auto/search/search.py and auto/search/refine.py for a large upper confidence bound f~. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "posterior.h"

#define GROWTH 1.6    /* factor of the step length after a gain */
#define SHRINKAGE 0.3 /* factor of the step length after a step without a gain */

/* As Ascent of structures.py. */
typedef struct {
    int64_t evaluations; /* maximum number of evaluations of f~ */
    double small_gain;   /* a step with a smaller gain of f~ ends the ascent */
    double first_step;   /* length of the first step, in lengthscales */
    int64_t failures;    /* number of consecutive steps without a gain that ends the ascent */
} Ascent;

/* A position of a periodic axis, moved into [0, 1) by whole periods. */
static double wrapped(double x)
{
    x -= floor(x);
    return x < 1.0 ? x : 0.0;
}

/* Writes the end of a step from x into trial. Returns whether there is a direction to move in. All arrays are (d,).
 * ``reach`` is the unit of length along each axis: the lengthscale, or less. */
static bool step(const Kernel *kernel, const double *x, const double *gradient, const uint8_t *free_axes, double length,
                 const double *reach, double *trial)
{
    int64_t d = kernel->d;
    double norm = 0.0;
    for (int64_t axis = 0; axis < d; axis++) {
        double direction = gradient[axis] * free_axes[axis] * reach[axis] * reach[axis];
        bool leads_out = (x[axis] <= 0.0 && direction < 0.0) || (x[axis] >= 1.0 && direction > 0.0);
        if (leads_out && kernel->sines[axis] == 0)
            direction = 0.0;
        trial[axis] = direction;
        double scaled = direction / reach[axis];
        norm += scaled * scaled;
    }
    norm = sqrt(norm);
    if (norm == 0.0)
        return false;
    for (int64_t axis = 0; axis < d; axis++) {
        double moved = x[axis] + length / norm * trial[axis];
        if (kernel->sines[axis] > 0)
            moved = wrapped(moved);
        moved = moved > 0.0 ? moved : 0.0;
        trial[axis] = moved < 1.0 ? moved : 1.0;
    }
    return true;
}

/* Projected gradient ascent from all of X, (n, d), at once, in place, along the free axes of each, (n, d). */
EXPORTED int adabkb_ascend(const Posterior *posterior, const Ascent *rules, int64_t n, double *X, double beta,
                           const uint8_t *free_axes)
{
    const Kernel *kernel = &posterior->kernel;
    int64_t d = kernel->d;
    size_t row = (size_t)d * sizeof(double);
    BEGIN(workspace)
    double *value = reals(&workspace, n), *gradient = reals(&workspace, n * d), *length = reals(&workspace, n);
    double *trial = reals(&workspace, n * d), *trial_value = reals(&workspace, n), *trial_gradient = reals(&workspace, n * d);
    double *reach = reals(&workspace, d);
    int64_t *failures = integers(&workspace, n), *active = integers(&workspace, n), count = n;
    for (int64_t axis = 0; axis < d; axis++) {
        reach[axis] = kernel->lengthscales[axis] < 1.0 ? kernel->lengthscales[axis] : 1.0;
        if (posterior->inducing.share > 0.0 && !kernel->categorical[axis] && kernel->reach < reach[axis])
            reach[axis] = kernel->reach;
    }
    for (int64_t i = 0; i < n; i++) {
        length[i] = rules->first_step;
        failures[i] = 0;
        active[i] = i;
    }
    ucb_and_gradient(&workspace, posterior, X, n, beta, value, gradient);
    for (int64_t evaluation = 0; evaluation < rules->evaluations && count > 0; evaluation++) {
        int64_t moving = 0, going_on = 0;
        for (int64_t i = 0; i < count; i++) {
            int64_t at = active[i];
            if (step(kernel, X + at * d, gradient + at * d, free_axes + at * d, length[at], reach, trial + moving * d))
                active[moving++] = at;
        }
        if (moving == 0)
            break;
        ucb_and_gradient(&workspace, posterior, trial, moving, beta, trial_value, trial_gradient);
        for (int64_t i = 0; i < moving; i++) {
            int64_t at = active[i];
            double gain = trial_value[i] - value[at];
            if (gain > 0.0) {
                memcpy(X + at * d, trial + i * d, row);
                memcpy(gradient + at * d, trial_gradient + i * d, row);
                value[at] = trial_value[i];
                length[at] *= GROWTH;
                failures[at] = 0;
            } else {
                length[at] *= SHRINKAGE;
                failures[at]++;
            }
            if (gain > 0.0 ? gain >= rules->small_gain : failures[at] < rules->failures)
                active[going_on++] = at;
        }
        count = going_on;
    }
    END(workspace)
}

/* Moves x, (d,), along one axis at a time to the best of its current position and p others, (d, p). */
EXPORTED int adabkb_axis_by_axis(const Posterior *posterior, double *x, int64_t p, const double *positions, double beta)
{
    int64_t d = posterior->kernel.d;
    BEGIN(workspace)
    double *rows = reals(&workspace, (p + 1) * d), *values = reals(&workspace, p + 1);
    for (int64_t axis = 0; axis < d; axis++) {
        for (int64_t i = 0; i <= p; i++) {
            memcpy(rows + i * d, x, (size_t)d * sizeof(double));
            if (i > 0)
                rows[i * d + axis] = positions[axis * p + i - 1];
        }
        ucb(&workspace, posterior, rows, p + 1, beta, values);
        memcpy(x, rows + largest(values, p + 1) * d, (size_t)d * sizeof(double));
    }
    END(workspace)
}

/* The indices 0 to n - 1 in decreasing order of the values. Equal values keep their order. */
static void order_falling(const double *values, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i;
        for (; place > 0 && values[order[place - 1]] < values[i]; place--)
            order[place] = order[place - 1];
        order[place] = i;
    }
}

/* Moves as many coordinates of x, (d,), as possible to those of a centroid, (d,), first those that reduce f~ least, while f~
 * stays at or above a floor. */
EXPORTED int adabkb_move_towards(const Posterior *posterior, double beta, double *x, const double *centroid, double floor)
{
    int64_t d = posterior->kernel.d;
    size_t row = (size_t)d * sizeof(double);
    BEGIN(workspace)
    double *single = reals(&workspace, d * d), *together = reals(&workspace, d * d), *values = reals(&workspace, d);
    int64_t *axes = integers(&workspace, d), *order = integers(&workspace, d);
    for (bool moved = true; moved;) {
        int64_t count = 0;
        for (int64_t axis = 0; axis < d; axis++)
            if (x[axis] != centroid[axis])
                axes[count++] = axis;
        for (int64_t i = 0; i < count; i++) {
            memcpy(single + i * d, x, row);
            single[i * d + axes[i]] = centroid[axes[i]];
        }
        ucb(&workspace, posterior, single, count, beta, values);
        order_falling(values, count, order);
        for (int64_t i = 0; i < count; i++) {
            memcpy(together + i * d, i > 0 ? together + (i - 1) * d : x, row);
            together[i * d + axes[order[i]]] = centroid[axes[order[i]]];
        }
        ucb(&workspace, posterior, together, count, beta, values);
        moved = false;
        for (int64_t i = count - 1; i >= 0 && !moved; i--)
            if (values[i] >= floor) {
                memcpy(x, together + i * d, row);
                moved = true;
            }
    }
    END(workspace)
}

/* Chooses, from some axes, (count,), the one along which a step from a centroid to x, (d,) both, gains most. The gain
 * along an axis is the average of the gains if its step is taken before all others, and after all others. */
EXPORTED int adabkb_axis_to_cut(const Posterior *posterior, double beta, const double *x, const double *centroid,
                                int64_t count, const int64_t *axes, int64_t *chosen)
{
    int64_t d = posterior->kernel.d;
    size_t row = (size_t)d * sizeof(double);
    BEGIN(workspace)
    double *mixed = reals(&workspace, 2 * count * d), *values = reals(&workspace, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        double *first = mixed + i * d, *last = mixed + (count + i) * d;
        memcpy(first, centroid, row);
        memcpy(last, x, row);
        first[axes[i]] = x[axes[i]];
        last[axes[i]] = centroid[axes[i]];
    }
    ucb(&workspace, posterior, mixed, 2 * count, beta, values);
    for (int64_t i = 0; i < count; i++)
        values[i] -= values[count + i];
    *chosen = axes[largest(values, count)];
    END(workspace)
}
