// step_matrix: contacts and limits as nodes of the matrix, beside bodies and joints. See step_matrix.c.
#ifndef TNI_STEP_MATRIX_H
#define TNI_STEP_MATRIX_H

#include "linalg/cone_newton.h"
#include "system/auxiliary.h"
#include "system/bounded_rows.h"

typedef struct tni_step_matrix tni_step_matrix;

/// soft: springs, dampers and targets that have rows or blocks in it; NULL: none. bounded: forces with bounds.
/// TN_ERR_MEMORY only.
TN_NODISCARD tn_result tni_step_matrix_create(const tn_model* model, tni_soft_rows* soft,
                                              tni_bounded_rows* bounded, tni_step_matrix** matrix);
void                   tni_step_matrix_free(tni_step_matrix* matrix); ///< NULL is allowed
/// Room for as many unilaterals as a has, and for twice the plan if it did not fit. Not within a step.
TN_NODISCARD tn_result tni_step_matrix_grow(tni_step_matrix* matrix, int unilaterals);

/// A step begins: the plan is made anew unless it is just that of what touches then.
void tni_step_matrix_renew(tni_step_matrix* matrix);
/// Another number when a step has begun, or soft rows were computed anew, since: begin again.
unsigned tni_step_matrix_begun(const tni_step_matrix* matrix);
/// The last answer says nothing about the next.
void tni_step_matrix_cool(tni_step_matrix* matrix);
/// The next solve starts from nothing: multipliers of rows that loops make redundant are the least ones then.
void tni_step_matrix_forget(tni_step_matrix* matrix);
/// Whether nothing but bodies and joints stands in it: it need not be used then.
bool tni_step_matrix_is_idle(const tni_step_matrix* matrix, const tni_auxiliary* a,
                             const tni_unilaterals* with);
/// After a factorisation, or a change of the unilaterals or their rules: takes A, J and E from the saddle of the
/// joints, and the rows of the unilaterals. asleep: by body. TN_ERR_MEMORY: it does not fit; grow and try again.
TN_NODISCARD tn_result tni_step_matrix_begin(tni_step_matrix* matrix, const tni_auxiliary* with,
                                             const tni_unilaterals* a, tni_saddle* joints,
                                             const uint8_t* asleep);
/// u and mu of the model for b and r, as tni_saddle_solve has them; impulses and rates of the unilaterals.
TN_NODISCARD tn_result tni_step_matrix_solve(tni_step_matrix* matrix, tni_auxiliary* a,
                                             tni_unilaterals* with, const double* rhs, double* x,
                                             bool refine);

#endif
