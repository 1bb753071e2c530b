// tree_form: the implicit step of trees of rigid bodies in joint velocities (null-space form). See
// tree_form.c. Same system and same answer as the other forms (implicit_system.h).
#ifndef TNI_TREE_FORM_H
#define TNI_TREE_FORM_H

#include "system/implicit_system.h"

typedef struct tni_tree_form tni_tree_form;

/// Whether the form supports a model; *why_not (may be NULL): the reason if not.
bool tni_tree_form_supports(const tn_model* model, const char** why_not);
/// TN_ERR_MEMORY only. The model must be supported.
TN_NODISCARD tn_result tni_tree_form_create(tni_arena* arena, tni_system* system,
                                            tni_tree_form** ns);

/// As tni_implicit_system_begin, but the system's C, rate and gamma are not touched, and of its
/// views only those that tni_tree_form_needs_views says.
TN_NODISCARD tn_result tni_tree_form_begin(tni_tree_form* ns, const tni_step_start* start,
                                           const tni_step_scheme* scheme, double* u, double* mu,
                                           tn_why* why);
/// Whether begin leaves all of the system's views at the start (some force or joint needs them), or
/// only those of immovable bodies.
bool tni_tree_form_needs_views(const tni_tree_form* ns);
/// As tni_implicit_system_correct; u and mu may not alias b and r.
TN_NODISCARD tn_result tni_tree_form_correct(tni_tree_form* ns, const double* b, const double* r,
                                             double* u, double* mu, tn_why* why);
/// As tni_implicit_system_fly.
double tni_tree_form_fly(tni_tree_form* ns, const tni_step_start* start,
                         const tni_step_scheme* scheme, const double* u, double* q1, double* u1,
                         double* r, int* worst);
/// At a configuration: the largest |rate| of all rows, as tni_system_velocity_error has it, *worst
/// being its constraint. Updates the angles in z, counting full turns, as tni_follow_coordinates
/// does. Does not evaluate the system.
double tni_tree_form_measure(tni_tree_form* ns, const tni_configuration* at, double* z, int* worst);
/// For tests: vectors of two numbers from now on, whatever the processor has. The same bits.
void tni_tree_form_use_baseline(tni_tree_form* ns);
/// For tests: branches that threads may process in parallel (0: tree too small); and switches that
/// off.
int  tni_tree_form_shared_parts(const tni_tree_form* ns);
void tni_tree_form_do_not_share(tni_tree_form* ns);

#endif
