// nullspace: the implicit step of trees of rigid bodies, in the velocities of their joints. See
// nullspace.c. The same system and the same answer as the other forms (stiff.h).
#ifndef TNI_NULLSPACE_H
#define TNI_NULLSPACE_H

#include "system/stiff.h"

typedef struct tni_nullspace tni_nullspace;

/// Whether the form takes a model; why_not (or NULL) says what is in the way.
bool tni_nullspace_serves(const tn_model* model, const char** why_not);
/// TN_ERR_MEMORY only; the model must be one that it serves.
TN_NODISCARD tn_result tni_nullspace_create(tni_arena* arena, tni_system* system,
                                            tni_nullspace** ns);

/// As tni_stiff_begin, but system's C, rate and gamma are not touched, and of its views only what
/// tni_nullspace_looks says.
TN_NODISCARD tn_result tni_nullspace_begin(tni_nullspace* ns, const tni_start* start,
                                           const tni_lead* lead, double* u, double* mu,
                                           tn_why* why);
/// Whether a begin leaves all of system's views at the start (some force or joint asks for them),
/// or only those of bodies that cannot be pushed.
bool tni_nullspace_looks(const tni_nullspace* ns);
/// As tni_stiff_correct; u and mu may not be b and r.
TN_NODISCARD tn_result tni_nullspace_correct(tni_nullspace* ns, const double* b, const double* r,
                                             double* u, double* mu, tn_why* why);
/// As tni_stiff_fly.
double tni_nullspace_fly(tni_nullspace* ns, const tni_start* start, const tni_lead* lead,
                         const double* u, double* q1, double* u1, double* r, int* worst);
/// At a place: the largest |rate| of all rows, as tni_system_velocity_error has it, *worst being
/// its constraint; angles in z (all joints' coordinates a moment ago) are counted on, as by
/// tni_follow_coordinates. Without looking at the system.
double tni_nullspace_measure(tni_nullspace* ns, const tni_place* at, double* z, int* worst);
/// Vectors of two numbers from now on, whatever the processor has. The same bits: for tests.
void tni_nullspace_narrow(tni_nullspace* ns);
/// Branches that threads may take side by side (0: it is too small); none from now on. Likewise.
int  tni_nullspace_shares(const tni_nullspace* ns);
void tni_nullspace_unshare(tni_nullspace* ns);

#endif
