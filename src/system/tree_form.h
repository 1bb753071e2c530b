// tree_form: the implicit step of trees of rigid bodies, in the velocities of their joints. See
// tree_form.c. The same system and the same answer as the other forms (implicit_system.h).
#ifndef TNI_TREE_FORM_H
#define TNI_TREE_FORM_H

#include "system/implicit_system.h"

typedef struct tni_tree_form tni_tree_form;

/// Whether the form takes a model; why_not (or NULL) says what is in the way.
bool tni_tree_form_serves(const tn_model* model, const char** why_not);
/// TN_ERR_MEMORY only; the model must be one that it serves.
TN_NODISCARD tn_result tni_tree_form_create(tni_arena* arena, tni_system* system,
                                            tni_tree_form** ns);

/// As tni_implicit_system_begin, but system's C, rate and gamma are not touched, and of its views only what
/// tni_tree_form_looks says.
TN_NODISCARD tn_result tni_tree_form_begin(tni_tree_form* ns, const tni_start* start,
                                           const tni_lead* lead, double* u, double* mu,
                                           tn_why* why);
/// Whether a begin leaves all of system's views at the start (some force or joint asks for them),
/// or only those of bodies that cannot be pushed.
bool tni_tree_form_looks(const tni_tree_form* ns);
/// As tni_implicit_system_correct; u and mu may not be b and r.
TN_NODISCARD tn_result tni_tree_form_correct(tni_tree_form* ns, const double* b, const double* r,
                                             double* u, double* mu, tn_why* why);
/// As tni_implicit_system_fly.
double tni_tree_form_fly(tni_tree_form* ns, const tni_start* start, const tni_lead* lead,
                         const double* u, double* q1, double* u1, double* r, int* worst);
/// At a place: the largest |rate| of all rows, as tni_system_velocity_error has it, *worst being
/// its constraint; angles in z (all joints' coordinates a moment ago) are counted on, as by
/// tni_follow_coordinates. Without looking at the system.
double tni_tree_form_measure(tni_tree_form* ns, const tni_configuration* at, double* z, int* worst);
/// Vectors of two numbers from now on, whatever the processor has. The same bits: for tests.
void tni_tree_form_narrow(tni_tree_form* ns);
/// Branches that threads may take side by side (0: it is too small); none from now on. Likewise.
int  tni_tree_form_shares(const tni_tree_form* ns);
void tni_tree_form_unshare(tni_tree_form* ns);

#endif
