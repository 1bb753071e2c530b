// rows: constraint rows of a contact point at any configuration.
//
// D leads from p1 to p2, n is the normal, c = p2 + arm the point of body 2 that is nearest body 1:
//     gap = n . (D + arm) - radius1
//     plane             n an axis of body 1,  arm as of a rolling joint (joint/rows.c)
// V is the velocity of body 2's material at c less that of body 1's. Its part along n is the rate
// of the gap: what the rotation of n and of arm adds is across n. So every row is a
// tni_rolling_row, along n or along a tangent; a contact is a rolling joint that may separate. The
// forces on both sides act at c, also when there is a gap, so that momentum is conserved. Tangents,
// each with its rate, for gamma:
// Directions across n, each with its rate, for gamma:
//     plane             its x and y axes
//     ball on ball      t = m/|m|, m = a - (a.n) n, with an axis a of body 1; and n x t
//     planar bodies     n x z; normals of spheres lie in the plane, whatever their z: discs
// Bodies in the plane z = constant rotate about z only, so that these stay in it.
#include "contact/contact.h"

static const tni_motion up = {{0, 0, 1}, {0, 0, 0}, {0, 0, 0}};

// A contact point at a configuration.
typedef struct point_state {
    bool                flat; ///< both bodies are planar
    tni_motion          n;    ///< without its second derivative
    tni_rolling_contact rolling;
    tn_vec3             p2; ///< in the world
} point_state;

// m/|m| and its rate.
static tni_motion unit_of(const tni_motion* m)
{
    const double  length = tni_norm(m->at);
    const tn_vec3 unit   = tni_scale(1 / length, m->at);
    const tn_vec3 across = tni_add_scaled(m->rate, -tni_dot(unit, m->rate), unit);
    return (tni_motion){unit, tni_scale(1 / length, across), {0, 0, 0}};
}

// a x b and its rate.
static tni_motion cross_of(const tni_motion* a, const tni_motion* b)
{
    return (tni_motion){tni_cross(a->at, b->at),
                        tni_add(tni_cross(a->rate, b->at), tni_cross(a->at, b->rate)),
                        {0, 0, 0}};
}

// The unit tangent nearest to a.
static tni_motion across_of(const tni_motion* n, const tni_motion* a)
{
    const double s     = tni_dot(a->at, n->at),
                 sdot  = tni_dot(a->rate, n->at) + tni_dot(a->at, n->rate);
    const tni_motion m = {tni_add_scaled(a->at, -s, n->at),
                          tni_add_scaled(tni_add_scaled(a->rate, -sdot, n->at), -s, n->rate),
                          {0, 0, 0}};
    return unit_of(&m);
}

static tni_motion axis_of_1(const tn_model* model, const tni_contact* contact,
                            const tni_view* views, int k)
{
    return tni_axis_motion(&model->bodies[contact->body1], &views[contact->body1],
                           tni_column(&contact->F1, k));
}

// Concentric spheres have no normal: any direction separates them.
static tni_motion round_normal(const tni_motion* D, bool flat)
{
    if (tni_norm(D->at) > 0) return unit_of(D);
    return (tni_motion){tni_vec3(flat, 0, !flat), {0, 0, 0}, {0, 0, 0}};
}

static point_state evaluate(const tn_model* model, const tni_contact* contact,
                            const tni_view* views)
{
    const tni_body *body1 = &model->bodies[contact->body1], *body2 = &model->bodies[contact->body2];
    const tni_view *view1 = &views[contact->body1], *view2 = &views[contact->body2];
    const tni_motion p1 = tni_point_motion(body1, view1, contact->p1),
                     p2 = tni_point_motion(body2, view2, contact->p2);
    point_state at      = {.flat = tni_is_flat(body1) && tni_is_flat(body2), .p2 = p2.at};
    at.rolling.w1       = view1->w;
    at.rolling.w2       = view2->w;
    tni_motion* D       = &at.rolling.D;
    *D = (tni_motion){tni_sub(p2.at, p1.at), tni_sub(p2.rate, p1.rate), tni_sub(p2.bias, p1.bias)};
    if (contact->round && at.flat) D->at.z = D->rate.z = D->bias.z = 0;
    at.n = contact->round ? round_normal(D, at.flat) : axis_of_1(model, contact, views, 2);
    const tni_motion axis = tni_axis_motion(body2, view2, contact->axis);
    tni_rolling_arm(&at.n, contact->wheel ? &axis : NULL, contact->radius2, &at.rolling);
    return at;
}

// Belt velocity of a surface relative to its body: slip that the bodies' velocities do not contain.
static void add_belt(const tni_view* view, tn_vec3 surface, double sign, const tni_motion* t,
                     tni_row* row)
{
    const tn_vec3 v = tni_mul(&view->R, surface);
    row->rate += sign * tni_dot(t->at, v);
    row->gamma += sign * (tni_dot(t->rate, v) + tni_dot(t->at, tni_cross(view->w, v)));
}

static void slip_row(const tni_contact* contact, const tni_view* views, const point_state* at,
                     const tni_motion* t, tni_row* row)
{
    tni_rolling_row(&at->rolling, t, row);
    add_belt(&views[contact->body1], contact->surface1, -1, t, row);
    add_belt(&views[contact->body2], contact->surface2, 1, t, row);
}

// Angular velocity of body 2 relative to body 1 about a direction, as a row.
static void turn_row(const point_state* at, const tni_motion* a, tni_row* row)
{
    const tn_vec3 w     = tni_sub(at->rolling.w2, at->rolling.w1);
    *row                = (tni_row){.rate = tni_dot(a->at, w), .gamma = tni_dot(a->rate, w)};
    row->push[0].torque = tni_neg(a->at);
    row->push[1].torque = a->at;
}

tni_contact_counts tni_contact_rows(const tn_model* model, const tni_contact* contact,
                                    const tni_view* views, tni_row* rows)
{
    const point_state at = evaluate(model, contact, views);
    const bool turns = model->bodies[contact->body1].turns || model->bodies[contact->body2].turns;
    tni_motion t[2]  = {axis_of_1(model, contact, views, 0)};
    tni_contact_counts counts = {.slip = at.flat ? 1 : 2};
    tni_rolling_row(&at.rolling, &at.n, &rows[0]);
    rows[0].C = tni_dot(at.n.at, tni_add(at.rolling.D.at, at.rolling.arm)) - contact->radius1;
    if (at.flat) t[0] = cross_of(&at.n, &up);
    else if (contact->round) t[0] = across_of(&at.n, &t[0]);
    t[1]      = cross_of(&at.n, &t[0]);
    int count = 1;
    for (int k = 0; k < counts.slip; ++k) slip_row(contact, views, &at, &t[k], &rows[count++]);
    if (contact->material.spinning > 0 && turns && !at.flat) {
        counts.spin = 1;
        turn_row(&at, &at.n, &rows[count++]);
    }
    if (contact->material.rolling > 0 && turns) {
        counts.roll = counts.slip;
        for (int k = 0; k < counts.roll; ++k) turn_row(&at, at.flat ? &up : &t[k], &rows[count++]);
    }
    return counts;
}

void tni_contact_place(const tn_model* model, const tni_contact* contact, const tni_view* views,
                       tn_vec3* position, tn_vec3* normal)
{
    const point_state at = evaluate(model, contact, views);
    *position            = tni_add(at.p2, at.rolling.arm);
    *normal              = at.n.at;
}

tn_vec3 tni_contact_turn(const tn_model* model, const tni_contact* contact, const tni_view* views)
{
    const point_state at = evaluate(model, contact, views);
    return tni_cross(at.n.at, at.n.rate);
}
