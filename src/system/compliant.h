// compliant: the form `rows` of an implicit step. See compliant.c.
#ifndef TNI_COMPLIANT_H
#define TNI_COMPLIANT_H

#include "system/implicit_contacts.h"
#include "system/implicit_system.h"

typedef struct tni_compliant tni_compliant;

/// TN_ERR_MEMORY only. touching: contacts, which it does not own.
TN_NODISCARD tn_result tni_compliant_create(tni_arena* arena, tni_system* system,
                                            tni_implicit_contacts* contacts,
                                            tni_compliant**        compliant);
/// Linearises and factors; tni_compliant_solve with whole answers for the step itself, else for b
/// (NULL: 0) and r with the same rows.
TN_NODISCARD tn_result tni_compliant_factor(tni_compliant* c, const tni_step_start* start,
                                            const tni_step_scheme* scheme, tn_why* why);
TN_NODISCARD tn_result tni_compliant_solve(tni_compliant* c, bool whole, const double* b,
                                           const double* r, double* u, double* mu, tn_why* why);
/// Looks at the hard limits and ropes where system's views are: what active ones are off by goes into
/// the next solve; returns the largest, *worst being its constraint.
double tni_compliant_evaluate(tni_compliant* c, const double* z, int* worst);
/// Likewise at the springs between bodies, the step having gone with u: how far stiff ones are off.
double tni_compliant_springs_evaluate(tni_compliant* c, const tni_step_scheme* scheme,
                                      const double* u);
/// Which hard limits and ropes would be active after a step with the mean velocity u, as seen from the start; returns
/// whether that is another set than before, and takes it over.
bool tni_compliant_reconsider(tni_compliant* c, const tni_step_start* start,
                              const tni_step_scheme* scheme, const double* u);
/// The worst of the last factorisation and solve is kept in the report.
void tni_compliant_report(const tni_compliant* c, tn_step_report* report);
/// What the factorisation is made of.
const tni_saddle* tni_compliant_saddle(const tni_compliant* c);

#endif
