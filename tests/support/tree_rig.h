// Trees of links at random states with some joints held.
//
//     random_mechanism* m = tree_random(&r, bodies, spread); // all supported types of joints
//     tree_rig* t = tree_rig_make(m->model);
//     tree_rig_disturb(t, m->state, &r, 0.7, 1);           // a random state
//     tree_rig_hold(t, m->scene, &r, 0.4, false);          // active, touched, frames, loads
//     tni_tree_accelerate(t->pass, host, 0, t->trees->tree_count, &t->at, t->qddot, &visits);
#ifndef TREE_RIG_H
#define TREE_RIG_H

#include "adaptive/divide_and_conquer.h"
#include "support/random_scene.h"

typedef struct tree_rig {
    tn_host                 host;
    tni_arena               arena;
    tni_joint_trees*        trees;
    tni_assembly*           assembly;
    tni_divide_and_conquer* pass;
    double *                q, *v, *Q, *K, *qddot;
    uint8_t *               active, *touched, *loaded;
    tni_frames*             frames;
    tni_spatial*            force; // by link
    tni_transform*          world; // by link
    tni_spatial *           motion, *acceleration;
    tni_tree_state          at;
} tree_rig;

// ---- Scenes -------------------------------------------------------------------------------------

enum { TREE_JOINT_TYPES = 11 }; // of random_joint_types, from the first

static inline tn_joint_def tree_random_joint(random_mechanism* m, test_random* r, tn_body_id parent,
                                             tn_body_id child)
{
    const random_joint_type t    = random_joint_types[test_random_int(r, 0, TREE_JOINT_TYPES - 1)];
    const bool              swap = test_random_unit(r) < 0.5;
    const tn_body_id        one = swap ? child : parent, two = swap ? parent : child;
    const bool              distance = t.type == TN_JOINT_DISTANCE;

    tn_joint_def def = random_loose_joint(m, r, t, one, two, distance ? 1 : 0);
    if (distance) {
        const tn_frame *p1 = &m->poses[one.bits], *p2 = &m->poses[two.bits];
        const tn_vec3 a1 = tni_add(p1->position, tni_rotate(p1->orientation, def.frame1.position)),
                      a2 = tni_add(p2->position, tni_rotate(p2->orientation, def.frame2.position));
        def.form         = TN_JOINT_BY_POINTS;
        def.length       = tni_norm(tni_sub(a2, a1));
    }
    return def;
}

/// Trees of rigid bodies, attached to the world or floating; loads. spread 1: chains; many: bushes.
static inline random_mechanism* tree_random(test_random* r, int count, int spread)
{
    random_mechanism* m     = random_mechanism_make();
    int               first = 1;
    tn_scene_set_gravity(m->scene, random_vec3(r, 10));
    for (int i = 1; i <= count; ++i) {
        if (test_random_unit(r) < 0.04) first = i;
        const int lowest = i - spread > first ? i - spread : first;
        const int parent = i == first ? 0 : test_random_int(r, lowest, i - 1);

        const tn_vec3 place =
            tni_add(m->poses[parent].position, tni_scale(0.8, random_direction(r)));
        const tn_body_id child = random_add_body(m, r, RANDOM_RIGID, place, false);
        if (test_random_unit(r) < 0.3) {
            tn_load_def load = tn_default_load_def();
            load.body = child, load.force = random_vec3(r, 5), load.point = random_vec3(r, 0.5);
            load.torque = random_vec3(r, 2);
            (void)tn_scene_add_load(m->scene, &load);
        }
        if (parent == 0 && test_random_unit(r) < 0.4) continue; // floats
        tn_joint_def def = tree_random_joint(m, r, (tn_body_id){(uint32_t)parent}, child);
        random_actuate(m, r, &def);
        (void)tn_scene_add_joint(m->scene, &def);
    }
    random_mechanism_build(m);
    return m;
}

// ---- The rig ------------------------------------------------------------------------------------

