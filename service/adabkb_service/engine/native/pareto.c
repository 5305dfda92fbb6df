/* Pareto fronts and hypervolumes of points, (n, K) with K from 2 to 4, for auto/acquisition/pareto.py. Larger values are
 * better. */
#include <stdbool.h>
#include <string.h>

#include "workspace.h"

static bool dominates(const double *one, const double *other, int64_t K)
{
    bool better = false;
    for (int64_t k = 0; k < K; k++) {
        if (one[k] < other[k])
            return false;
        better |= one[k] > other[k];
    }
    return better;
}

/* Sets found, (n,), to whether each point is dominated by no other. */
static void front(const double *points, int64_t n, int64_t K, uint8_t *found)
{
    memset(found, 1, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n && found[i]; j++)
            if (found[j] && dominates(points + j * K, points + i * K, K))
                found[i] = 0;
}

/* Copies the first ``count`` coordinates of the points that are on the front of these coordinates. Returns the number of
 * points copied. */
static int64_t kept_on_front(Workspace *workspace, const double *points, int64_t n, int64_t K, int64_t count, double *kept)
{
    int64_t found = 0;
    Block *mark = workspace->last;
    double *cut = reals(workspace, n * count);
    uint8_t *on_front = flags(workspace, n);
    for (int64_t i = 0; i < n; i++)
        memcpy(cut + i * count, points + i * K, (size_t)count * sizeof(double));
    front(cut, n, count, on_front);
    for (int64_t i = 0; i < n; i++)
        if (on_front[i])
            memcpy(kept + found++ * count, cut + i * count, (size_t)count * sizeof(double));
    release(workspace, mark);
    return found;
}

/* The points in decreasing order of the coordinate ``by``. Equal points keep their order. */
static double *ranked(Workspace *workspace, const double *points, int64_t n, int64_t K, int64_t by)
{
    double *sorted = reals(workspace, n * K);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = i;
        for (; place > 0 && sorted[(place - 1) * K + by] < points[i * K + by]; place--)
            memcpy(sorted + place * K, sorted + (place - 1) * K, (size_t)K * sizeof(double));
        memcpy(sorted + place * K, points + i * K, (size_t)K * sizeof(double));
    }
    return sorted;
}

/* The area that points, (n, 2), dominate above 0. They are given in decreasing order of the first coordinate. */
static double below_staircase(const double *points, int64_t n)
{
    double area = 0.0, height = 0.0;
    for (int64_t i = 0; i < n; i++)
        if (points[2 * i + 1] > height) {
            area += points[2 * i] * (points[2 * i + 1] - height);
            height = points[2 * i + 1];
        }
    return area;
}

/* The volume in three dimensions, in slices along the last one, from the top. The base of a slice is the area that the
 * points at or above the slice dominate. */
static double in_slices(Workspace *workspace, const double *points, int64_t n)
{
    Block *mark = workspace->last;
    double *sorted = ranked(workspace, points, n, 3, 2), *above = reals(workspace, n * 2), total = 0.0;
    for (int64_t count = 0; count < n; count++) {
        const double *point = sorted + 3 * count;
        double below = count + 1 < n ? point[3 + 2] : 0.0;
        int64_t place = count;
        for (; place > 0 && above[2 * (place - 1)] < point[0]; place--)
            memcpy(above + 2 * place, above + 2 * (place - 1), 2 * sizeof(double));
        memcpy(above + 2 * place, point, 2 * sizeof(double));
        total += below_staircase(above, count + 1) * (point[2] - below);
    }
    release(workspace, mark);
    return total;
}

/* The volume in four dimensions, in slices along the last one. */
static double in_slices_of_slices(Workspace *workspace, const double *points, int64_t n)
{
    Block *mark = workspace->last;
    double *sorted = ranked(workspace, points, n, 4, 3), *upper = reals(workspace, n * 3), total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        double height = sorted[4 * i + 3] - (i + 1 < n ? sorted[4 * (i + 1) + 3] : 0.0);
        if (height > 0.0) {
            int64_t kept = kept_on_front(workspace, sorted, i + 1, 4, 3, upper);
            total += in_slices(workspace, upper, kept) * height;
        }
    }
    release(workspace, mark);
    return total;
}

/* The volume that points dominate above 0. */
static double volume(Workspace *workspace, const double *points, int64_t n, int64_t K)
{
    Block *mark = workspace->last;
    double found;
    if (K == 2)
        found = below_staircase(ranked(workspace, points, n, 2, 0), n);
    else
        found = K == 3 ? in_slices(workspace, points, n) : in_slices_of_slices(workspace, points, n);
    release(workspace, mark);
    return found;
}

/* The volume that a point adds to that of others: its own volume, less the part of it that the others dominate. */
static double added_volume(Workspace *workspace, const double *known, int64_t n, const double *point, int64_t K)
{
    Block *mark = workspace->last;
    double *shared = reals(workspace, n * K), *kept = reals(workspace, n * K), own = 1.0;
    for (int64_t k = 0; k < K; k++)
        own *= point[k];
    for (int64_t i = 0; i < n * K; i++)
        shared[i] = known[i] < point[i % K] ? known[i] : point[i % K];
    own -= volume(workspace, kept, kept_on_front(workspace, shared, n, K, K, kept), K);
    release(workspace, mark);
    return own;
}

EXPORTED int adabkb_front(int64_t n, int64_t K, const double *points, uint8_t *found)
{
    front(points, n, K, found);
    return DONE;
}

/* The volume that points dominate above 0. */
EXPORTED int adabkb_volume(int64_t n, int64_t K, const double *points, double *found)
{
    BEGIN(workspace)
    *found = volume(&workspace, points, n, K);
    END(workspace)
}

/* The volume of the points up to and including each one, (n,). */
EXPORTED int adabkb_volume_growth(int64_t n, int64_t K, const double *points, double *found)
{
    BEGIN(workspace)
    size_t row = (size_t)K * sizeof(double);
    double *known = reals(&workspace, n * K), sum = 0.0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *point = points + i * K;
        bool is_new = true;
        for (int64_t k = 0; k < K; k++)
            is_new &= point[k] > 0.0;
        for (int64_t j = 0; j < count && is_new; j++) {
            bool is_below = true;
            for (int64_t k = 0; k < K; k++)
                is_below &= known[j * K + k] >= point[k];
            is_new = !is_below;
        }
        if (is_new) {
            int64_t kept = 0;
            sum += added_volume(&workspace, known, count, point, K);
            for (int64_t j = 0; j < count; j++)
                if (!dominates(point, known + j * K, K))
                    memmove(known + kept++ * K, known + j * K, row);
            memcpy(known + kept * K, point, row);
            count = kept + 1;
        }
        found[i] = sum;
    }
    END(workspace)
}

/* The share, (n,), of draws of normal numbers, (draws, n, K), in which each point is on the front. */
EXPORTED int adabkb_on_front_probability(int64_t n, int64_t K, int64_t draws, const double *means, const double *deviations,
                                         const double *normals, double *found)
{
    BEGIN(workspace)
    double *values = reals(&workspace, n * K);
    uint8_t *on_front = flags(&workspace, n);
    for (int64_t i = 0; i < n; i++)
        found[i] = 0.0;
    for (int64_t draw = 0; draw < draws; draw++) {
        for (int64_t i = 0; i < n * K; i++)
            values[i] = means[i] + deviations[i] * normals[draw * n * K + i];
        front(values, n, K, on_front);
        for (int64_t i = 0; i < n; i++)
            found[i] += on_front[i];
    }
    for (int64_t i = 0; i < n; i++)
        found[i] /= (double)draws;
    END(workspace)
}
