// blocks: the forms `blocks` and `exact` of an implicit step. See blocks.c.
#ifndef TNI_BLOCKS_H
#define TNI_BLOCKS_H

#include "system/implicit_contacts.h"
#include "system/implicit_system.h"

typedef struct tni_block_form tni_block_form;

/// form: TN_IMPLICIT_BLOCKS or TN_IMPLICIT_EXACT. contacts: not owned. TN_ERR_MEMORY;
/// TN_ERR_UNSUPPORTED if something closes a loop, or with hard limits.
TN_NODISCARD tn_result tni_blocks_create(tni_arena* arena, tni_system* system,
                                         tn_implicit_form form, tni_implicit_contacts* contacts,
                                         tni_block_form** blocks, tn_why* why);
/// Linearises and factors; then tni_blocks_solve with whole for the step itself, else for b (NULL:
/// 0) and r with the same blocks. The system's views, C, rate and gamma are those of the start.
TN_NODISCARD tn_result tni_blocks_factor(tni_block_form* form, const tni_step_start* start,
                                         const tni_step_scheme* scheme, tn_why* why);
TN_NODISCARD tn_result tni_blocks_solve(tni_block_form* form, bool whole, const double* b,
                                        const double* r, double* u, double* mu, tn_why* why);
/// Predicted flops of one factorisation and one solve.
void tni_blocks_flops(const tni_block_form* form, double* factor, double* solve);

#endif