static inline tree_rig* tree_rig_make(const tn_model* model)
{
    tree_rig* t   = calloc(1, sizeof *t);
    tn_why    why = {0};
    t->host       = tn_default_host();
    t->arena      = tni_arena_make(&t->host);
    if (tni_joint_trees_create(&t->arena, model, &t->trees, &why) != TN_OK ||
        tni_assembly_create(&t->arena, t->trees, &t->assembly) != TN_OK ||
        tni_divide_and_conquer_create(&t->arena, t->trees, t->assembly, &t->pass) != TN_OK) {
        fprintf(stderr, "tree rig: %s\n", why.text);
        abort();
    }
    const tni_joint_trees* l = t->trees;
    t->q                     = TNI_TAKE(&t->arena, double, l->q_count);
    t->v                     = TNI_TAKE(&t->arena, double, l->v_count);
    t->Q                     = TNI_TAKE(&t->arena, double, l->v_count);
    t->K                     = TNI_TAKE(&t->arena, double, l->k_count);
    t->qddot                 = TNI_TAKE(&t->arena, double, l->v_count);
    t->active                = TNI_TAKE(&t->arena, uint8_t, l->count);
    t->touched               = TNI_TAKE(&t->arena, uint8_t, t->assembly->count);
    t->loaded                = TNI_TAKE(&t->arena, uint8_t, t->assembly->count);
    t->frames                = TNI_TAKE(&t->arena, tni_frames, t->assembly->count);
    t->force                 = TNI_TAKE(&t->arena, tni_spatial, l->count);
    t->world                 = TNI_TAKE(&t->arena, tni_transform, l->count);
    t->motion                = TNI_TAKE(&t->arena, tni_spatial, l->count);
    t->acceleration          = TNI_TAKE(&t->arena, tni_spatial, l->count);
    t->at                    = (tni_tree_state){.active  = t->active,
                                                .touched = t->touched,
                                                .loaded  = t->loaded,
                                                .frames  = t->frames,
                                                .q       = t->q,
                                                .v       = t->v,
                                                .Q       = t->Q,
                                                .K       = t->K,
                                                .force   = t->force,
                                                .gravity = model->gravity};
    return t;
}

static inline void tree_rig_free(tree_rig* t)
{
    tni_arena_free(&t->arena);
    free(t);
}

/// A random state: displaced by up to `position` in every freedom, random velocities.
static inline void tree_rig_disturb(tree_rig* t, const tn_state* start, test_random* r,
                                    double position, double velocity)
{
    const tni_joint_trees* l = t->trees;
    tni_joint_trees_read(l, start->q, start->u, t->q, t->v);
    random_numbers(r, t->v, l->v_count, position);
    for (int i = 0; i < l->count; ++i)
        tni_tree_link_advance(&l->links[i], 1, t->v + l->links[i].v, t->q + l->links[i].q);
    random_numbers(r, t->v, l->v_count, velocity);
}

/// Joint forces; z: all joint coordinates.
static inline void tree_rig_joint_forces(tree_rig* t, const double* z)
{
    for (int i = 0; i < t->trees->count; ++i) {
        const tni_tree_link* l = &t->trees->links[i];
        (void)tni_tree_link_force(t->trees, i, 0, z, t->q + l->q, t->v + l->v, 0, t->Q + l->v,
                                  t->K + l->k);
    }
}

// Poses and motions of links, and, once qddot is known, their spatial accelerations.
static inline void tree_rig_follow(tree_rig* t)
{
    for (int i = 0; i < t->trees->count; ++i) {
        const tni_tree_link* link = &t->trees->links[i];
        const int            p    = link->parent;
        const double *       q = t->q + link->q, *v = t->v + link->v;
        tni_transform        X;
        tni_spatial          S[TNI_TREE_LINK_FREEDOMS];
        tni_tree_link_place(link, q, &X, S);
        const tni_spatial own  = tni_tree_link_motion(link, S, v),
                          rate = tni_tree_link_motion(link, S, t->qddot + link->v);

        t->world[i]  = p < 0 ? X : tni_transform_then(&t->world[p], &X);
        t->motion[i] = own;
        if (p >= 0) t->motion[i] = tni_spatial_add(own, tni_transform_motion(&X, t->motion[p]));
        tni_spatial a = tni_spatial_add(rate, tni_cross_motion(t->motion[i], own));
        a             = tni_spatial_add(a, tni_tree_link_bias(link, q, v));
        if (p >= 0) a = tni_spatial_add(a, tni_transform_motion(&X, t->acceleration[p]));
        t->acceleration[i] = a;
    }
}

