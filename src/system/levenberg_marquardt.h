// levenberg_marquardt: the rows of all constraints as a search for their zeros wants them, and damped steps
// towards these. See levenberg_marquardt.c.
#ifndef TNI_LEVENBERG_MARQUARDT_H
#define TNI_LEVENBERG_MARQUARDT_H

#include "system/system.h"

typedef struct tni_lm {
    tni_arena       arena;
    const tn_model* model;
    tni_system*     system;   ///< its own: loops are in the matrix, whatever the settings say
    double*         arm;      ///< by body: the longest from its centre of mass to a joint [m]
    bool            even;     ///< heavy bodies move as easily as light ones
    uint8_t*        soft;     ///< by constraint: may stay open
    double          softness; ///< the weight of these, beside others
    uint8_t*        kept;     ///< by constraint: frames that stand opposite each other may stay so
    double*         goal;     ///< by row: what shall be left of it
    double*         left;     ///< by row: what is left beyond the goal, at the place last looked at
    uint8_t*        turned;   ///< by constraint: how many of its rows are those of a turn
    double*         size;     ///< by row: (J M^-1 J^T)_ii, as last factored
    double*         give;     ///< by row: E_ii, as last factored; 0: beside the matrix
    double*         weight;   ///< by row
    uint8_t *       known, *done; ///< of tree_assembly.c: by body, by joint
} tni_lm;

TN_NODISCARD tn_result tni_lm_create(const tn_model* model, tni_lm** align);
void                   tni_lm_free(tni_lm* align); ///< NULL is allowed

/// Looks at a place and returns the weighted sum of squares of what is left there.
double tni_lm_evaluate(tni_lm* a, const tni_configuration* at);
/// Chooses rows and weights for a place, factors there, and looks.
TN_NODISCARD tn_result tni_lm_factor(tni_lm* a, const tni_configuration* at, double nu);
/// The step from where it was last factored; it is in system->answer, laid out as u. Of it the
/// share `share` leaves, by prediction, the weighted sum of squares that tni_lm_predicted()
/// gives.
TN_NODISCARD tn_result tni_lm_solve(tni_lm* a);
double                 tni_lm_predicted(const tni_lm* a, double share);

/// The most that is left of a row of a constraint, or of all constraints that are not soft (*worst
/// has it), at the place last looked at. Frames that stand opposite each other count.
double tni_lm_left(const tni_lm* a, int constraint);
double tni_lm_most(const tni_lm* a, int* worst);
/// How far the two sides of a constraint are apart [m]; where they meet, *angle: how far they are
/// turned against each other [rad].
double tni_lm_gap(const tni_lm* a, int constraint, bool* angle);
/// By how much, and about which axis, frame 2 of a joint is turned against frame 1, in the views as
/// they are; 0 where that is free.
double tni_lm_turn(const tni_lm* a, int constraint, tn_vec3* axis);
/// tree_assembly.c: q <- a spanning forest closed from the place on, body by body.
void tni_lm_outward(tni_lm* a, const tni_configuration* at, double* q);
/// q_out = q moved by the step d. As tni_advance, but bodies that may stretch turn rather than
/// stretch.
void tni_lm_move(const tni_lm* a, const double* d, const double* q, double* q_out);
/// Whether a row holds an angle.
bool tni_lm_turns(const tni_lm* a, int constraint, int k);

#endif
