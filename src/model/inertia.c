// inertia: mass m, centre of mass c and inertia I of a body.
//
//     m   given, or else the sum of density times volume over the shapes that have a density
//     I   given, or else that of the shapes with a density, or of all when none has one, all then
//         equally dense; scaled so that it belongs to the mass m
//     c   given, or else the shapes' centre when I came from the shapes, or else the origin
//
// A given c moves the shapes' inertia along unchanged: it is taken to be about that point.
//
// Possible inertias: with the principal moments I_1, I_2, I_3, the matrix Q = tr(I)/2 1 - I (the
// second moments of the mass, integral of x x^T) has the eigenvalues (I_2 + I_3 - I_1) / 2 and so
// on. A mass distribution has no negative ones: I is possible if I is positive definite and Q
// positive semidefinite. Both are decided by the pivots of an LDL^T, shifted by the tolerance; no
// eigenvalues are needed.
#include "model/inertia.h"

#include "base/base.h"
#include "geom/mass_properties.h"

#include <math.h>

// True if the pivots of a symmetric 3x3 matrix (xx yy zz xy xz yz) plus shift 1 are all above
// floor.
static bool pivots_above(const double S[6], double shift, double floor)
{
    const double d0 = S[0] + shift;
    if (!(d0 > floor)) return false;
    const double l1 = S[3] / d0, l2 = S[4] / d0;
    const double d1 = S[1] + shift - l1 * S[3];
    if (!(d1 > floor)) return false;
    const double s12 = S[5] - l1 * S[4];
    const double d2  = S[2] + shift - l2 * S[4] - s12 * s12 / d1;
    return d2 > floor;
}

bool tni_inertia_is_possible(const double inertia[6], bool strict)
{
    const double trace = inertia[0] + inertia[1] + inertia[2];
    double       Q[6];
    for (int k = 0; k < 6; ++k) Q[k] = (k < 3 ? 0.5 * trace : 0) - inertia[k];
    const double floor = 1e-14 * trace; // rounding of the numbers themselves
    if (!(trace > 0) || !isfinite(trace) || !pivots_above(inertia, 0, floor)) return false;
    return strict ? pivots_above(Q, 0, floor) : pivots_above(Q, 1e-9 * trace, 0);
}

typedef struct shape_sum {
    tni_solid dense; ///< shapes with a density, weighted by it
    tni_solid plain; ///< all shapes, density 1
} shape_sum;

// Why the shape has no solid; NULL: it has one, or needs none.
static const char* missing_solid(const tn_shape_def* shape, tn_result result,
                                 const tni_solid* solid)
{
    const bool mesh = shape->type == TN_SHAPE_MESH;
    if (result != TN_OK)
        return mesh ? "no triangle of its mesh has an area" : "its points span no volume";
    if (!mesh || isnan(shape->density) || solid->content > 0) return NULL;
    return "its mesh is not closed, so a density gives it no mass: close it, or give the body mass "
           "and inertia";
}

static tn_result sum_shapes(const tn_host* host, const tn_body_def* def, shape_sum* sum,
                            tn_why* why)
{
    *sum = (shape_sum){0};
    for (int i = 0; i < def->shape_count; ++i) {
        const tn_shape_def* shape = &def->shapes[i];
        tni_solid           solid;
        const tn_result     result = tni_shape_solid(host, shape, &solid);
        if (result == TN_ERR_MEMORY) {
            return tni_fail(why, result, "body '%s': out of memory for the solid of shape %d",
                            def->name, i + 1);
        }
        const char* missing = missing_solid(shape, result, &solid);
        if (missing != NULL) {
            return tni_fail(why, TN_ERR_MODEL, "body '%s': shape %d: %s", def->name, i + 1,
                            missing);
        }
        solid      = tni_solid_moved(&solid, &shape->pose);
        sum->plain = tni_solid_merged(&sum->plain, &solid);
        if (isnan(shape->density)) continue;
        solid      = tni_solid_scaled(&solid, shape->density);
        sum->dense = tni_solid_merged(&sum->dense, &solid);
    }
    return TN_OK;
}

// True if mass, inertia or volume comes from shapes.
static bool needs_shapes(const tn_body_def* def)
{
    return isnan(def->mass) || (def->kind != TN_BODY_PARTICLE && isnan(def->inertia[0])) ||
           (def->kind == TN_BODY_AFFINE && isnan(def->volume));
}

tn_result tni_body_inertia(const tn_host* host, const tn_body_def* def, double* mass, tn_vec3* com,
                           double inertia[6], double* volume, tn_why* why)
{
    *mass = 0, *volume = 0, *com = (tn_vec3){0};
    for (int k = 0; k < 6; ++k) inertia[k] = 0;
    if (def->kind >= TN_BODY_STATIC) return TN_OK;

    shape_sum sum = {0};
    TRY(needs_shapes(def) ? sum_shapes(host, def, &sum, why) : TN_OK);
    *volume = isnan(def->volume) ? sum.plain.content : def->volume;

    *mass = isnan(def->mass) ? sum.dense.content : def->mass;
    if (!(*mass > 0)) {
        return tni_fail(why, TN_ERR_MODEL,
                        "body '%s': mass is not given and no shape gives it by a density",
                        def->name);
    }
    if (!isnan(def->com.x)) *com = def->com;
    if (def->kind == TN_BODY_PARTICLE) return TN_OK;
    if (!isnan(def->inertia[0])) {
        for (int k = 0; k < 6; ++k) inertia[k] = def->inertia[k];
        return TN_OK;
    }
    const tni_solid* from = sum.dense.content > 0 ? &sum.dense : &sum.plain;
    if (!(from->content > 0)) {
        return tni_fail(why, TN_ERR_MODEL, "body '%s': inertia is not given and no shape gives it",
                        def->name);
    }
    if (isnan(def->com.x)) *com = from->centre;
    for (int k = 0; k < 6; ++k) inertia[k] = from->inertia[k] * (*mass / from->content);
    return TN_OK;
}
