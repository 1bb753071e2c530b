// bounded_rows: dry friction of joints, motors and springs with a bound on their force, as rows of the step's
// matrix. See bounded_rows.c.
#ifndef TNI_BOUNDED_ROWS_H
#define TNI_BOUNDED_ROWS_H

#include "system/soft_rows.h"

/// One bound of the model (tni_bound), in a step.
typedef struct tni_bounded {
    const tni_bound* of;
    int              constraint, first; ///< where its rows stand: in the node of its constraint
    double           start, rate[3];    ///< coordinate and rates at the start
    double           goal;              ///< rate that is asked for: in the middle, then at the end
    double           low, high;         ///< of impulses in this half of the step
    double           compliance;        ///< of a spring
    bool             is_open;           ///< pushes nothing in this solve
    double           force_before[3];   ///< impulses of the first half
    double           force[3];          ///< of this half: a guess, then the answer
    double           c[3];              ///< w = J du + c
    double           w[3];              ///< of the last solve
    double           J[2][3 * TNI_DIM_MAX];
} tni_bounded;

typedef struct tni_bounded_rows {
    const tn_model* model;
    int             count;
    tni_bounded*    rows;
    int* rows_of; ///< by constraint: how many its node has for them, after those of springs
} tni_bounded_rows;

TN_NODISCARD tn_result tni_bounded_rows_create(tni_arena* arena, const tn_model* model,
                                               const tni_soft_rows* soft, tni_bounded_rows* rows);
/// The id of a bound in a warm start: above those of limits.
uint64_t tni_bounded_id(int index);

/// The first half of a step of h: rows, and what is asked of them, where the scene is seen now.
void tni_bounded_kick(tni_bounded_rows* rows, const tni_scene_view* at, double h);
/// The flight has led to where the scene is seen now: coordinates are to move by h times what is asked for. Returns
/// how far they are off [m or rad].
double tni_bounded_correct(tni_bounded_rows* rows, const tni_scene_view* at, double h);
/// The second half, seen at its end: rates there are what is asked for.
void tni_bounded_land(tni_bounded_rows* rows, const tni_scene_view* at, double h);
/// Accelerations are solved for, not velocities: forces that hold what rests, and those of what moves. Springs are
/// among the forces then.
void tni_bounded_accelerate(tni_bounded_rows* rows, const tni_scene_view* at);
/// Adds the forces of motors, as solved for, to what joints exert on their second bodies.
void tni_bounded_add_reactions(const tni_bounded_rows* rows, const tni_scene_view* at,
                               tn_wrench* reactions);
/// The bounded springs take what the soft rows have for them. Before each solve.
void tni_bounded_take_springs(tni_bounded_rows* rows, const tni_soft_rows* soft);

#endif
