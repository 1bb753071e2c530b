// compliant: the form `rows` of an implicit step. See compliant.c.
#ifndef TNI_COMPLIANT_H
#define TNI_COMPLIANT_H

#include "system/implicit_contacts.h"
#include "system/implicit_system.h"

typedef struct tni_compliant tni_compliant;

/// TN_ERR_MEMORY only. contacts: not owned.
TN_NODISCARD tn_result tni_compliant_create(tni_arena* arena, tni_system* system,
                                            tni_implicit_contacts* contacts,
                                            tni_compliant**        compliant);
/// Linearises and factors; then tni_compliant_solve with whole for the step itself, else for b
/// (NULL: 0) and r with the same rows.
TN_NODISCARD tn_result tni_compliant_factor(tni_compliant* c, const tni_step_start* start,
                                            const tni_step_scheme* scheme, tn_why* why);
TN_NODISCARD tn_result tni_compliant_solve(tni_compliant* c, bool whole, const double* b,
                                           const double* r, double* u, double* mu, tn_why* why);
/// Evaluates hard limits and ropes at the system's views: the errors of active ones go into the
/// next solve; returns the largest, *worst being its constraint.
double tni_compliant_evaluate(tni_compliant* c, const double* z, int* worst);
/// The same for springs between bodies after a step with u: the largest error of stiff ones.
double tni_compliant_springs_evaluate(tni_compliant* c, const tni_step_scheme* scheme,
                                      const double* u);
/// Whether a hard limit or rope is active whose force was 0 in the step before. NULL: there was none.
bool tni_compliant_meets(const tni_compliant* c, const double* forces);
/// Updates the set of active hard limits and ropes for a step with the mean velocity u; returns
/// true if it changed.
bool tni_compliant_update_active_set(tni_compliant* c, const tni_step_start* start,
                                     const tni_step_scheme* scheme, const double* u);
/// Accuracy of the last factorisation and solve; the report keeps the worst.
void tni_compliant_report(const tni_compliant* c, tn_step_report* report);
/// The factored matrix.
const tni_saddle* tni_compliant_saddle(const tni_compliant* c);

#endif