// A point of the body's frame, in the link's.
static inline tn_vec3 tree_rig_point(const tree_rig* t, int link, tn_vec3 p)
{
    const tni_tree_link* l = &t->trees->links[link];
    return tni_add(l->com,
                   tni_rotate(l->attitude, tni_sub(p, t->trees->model->bodies[l->body].com)));
}

static inline void tree_rig_load(tree_rig* t, const tn_scene* scene)
{
    for (int i = 0; i < tn_scene_load_count(scene); ++i) {
        const tn_load_def* load = tn_scene_load(scene, i);
        const int          link = t->trees->of_body[load->body.bits];
        const tni_mat3*    E    = &t->world[link].E;
        const tn_vec3      f    = tni_mul(E, load->force);
        const tn_vec3      p    = tree_rig_point(t, link, load->point);
        t->force[link] = (tni_spatial){tni_add(tni_mul(E, load->torque), tni_cross(p, f)), f};
        t->loaded[t->assembly->leaf[link]] = 1;
    }
}

// Frames of all nodes; in touched ones all but the transform of a held joint is set to NaN.
static inline void tree_rig_frames(tree_rig* t)
{
    for (int i = 0; i < t->assembly->count; ++i) {
        const tni_node*      node = &t->assembly->nodes[i];
        const tni_tree_link* link = &t->trees->links[node->link];
        if (node->b < 0) {
            tni_leaf_frames(link, &t->frames[i]);
            continue;
        }
        tni_transform X;
        tni_spatial   S[TNI_TREE_LINK_FREEDOMS];
        tni_tree_link_place(link, t->q + link->q, &X, S);
        tni_join_frames(node, node->a < 0 ? NULL : &t->frames[node->a], &t->frames[node->b], &X,
                        &t->frames[i]);
    }
    for (int i = 0; i < t->assembly->count; ++i) {
        if (!t->touched[i]) continue;
        const bool          active = t->active[t->assembly->nodes[i].link];
        const tni_transform join   = t->frames[i].join;
        double*             all    = (double*)&t->frames[i];
        for (size_t k = 0; k < sizeof(tni_frames) / sizeof(double); ++k) all[k] = NAN;
        if (!active) t->frames[i].join = join;
    }
}

static inline void tree_rig_touch(tree_rig* t)
{
    for (int i = 0; i < t->assembly->count; ++i) {
        const tni_node* node = &t->assembly->nodes[i];
        t->touched[i]        = node->up < 0;
        if (node->b < 0) continue;
        t->touched[i] = t->touched[i] || t->active[node->link] || t->touched[node->b] ||
                        (node->a >= 0 && t->touched[node->a]);
        t->loaded[i] = t->loaded[node->b] || (node->a >= 0 && t->loaded[node->a]);
    }
}

/// Holds random joints, at rest where they are, and updates the rest. closed: joints above active
/// ones in the assembly tree are active.
static inline void tree_rig_hold(tree_rig* t, const tn_scene* scene, test_random* r, double chance,
                                 bool closed)
{
    for (int i = 0; i < t->trees->count; ++i)
        t->active[i] = t->trees->links[i].joint < 0 || test_random_unit(r) >= chance;
    tree_rig_touch(t);
    for (int i = 0; i < t->assembly->count && closed; ++i)
        if (t->touched[i]) t->active[t->assembly->nodes[i].link] = 1;
    for (int i = 0; i < t->trees->count; ++i) {
        const tni_tree_link* link = &t->trees->links[i];
        for (int k = 0; k < link->freedoms && !t->active[i]; ++k) t->v[link->v + k] = 0;
    }
    tree_rig_follow(t);
    if (scene) tree_rig_load(t, scene);
    tree_rig_touch(t);
    tree_rig_frames(t);
}

/// Acceleration of a body's frame, world axes.
static inline tn_twist tree_rig_acceleration(const tree_rig* t, int link)
{
    const tni_spatial v = t->motion[link], a = t->acceleration[link];
    const tn_vec3     p = tree_rig_point(t, link, tni_vec3(0, 0, 0));
    tn_vec3           x = tni_add(a.v, tni_cross(a.w, p));
    x                   = tni_add(x, tni_cross(v.w, tni_add(v.v, tni_cross(v.w, p))));
    return (tn_twist){tni_mul_t(&t->world[link].E, x), tni_mul_t(&t->world[link].E, a.w)};
}

#endif
