// cords: what the tension of distance joints, ropes and springs does across their lines. See cords.c.
#ifndef TNI_CORDS_H
#define TNI_CORDS_H

#include "joint/joint.h"

/// Two points that a tension T holds at a distance d.
typedef struct tni_cord {
    int     joint, spring;   ///< a distance joint or a rope, or a spring; the other is -1
    int     body[2], dim[2]; ///< dim 0: it cannot be pushed
    tn_vec3 p[2];
    tn_vec3 line;  ///< unit vector from point 1 to point 2
    tn_vec3 drift; ///< of the rate between the points: the motion of bodies that cannot be pushed
    double  K;     ///< h^2 T / d [kg]; 0: slack
    double  S;     ///< what the matrix has of it
    double* J[2];  ///< 3 x dim: the rate between the points
} tni_cord;

typedef struct tni_cords {
    const tn_model* model;
    int             count;
    tni_cord*       at;
    int*            of_joint;  ///< index; -1: none
    int*            of_spring; ///< likewise
} tni_cords;

TN_NODISCARD tn_result tni_cords_create(tni_arena* arena, const tn_model* model, tni_cords* cords);
/// Lines and rows at the views.
void tni_cord_turn(const tni_cords* cords, tni_cord* cord, const tni_view* views);
/// K of all, from h^2 T of distance joints and ropes by joint. Returns a bound of the largest h^2 k that any
/// has on the bodies by themselves.
double tni_cords_find(tni_cords* cords, const tni_view* views, double h, const double* pull);
/// f += J^T K J w of all: K across the line.
void tni_cords_push(const tni_cords* cords, const double* w, double* f);

/// x <- (1 - n n^T) x
void tni_across(tn_vec3 n, double x[3]);

#endif
