// levenberg_marquardt: all constraint rows as a nonlinear least-squares problem, and damped steps
// towards its zeros. See levenberg_marquardt.c.
#ifndef TNI_LEVENBERG_MARQUARDT_H
#define TNI_LEVENBERG_MARQUARDT_H

#include "system/system.h"

typedef struct tni_lm {
    tni_arena       arena;
    const tn_model* model;
    tni_system*     system;  ///< its own: loops are in the matrix, whatever the settings are
    double*         arm;     ///< by body: distance from its centre of mass to its farthest joint
                             ///< [m]
    bool     equal_masses;   ///< masses are ignored: heavy bodies move as easily as light ones
    uint8_t* soft;           ///< by constraint: may stay open
    double   softness;       ///< weight of soft constraints relative to others
    uint8_t* keeps_opposite; ///< by constraint: opposite axes are accepted, as the author placed
                             ///< them
    double*  goal;           ///< by row: the value that C should have
    double*  residual;       ///< by row: C less its goal, at the last evaluation
    uint8_t* rotation_rows;  ///< by constraint: how many of its rows are replaced by rotation rows
    double*  size;           ///< by row: (J M^-1 J^T)_ii, as last factored
    double*  compliance;     ///< by row: E_ii, as last factored; 0: an auxiliary row
    double*  weight;         ///< by row
    uint8_t *known, *done;   ///< of tree_assembly.c: by body, by joint
} tni_lm;

TN_NODISCARD tn_result tni_lm_create(const tn_model* model, tni_lm** lm);
void                   tni_lm_free(tni_lm* lm); ///< NULL is allowed

/// Evaluates a configuration and returns the weighted sum of squares of its residuals.
double tni_lm_evaluate(tni_lm* a, const tni_configuration* at);
/// Chooses rows and weights for a configuration, factors there, and evaluates it.
TN_NODISCARD tn_result tni_lm_factor(tni_lm* a, const tni_configuration* at, double nu);
/// The step from the last factorisation, in system->answer, laid out as u. tni_lm_predicted() gives
/// the weighted sum of squares that is predicted after the fraction `share` of it.
TN_NODISCARD tn_result tni_lm_solve(tni_lm* a);
double                 tni_lm_predicted(const tni_lm* a, double share);

/// Largest residual of a row of a constraint, or of all constraints that are not soft (*worst has
/// it), at the last evaluation. Opposite axes count as residuals.
double tni_lm_residual(const tni_lm* a, int constraint);
double tni_lm_largest(const tni_lm* a, int* worst);
/// Distance of the two sides of a constraint [m]; if their rotation is farther off, *angle is true
/// and it is that [rad].
double tni_lm_gap(const tni_lm* a, int constraint, bool* angle);
/// Angle [rad] and axis of the rotation of frame 2 of a joint against frame 1, at the current
/// views; 0 where that rotation is free.
double tni_lm_rotation(const tni_lm* a, int constraint, tn_vec3* axis);
/// tree_assembly.c: q <- a spanning forest closed body by body, starting from the configuration.
void tni_lm_assemble_tree(tni_lm* a, const tni_configuration* at, double* q);
/// q_out = q moved by the step d. As tni_advance, but affine bodies rotate rather than stretch.
void tni_lm_move(const tni_lm* a, const double* d, const double* q, double* q_out);
/// Whether a row holds an angle.
bool tni_lm_is_angle(const tni_lm* a, int constraint, int k);

#endif
