// soft_rows: springs, dampers and targets of any stiffness, implicit row by row in both halves of a Verlet step.
// See soft_rows.c.
#ifndef TNI_SOFT_ROWS_H
#define TNI_SOFT_ROWS_H

#include "force/force.h"
#include "linalg/saddle.h"
#include "system/cords.h"

typedef struct tni_soft_rows tni_soft_rows;

/// The bodies of a spring between two that no joint ties: a B node of its own.
typedef struct tni_soft_node {
    int body[2];
} tni_soft_node;

TN_NODISCARD tn_result tni_soft_rows_create(tni_arena* arena, const tn_model* model,
                                            tni_soft_rows** rows);
/// Rows that the node of a constraint has for soft forces, after its own.
int tni_soft_rows_of(const tni_soft_rows* rows, int constraint);
/// Nodes of springs on their own, TNI_SOFT_NODE_ROWS rows each.
int           tni_soft_node_count(const tni_soft_rows* rows);
tni_soft_node tni_soft_node_at(const tni_soft_rows* rows, int i);
enum { TNI_SOFT_NODE_ROWS = 3 };

/// The first half of a step of h from u, seen at its start. frame: the step that the user asked for [s], by which
/// stiffness is judged. Forces at the end are predicted for the velocity `ahead`, until tni_soft_correct.
void tni_soft_kick(tni_soft_rows* rows, const tni_scene_view* at, double h, double frame,
                   const double* u, const double* ahead);
/// The flight with u has led to where the scene is seen now: forces of the end are those there. Returns the largest
/// change, as a displacement within the step [m or rad]; *met: one-sided ends are met that were not foreseen.
double tni_soft_correct(tni_soft_rows* rows, const tni_scene_view* at, const double* u, bool* met);
/// The second half of the step, from u at its end.
void tni_soft_land(tni_soft_rows* rows, const tni_scene_view* at, const double* u);

/// Work of what may bring energy, in the last half, from u0 to u1 [J]: of far ends that are moved, and of constant
/// torques. Impulses are those that the last right-hand side stands for.
double tni_soft_work(const tni_soft_rows* rows, const double* u0, const double* u1);

/// Elastic energy, at the start or the end of a step whose landing is set, of what oscillates by more than 0.7 rad in it
/// [J], about.
double tni_soft_fast_energy(const tni_soft_rows* rows);
/// Tensions across their lines, for the weights; S of all is to be set before tni_soft_taut, which gives stiff ones
/// rows in this kick from u and in its landing.
tni_cords* tni_soft_cords(tni_soft_rows* rows);
void       tni_soft_taut(tni_soft_rows* rows, const double* u);
bool       tni_soft_is_taut(const tni_soft_rows* rows);

/// Forces that the last half has taken.
int tni_soft_count(const tni_soft_rows* rows);
/// Rows of the last half that an explicit step could not follow.
int tni_soft_stiff_count(const tni_soft_rows* rows);

/// Where rows stand in a plan whose first nodes are the bodies that can be pushed, then the constraints, then the
/// nodes of springs; edges in the same order, as the model has them. Adds to A blocks, writes J and E.
void tni_soft_write(tni_soft_rows* rows, tni_saddle* saddle);
/// The same without any stiffness: for what happens in no time.
void tni_soft_leave_out(const tni_soft_rows* rows, tni_saddle* saddle);
/// Of a joint force that is cut off at its bounds, and has no row here: w = J du + c with the compliance of its row.
void tni_soft_first_row(const tni_soft_rows* rows, int actuation, double* compliance, double* c);
/// Adds to b, writes the rows' part of r.
void tni_soft_rhs(const tni_soft_rows* rows, const tni_saddle* saddle, double* rhs);

/// Another number after each kick or landing.
unsigned tni_soft_stamp(const tni_soft_rows* soft);

#endif
