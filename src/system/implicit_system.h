// implicit_system: the linear system of an implicit step, in one of its forms.
//
// A step of h leads from q to q1 = fly(q, share u + drift, h), u being the velocity asked for. With
// e = share h ("reach": how far forces and rows see u ahead),
//
//     A u + J^T mu = p + e F         A = M + e D + e^2 K + e^2 K_g
//     J u          = r               lambda = -mu / e
//
// p is the momentum that the step begins with, M u0 for backward Euler. Stiff forces (force.h,
// tni_soft) stand on the left with what they will be at the end: in A where they touch one body;
// between bodies as rows with a compliance E = (e^2 K + e D)^-1 (form rows), as blocks between the
// bodies (blocks, exact), or on the diagonal of the joints' velocities (nullspace). K_g is the
// geometric stiffness of the joint forces lambda of the step before.
#ifndef TNI_IMPLICIT_SYSTEM_H
#define TNI_IMPLICIT_SYSTEM_H

#include "system/system.h"

/// How a step leads ahead.
typedef struct tni_lead {
    double        h;
    double        share; ///< 1 for backward Euler
    const double* drift; ///< laid out as u; NULL: none
    double        time;  ///< of the end
} tni_lead;

/// What a step starts from.
typedef struct tni_start {
    tni_configuration at;
    const double*     momentum; ///< laid out as u; NULL: M u
    const double* multipliers;  ///< forces that K_g is made of, by row, then by limit; NULL: no K_g
    const double* ahead; ///< mean velocities expected: they decide which one-sided ends are met
    bool          keep;  ///< hard limits: those that were met stay so, others are not looked for
    bool          bend;  ///< rows ask for what closes them to second order (gamma), not just first
} tni_start;

/// What a soft force does over the step, along its rows: the impulse g - W J u.
typedef struct tni_soft tni_soft;
void tni_soft_impulse(const tn_model* model, const tni_soft* soft, const tni_lead* lead, double* W,
                      double* g);
/// J u of a row: C, the part of its rate that no u makes, J drift and gamma being known. held: it has a
/// position.
TNI_INLINE double tni_row_wanted(const tni_start* start, const tni_lead* lead, bool held, double C,
                                 double led, double drift, double gamma)
{
    if (!held) return -led;
    const double bend = start->bend ? 0.5 * lead->h * gamma : 0;
    return (-C / lead->h - drift - led - bend) / lead->share;
}

typedef struct tni_implicit_system tni_implicit_system;

TN_NODISCARD tn_result tni_implicit_system_create(tni_arena* arena, tni_system* system,
                                                  const tn_implicit_settings* settings,
                                                  tni_implicit_system** stiff, tn_why* why);
void tni_implicit_system_free(tni_implicit_system* stiff); ///< what does not lie in the arena
/// Room for contacts: a call that failed with TN_ERR_MEMORY while it is full may be tried again after
/// it has grown.
bool                   tni_implicit_system_is_full(const tni_implicit_system* stiff);
TN_NODISCARD tn_result tni_implicit_system_grow(tni_implicit_system* stiff);
size_t tni_implicit_system_bytes(const tni_implicit_system* stiff); ///< outside of the arena
/// What the linear algebra is made of. TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_implicit_system_solver(const tni_implicit_system* stiff,
                                                  tn_solver*                 solver);

/// Linearises, factors and solves: u and mu (laid out as in tni_system, mu of limits behind) of the
/// step. System's
/// views, C, rate and gamma are those of the start afterwards.
TN_NODISCARD tn_result tni_implicit_system_begin(tni_implicit_system* stiff, const tni_start* start,
                                                 const tni_lead* lead, double* u, double* mu,
                                                 tn_why* why);
/// How the last tni_implicit_system_begin went: the worst is kept in the report.
void tni_implicit_system_note(const tni_implicit_system* stiff, tn_step_report* report);
/// Whether a model has forces, or limits, that push one way only.
bool tni_implicit_system_is_sided(const tn_model* model);
/// Right after tni_implicit_system_begin: whether those that push when the step goes with the mean velocity u are
/// those that it took to push with start->ahead. If not, begin again with start->ahead = u, start->keep.
bool tni_implicit_system_stands(tni_implicit_system* stiff, const tni_start* start,
                                const tni_lead* lead, const double* u);
/// With the same factorisation and the same soft rows, b NULL: zero:  A u + J^T mu = b,  J u = r.
TN_NODISCARD tn_result tni_implicit_system_correct(tni_implicit_system* stiff, const double* b,
                                                   const double* r, double* u, double* mu,
                                                   tn_why* why);
/// Flies from the start with u to the end: q1, u1 there, and C of all rows (rates of those that have no
/// position) at the end into r. Returns the largest |C|, |h rate|; *worst is its constraint.
double tni_implicit_system_fly(tni_implicit_system* stiff, const tni_start* start,
                               const tni_lead* lead, const double* u, double* q1, double* u1,
                               double* r, int* worst);

/// The largest |rate| of a row at a place, and angles in z counted on, without looking at the system:
/// false where the form cannot.
bool tni_implicit_system_measure(tni_implicit_system* stiff, const tni_configuration* at, double* z,
                                 double* velocity_error);
/// f = all forces, contacts among them, where the system last looked, a step of h having ended there.
void tni_implicit_system_forces(tni_implicit_system* stiff, const tni_configuration* at, double h,
                                double* f);
/// Largest penetration where the system last looked [m]; *count: points that touch.
double tni_implicit_system_deepest(tni_implicit_system* stiff, int* count);

/// Rows where the system last looked, as tni_implicit_system_fly gives them.
double tni_implicit_system_rows(const tni_system* system, double h, double* r, int* worst);

#endif
