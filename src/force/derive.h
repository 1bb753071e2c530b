// derive: exact derivatives of forces along rows. See derive.c.
#ifndef TNI_DERIVE_H
#define TNI_DERIVE_H

#include "force/force.h"

/// A point, or an axis, fixed in one of two bodies.
typedef struct tni_feature {
    int     side; ///< 0 or 1
    bool    point;
    tn_vec3 local; ///< in body axes, points from the centre of mass
} tni_feature;

enum { TNI_FEATURES_MAX = 4, TNI_DERIVED_ROWS_MAX = 8, TNI_DERIVED_DIM_MAX = 12 };

/// A row with its derivatives: a function of features, by its first (g) and second (Q) derivatives;
/// or a torque on side 1 and the opposite on side 0, that depends on features (T).
typedef struct tni_derived_row {
    int         count;
    tni_feature X[TNI_FEATURES_MAX];
    tn_vec3     g[TNI_FEATURES_MAX];
    tni_mat3    Q[TNI_FEATURES_MAX][TNI_FEATURES_MAX];
    tn_vec3     torque;
    tni_mat3    T[TNI_FEATURES_MAX];
} tni_derived_row;

/// Row: a point along the world axis k, or the rotation of body 1 about it.
tni_derived_row tni_derived_point(tn_vec3 p, int k);
tni_derived_row tni_derived_rotation(int k);
/// Point on side 1 less point on side 0, along the world axis k.
tni_derived_row tni_derived_difference(tn_vec3 p0, tn_vec3 p1, int k);

/// Accumulates the derivatives of a force along rows between two bodies. body[0] is 0 where there
/// is one only.
typedef struct tni_derivation {
    const tni_scene_view* at;
    int                   body[2];
    int                   dim[2]; ///< 0: immovable, or user-defined
    int                   row_count;
    double                J[2][TNI_DERIVED_ROWS_MAX * TNI_DERIVED_DIM_MAX], ///< drate/du
        R[2][TNI_DERIVED_ROWS_MAX * TNI_DERIVED_DIM_MAX];                   ///< drate/dq
    double G[2][2][TNI_DERIVED_DIM_MAX * TNI_DERIVED_DIM_MAX];              ///< sum of tau dJ^T/dq
} tni_derivation;

void tni_derivation_begin(tni_derivation* d, const tni_scene_view* at, int body0, int body1);
/// Adds a row with its force tau.
void tni_derivation_add(tni_derivation* d, const tni_derived_row* row, double tau);
/// K = -dtau/de, D = -dtau/drate over all rows, row-major; NULL: zero.
void tni_derivation_end(const tni_derivation* d, const double* K, const double* D,
                        tni_take_derivative* take, void* user);

#endif
