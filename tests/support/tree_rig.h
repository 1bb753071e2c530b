// Trees of limbs at random states, with some joints held, for tests of what is done to them.
//
//     random_mechanism* m = tree_random(&r, bodies, spread); // all types of joints that limbs have
//     tree_rig* t = tree_rig_make(m->model);
//     tree_rig_disturb(t, m->state, &r, 0.7, 1);           // anywhere that joints allow, in motion
//     tree_rig_hold(t, m->scene, &r, 0.4, false);          // active, touched, frames, loads
//     tni_tree_accelerate(t->pass, host, 0, t->limbs->tree_count, &t->at, t->qddot, &visits);
#ifndef TREE_RIG_H
#define TREE_RIG_H

#include "adaptive/divide_and_conquer.h"
#include "support/random_scene.h"

typedef struct tree_rig {
    tn_host                 host;
    tni_arena               arena;
    tni_joint_trees*        limbs;
    tni_assembly*           assembly;
    tni_divide_and_conquer* pass;
    double *                q, *v, *Q, *K, *qddot;
    uint8_t *               active, *touched, *pushed;
    tni_frames*             frames;
    tni_six*                force; // by limb
    tni_shift*              world; // by limb
    tni_six *               motion, *acceleration;
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

/// Trees of rigid bodies, tied to the world or floating; loads. spread 1: chains; many: bushes.
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
    if (tni_joint_trees_create(&t->arena, model, &t->limbs, &why) != TN_OK ||
        tni_assembly_create(&t->arena, t->limbs, &t->assembly) != TN_OK ||
        tni_divide_and_conquer_create(&t->arena, t->limbs, t->assembly, &t->pass) != TN_OK) {
        fprintf(stderr, "tree rig: %s\n", why.text);
        abort();
    }
    const tni_joint_trees* l = t->limbs;
    t->q                     = TNI_TAKE(&t->arena, double, l->q_count);
    t->v                     = TNI_TAKE(&t->arena, double, l->v_count);
    t->Q                     = TNI_TAKE(&t->arena, double, l->v_count);
    t->K                     = TNI_TAKE(&t->arena, double, l->k_count);
    t->qddot                 = TNI_TAKE(&t->arena, double, l->v_count);
    t->active                = TNI_TAKE(&t->arena, uint8_t, l->count);
    t->touched               = TNI_TAKE(&t->arena, uint8_t, t->assembly->count);
    t->pushed                = TNI_TAKE(&t->arena, uint8_t, t->assembly->count);
    t->frames                = TNI_TAKE(&t->arena, tni_frames, t->assembly->count);
    t->force                 = TNI_TAKE(&t->arena, tni_six, l->count);
    t->world                 = TNI_TAKE(&t->arena, tni_shift, l->count);
    t->motion                = TNI_TAKE(&t->arena, tni_six, l->count);
    t->acceleration          = TNI_TAKE(&t->arena, tni_six, l->count);
    t->at                    = (tni_tree_state){.active  = t->active,
                                                .touched = t->touched,
                                                .pushed  = t->pushed,
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

/// Somewhere else, by up to `position` in every freedom, with random velocities.
static inline void tree_rig_disturb(tree_rig* t, const tn_state* start, test_random* r,
                                    double position, double velocity)
{
    const tni_joint_trees* l = t->limbs;
    tni_joint_trees_read(l, start->q, start->u, t->q, t->v);
    random_numbers(r, t->v, l->v_count, position);
    for (int i = 0; i < l->count; ++i)
        tni_tree_link_advance(&l->limbs[i], 1, t->v + l->limbs[i].v, t->q + l->limbs[i].q);
    random_numbers(r, t->v, l->v_count, velocity);
}

/// Forces of the joints themselves; z: all joints' coordinates.
static inline void tree_rig_joint_forces(tree_rig* t, const double* z)
{
    for (int i = 0; i < t->limbs->count; ++i) {
        const tni_tree_link* l = &t->limbs->limbs[i];
        (void)tni_tree_link_force(t->limbs, i, 0, z, t->q + l->q, t->v + l->v, 0, t->Q + l->v,
                                  t->K + l->k);
    }
}

// Where limbs are, how they move, and, where qddot is known, their spatial accelerations.
static inline void tree_rig_follow(tree_rig* t)
{
    for (int i = 0; i < t->limbs->count; ++i) {
        const tni_tree_link* limb = &t->limbs->limbs[i];
        const int            p    = limb->parent;
        const double *       q = t->q + limb->q, *v = t->v + limb->v;
        tni_shift            X;
        tni_six              S[TNI_TREE_LINK_FREEDOMS];
        tni_tree_link_place(limb, q, &X, S);
        const tni_six own  = tni_tree_link_motion(limb, S, v),
                      rate = tni_tree_link_motion(limb, S, t->qddot + limb->v);

        t->world[i]  = p < 0 ? X : tni_shift_then(&t->world[p], &X);
        t->motion[i] = own;
        if (p >= 0) t->motion[i] = tni_six_add(own, tni_shift_motion(&X, t->motion[p]));
        tni_six a = tni_six_add(rate, tni_cross_motion(t->motion[i], own));
        a         = tni_six_add(a, tni_tree_link_bend(limb, q, v));
        if (p >= 0) a = tni_six_add(a, tni_shift_motion(&X, t->acceleration[p]));
        t->acceleration[i] = a;
    }
}

// A point of the body's frame, in the limb's.
static inline tn_vec3 tree_rig_point(const tree_rig* t, int limb, tn_vec3 p)
{
    const tni_tree_link* l = &t->limbs->limbs[limb];
    return tni_add(l->com,
                   tni_rotate(l->attitude, tni_sub(p, t->limbs->model->bodies[l->body].com)));
}

static inline void tree_rig_load(tree_rig* t, const tn_scene* scene)
{
    for (int i = 0; i < tn_scene_load_count(scene); ++i) {
        const tn_load_def* load = tn_scene_load(scene, i);
        const int          limb = t->limbs->of_body[load->body.bits];
        const tni_mat3*    E    = &t->world[limb].E;
        const tn_vec3      f    = tni_mul(E, load->force);
        const tn_vec3      p    = tree_rig_point(t, limb, load->point);
        t->force[limb]          = (tni_six){tni_add(tni_mul(E, load->torque), tni_cross(p, f)), f};
        t->pushed[t->assembly->leaf[limb]] = 1;
    }
}

// Frames of all nodes; of touched ones all but the place of a held joint is made useless.
static inline void tree_rig_frames(tree_rig* t)
{
    for (int i = 0; i < t->assembly->count; ++i) {
        const tni_node*      node = &t->assembly->nodes[i];
        const tni_tree_link* limb = &t->limbs->limbs[node->limb];
        if (node->b < 0) {
            tni_leaf_frames(limb, &t->frames[i]);
            continue;
        }
        tni_shift X;
        tni_six   S[TNI_TREE_LINK_FREEDOMS];
        tni_tree_link_place(limb, t->q + limb->q, &X, S);
        tni_join_frames(node, node->a < 0 ? NULL : &t->frames[node->a], &t->frames[node->b], &X,
                        &t->frames[i]);
    }
    for (int i = 0; i < t->assembly->count; ++i) {
        if (!t->touched[i]) continue;
        const bool      active = t->active[t->assembly->nodes[i].limb];
        const tni_shift join   = t->frames[i].join;
        double*         all    = (double*)&t->frames[i];
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
        t->touched[i] = t->touched[i] || t->active[node->limb] || t->touched[node->b] ||
                        (node->a >= 0 && t->touched[node->a]);
        t->pushed[i] = t->pushed[node->b] || (node->a >= 0 && t->pushed[node->a]);
    }
}

/// Holds joints by chance, at rest where they are; the rest is made to follow. closed: joints above
/// active ones in the assembly tree are active.
static inline void tree_rig_hold(tree_rig* t, const tn_scene* scene, test_random* r, double chance,
                                 bool closed)
{
    for (int i = 0; i < t->limbs->count; ++i)
        t->active[i] = t->limbs->limbs[i].joint < 0 || test_random_unit(r) >= chance;
    tree_rig_touch(t);
    for (int i = 0; i < t->assembly->count && closed; ++i)
        if (t->touched[i]) t->active[t->assembly->nodes[i].limb] = 1;
    for (int i = 0; i < t->limbs->count; ++i) {
        const tni_tree_link* limb = &t->limbs->limbs[i];
        for (int k = 0; k < limb->freedoms && !t->active[i]; ++k) t->v[limb->v + k] = 0;
    }
    tree_rig_follow(t);
    if (scene) tree_rig_load(t, scene);
    tree_rig_touch(t);
    tree_rig_frames(t);
}

/// Acceleration of a body's frame, world axes.
static inline tn_twist tree_rig_acceleration(const tree_rig* t, int limb)
{
    const tni_six v = t->motion[limb], a = t->acceleration[limb];
    const tn_vec3 p = tree_rig_point(t, limb, tni_vec3(0, 0, 0));
    tn_vec3       x = tni_add(a.v, tni_cross(a.w, p));
    x               = tni_add(x, tni_cross(v.w, tni_add(v.v, tni_cross(v.w, p))));
    return (tn_twist){tni_mul_t(&t->world[limb].E, x), tni_mul_t(&t->world[limb].E, a.w)};
}

#endif
