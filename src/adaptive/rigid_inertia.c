// rigid_inertia: rigid-body inertias: transformed, added, as matrices, inverted.
//
// From frame C to P: with h' = E^T h and J' = E^T J E in P's axes, k = 2 h' + m r,
//     m_P = m,   h_P = h' + m r,   J_P = J' + (r.k) 1 - (r k^T + k r^T)/2
// because second moments about P's origin are the integral of |x|^2 1 - x x^T with x = x' + r.
//
// Inverse: with c = h/m the centre of mass and A = (J - m (|c|^2 1 - c c^T))^-1, the inverse of the
// moments about it,
//     I^-1 = [ A        -A [c]            ]      w = A (t - c x f)
//            [ [c] A    1/m - [c] A [c]   ]      v = f/m + c x w
#include "adaptive/spatial.h"

#include "math/vec3.h"

static const double pivot_min = 1e-14; // relative to the diagonal entry before elimination

tni_rigid_inertia tni_rigid_inertia_transform(const tni_transform* X, const tni_rigid_inertia* I)
{
    const double*  e  = X->E.m;
    const tn_vec3  r  = X->r;
    const tni_mat3 J  = {{I->xx, I->xy, I->xz, I->xy, I->yy, I->yz, I->xz, I->yz, I->zz}};
    const tni_mat3 JE = tni_mat_mul(&J, &X->E);
    const double*  a  = JE.m;
    const tn_vec3  h = tni_mul_t(&X->E, I->moment), mr = tni_scale(I->mass, r);
    const tn_vec3  k = tni_add_scaled(mr, 2, h);
    const double   x = r.x * k.x, y = r.y * k.y, z = r.z * k.z;
    return (tni_rigid_inertia){
        .mass   = I->mass,
        .moment = tni_add(h, mr),
        .xx     = e[0] * a[0] + e[3] * a[3] + e[6] * a[6] + (y + z),
        .xy     = e[0] * a[1] + e[3] * a[4] + e[6] * a[7] - 0.5 * (r.x * k.y + r.y * k.x),
        .xz     = e[0] * a[2] + e[3] * a[5] + e[6] * a[8] - 0.5 * (r.x * k.z + r.z * k.x),
        .yy     = e[1] * a[1] + e[4] * a[4] + e[7] * a[7] + (x + z),
        .yz     = e[1] * a[2] + e[4] * a[5] + e[7] * a[8] - 0.5 * (r.y * k.z + r.z * k.y),
        .zz     = e[2] * a[2] + e[5] * a[5] + e[8] * a[8] + (x + y)};
}

tni_rigid_inertia tni_rigid_inertia_add(const tni_rigid_inertia* a, const tni_rigid_inertia* b)
{
    return (tni_rigid_inertia){a->mass + b->mass, tni_add(a->moment, b->moment),
                               a->xx + b->xx,     a->xy + b->xy,
                               a->xz + b->xz,     a->yy + b->yy,
                               a->yz + b->yz,     a->zz + b->zz};
}

// The four 3x3 blocks of a symmetric 6x6 matrix.
static void write_blocks(const tni_mat3* ww, const tni_mat3* wv, const tni_mat3* vv, double* M)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            M[6 * i + j]             = ww->m[3 * i + j];
            M[6 * i + 3 + j]         = wv->m[3 * i + j];
            M[6 * (3 + j) + i]       = wv->m[3 * i + j];
            M[6 * (3 + i) + (3 + j)] = vv->m[3 * i + j];
        }
    }
}

void tni_rigid_inertia_matrix(const tni_rigid_inertia* I, double* M)
{
    const tn_vec3  h  = I->moment;
    const double   m  = I->mass;
    const tni_mat3 ww = {{I->xx, I->xy, I->xz, I->xy, I->yy, I->yz, I->xz, I->yz, I->zz}};
    const tni_mat3 wv = {{0, -h.z, h.y, h.z, 0, -h.x, -h.y, h.x, 0}};
    const tni_mat3 vv = {{m, 0, 0, 0, m, 0, 0, 0, m}};
    write_blocks(&ww, &wv, &vv, M);
}

// J = L L^T, then J^-1 = L^-T L^-1; its lower half is mirrored.
static bool invert_symmetric(const double J[6], tni_mat3* A) // xx xy xz yy yz zz
{
    if (!(J[0] > 0)) return false;
    const double a = 1 / sqrt(J[0]), b = J[1] * a, c = J[2] * a, d2 = J[3] - b * b;
    if (!(d2 > pivot_min * J[3])) return false;
    const double d = 1 / sqrt(d2), e = (J[4] - b * c) * d, f2 = J[5] - c * c - e * e;
    if (!(f2 > pivot_min * J[5])) return false;
    const double f = 1 / sqrt(f2); // a, d, f: inverses of L's diagonal
    const double p = -b * a * d, s = -e * d * f, q = -(c * a + e * p) * f;
    const double xy = p * d + q * s, xz = q * f, yz = s * f;
    *A = (tni_mat3){{a * a + p * p + q * q, xy, xz, xy, d * d + s * s, yz, xz, yz, f * f}};
    return true;
}

bool tni_rigid_inertia_inverse(const tni_rigid_inertia* I, double* M)
{
    const double m = I->mass;
    if (!(m > 0)) return false;
    const tn_vec3 h = I->moment, c = tni_scale(1 / m, h);
    const double  J[6] = {
        I->xx - (h.y * c.y + h.z * c.z), I->xy + h.x * c.y, I->xz + h.x * c.z,
        I->yy - (h.x * c.x + h.z * c.z), I->yz + h.y * c.z, I->zz - (h.x * c.x + h.y * c.y)};
    tni_mat3 A;
    if (!invert_symmetric(J, &A)) return false;
    const tni_mat3 C  = {{0, -c.z, c.y, c.z, 0, -c.x, -c.y, c.x, 0}};
    const tni_mat3 AC = tni_mat_mul(&A, &C), CAC = tni_mat_mul(&C, &AC);
    tni_mat3       minus_AC, vv;
    for (int k = 0; k < 9; ++k) minus_AC.m[k] = -AC.m[k];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            vv.m[3 * i + j] = (i == j ? 1 / m : 0) - (i >= j ? CAC.m[3 * i + j] : CAC.m[3 * j + i]);
    write_blocks(&A, &minus_AC, &vv, M);
    return true;
}
