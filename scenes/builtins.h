// builtins: every built-in scene, one file each or a few of a kind. scenes.c lists them.
#ifndef TENON_SCENES_BUILTINS_H
#define TENON_SCENES_BUILTINS_H

#include "scenes.h"

extern const tns_builtin tns_chain, tns_pendulum, tns_spring_pendulum, tns_tree, tns_spider,
    tns_planar_web;
extern const tns_builtin tns_hand, tns_robot, tns_humanoid, tns_crowd, tns_plant, tns_hair;
extern const tns_builtin tns_differential, tns_rod_and_block, tns_planetary, tns_delta, tns_car;
extern const tns_builtin tns_fourbar, tns_slider_crank, tns_peaucellier, tns_scissor,
    tns_strandbeest;
extern const tns_builtin tns_octahedron, tns_octahedron_tube, tns_octahedron_cube, tns_bricard;
extern const tns_builtin tns_ladder, tns_incline, tns_bounce, tns_cradle, tns_painleve, tns_heap;
extern const tns_builtin tns_boxes, tns_ragdoll_pile, tns_gripper, tns_coin, tns_conveyor,
    tns_marbles, tns_domino, tns_bullet;

/// Bodies that a tree or a plant would have, and loops that a web can close, for the values given.
double tns_tree_bodies(const double* values);
double tns_plant_bodies(const double* values);
double tns_planar_web_loops(const double* values);

#endif
