// implicit_system: the linear system of an implicit step, in one of its forms.
//
// A step of h leads from q to q1 = fly(q, share u + drift, h), u being the unknown velocity. With e
// = share h (how far ahead forces and rows depend on u),
//
//     A u + J^T mu = p + e F         A = M + e D + e^2 K + e^2 K_g
//     J u          = r               lambda = -mu / e
//
// p is the momentum that the step begins with, M u0 for backward Euler. Stiff forces (force.h,
// tni_soft) stand on the left with their values at the end of the step: in A where they act on one
// body; between bodies as rows with a compliance E = (e^2 K + e D)^-1 (form rows), as blocks
// between the bodies (blocks, exact), or on the diagonal of the joint velocities (nullspace). K_g
// is the geometric stiffness of the joint forces lambda of the last step.
#ifndef TNI_IMPLICIT_SYSTEM_H
#define TNI_IMPLICIT_SYSTEM_H

#include "system/system.h"

/// The time integration scheme: q1 = fly(q, share u + drift, h).
typedef struct tni_step_scheme {
    double        h;
    double        share; ///< 1 for backward Euler
    const double* drift; ///< laid out as u; NULL: none
    double        time;  ///< of the end [s]
} tni_step_scheme;

/// The start of a step.
typedef struct tni_step_start {
    tni_configuration at;
    const double*     momentum; ///< laid out as u; NULL: M u
    const double* multipliers;  ///< joint forces that K_g is made of, by row, then by limit; NULL:
                                ///< no K_g
    const double*
         predicted;       ///< predicted mean velocity: it decides which one-sided forces are active
    bool keep_active_set; ///< hard limits: keep the active set; do not look for others
    bool second_order;    ///< rows are closed to second order (with gamma), not just first
} tni_step_start;

/// The impulse of a soft force over the step, along its rows: g - W J u.
typedef struct tni_soft tni_soft;
void tni_soft_impulse(const tn_model* model, const tni_soft* soft, const tni_step_scheme* scheme,
                      double* W, double* g);
/// Target of J u for a row. C: its error; prescribed: the part of its rate that does not depend on
/// u; drift: J drift. held: it has a position (else velocity-only).
TNI_INLINE double tni_row_target(const tni_step_start* start, const tni_step_scheme* scheme,
                                 bool held, double C, double prescribed, double drift, double gamma)
{
    if (!held) return -prescribed;
    const double second_order = start->second_order ? 0.5 * scheme->h * gamma : 0;
    return (-C / scheme->h - drift - prescribed - second_order) / scheme->share;
}

typedef struct tni_implicit_system tni_implicit_system;

TN_NODISCARD tn_result tni_implicit_system_create(tni_arena* arena, tni_system* system,
                                                  const tn_implicit_settings* settings,
                                                  tni_implicit_system** implicit, tn_why* why);
void tni_implicit_system_free(tni_implicit_system* implicit); ///< frees what is not in the arena
/// Room for contacts: if a call fails with TN_ERR_MEMORY while it is full, grow and call again.
bool                   tni_implicit_system_is_full(const tni_implicit_system* implicit);
TN_NODISCARD tn_result tni_implicit_system_grow(tni_implicit_system* implicit);
size_t tni_implicit_system_bytes(const tni_implicit_system* implicit); ///< outside the arena
/// Fills in what tn_stepper_solver reports. TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_implicit_system_solver(const tni_implicit_system* implicit,
                                                  tn_solver*                 solver);

/// Linearises, factors and solves: u and mu of the step (mu laid out as in tni_system, then those
/// of the limits). Afterwards the system's views, C, rate and gamma are those of the start.
TN_NODISCARD tn_result tni_implicit_system_begin(tni_implicit_system*   implicit,
                                                 const tni_step_start*  start,
                                                 const tni_step_scheme* scheme, double* u,
                                                 double* mu, tn_why* why);
/// Accuracy of the last tni_implicit_system_begin; the report keeps the worst.
void tni_implicit_system_report(const tni_implicit_system* implicit, tn_step_report* report);
/// Whether a model has one-sided forces or limits.
bool tni_implicit_system_is_one_sided(const tn_model* model);
/// Right after tni_implicit_system_begin: true if the active set predicted with the mean velocity u
/// is the one that was used, predicted with start->predicted. If not, begin again with
/// start->predicted = u and start->keep_active_set.
bool tni_implicit_system_active_set_holds(tni_implicit_system*   implicit,
                                          const tni_step_start*  start,
                                          const tni_step_scheme* scheme, const double* u);
/// Right after it: whether a contact, hard limit or rope acts that did not before. multipliers: of the step before, as in
/// tni_step_start; NULL: none.
bool tni_implicit_system_meets(const tni_implicit_system* implicit, const double* multipliers);
/// Solves  A u + J^T mu = b,  J u = r  with the same factorisation and soft rows. b NULL: zero.
TN_NODISCARD tn_result tni_implicit_system_correct(tni_implicit_system* implicit, const double* b,
                                                   const double* r, double* u, double* mu,
                                                   tn_why* why);
/// Flies from the start with u: q1, u1 at the end, and C of all rows (rates of velocity-only rows)
/// into r. Returns the largest |C|, |h rate|; *worst is its constraint.
double tni_implicit_system_fly(tni_implicit_system* implicit, const tni_step_start* start,
                               const tni_step_scheme* scheme, const double* u, double* q1,
                               double* u1, double* r, int* worst);

/// The largest |rate| of a row at a configuration; angles in z count full turns. Does not change
/// the system. False where the form cannot.
bool tni_implicit_system_measure(tni_implicit_system* implicit, const tni_configuration* at,
                                 double* z, double* velocity_error);
/// f = all forces, contacts included, at the system's last evaluation, which ended a step of h.
void tni_implicit_system_forces(tni_implicit_system* implicit, const tni_configuration* at,
                                double h, double* f);
/// Largest penetration at the system's last evaluation [m]; *count: touching points.
double tni_implicit_system_penetration(tni_implicit_system* implicit, int* count);

/// Rows at the system's last evaluation, as tni_implicit_system_fly gives them.
double tni_implicit_system_rows(const tni_system* system, double h, double* r, int* worst);

#endif
