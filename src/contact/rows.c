// rows: a point in contact as rows, wherever the bodies are.
//
// D leads from p1 to p2, n is the normal, c = p2 + arm the point of body 2 that is nearest body 1:
//     gap = n . (D + arm) - radius1
//     plane             n an axis of body 1,  arm as of a rolling joint (joint/rows.c)
//     ball on ball      n = D/|D|,  ndot = (Ddot - (n.Ddot) n)/|D|,  arm = -radius2 n
// V is the velocity of body 2's matter at c less that of body 1's. Its part along n is the rate of
// the gap: what the turning of n and of arm adds is across n. So every row is one of
// tni_rolling_row, along n or along a direction across it; a contact is a rolling joint that may
// let go. Both sides are pushed at c, also when there is a gap, so that momentum is kept.
// Directions across n, each with its rate, for gamma:
//     plane             its x and y axes
//     ball on ball      t = m/|m|, m = a - (a.n) n, with an axis a of body 1; and n x t
//     in the plane      n x z; normals of spheres lie in it, whatever z they stand at: discs
// Bodies in the plane z = constant turn about z only, so that these stay in it.
#include "contact/contact.h"

static const tni_motion up = {{0, 0, 1}, {0, 0, 0}, {0, 0, 0}};

// A point in contact at a place.
typedef struct place {
    bool                flat; ///< both bodies keep to the plane
    tni_motion          n;    ///< without its second rate
    tni_rolling_contact rolling;
    tn_vec3             p2; ///< in the world
} place;

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

// The direction across n that is nearest to a.
static tni_motion across_of(const tni_motion* n, const tni_motion* a)
{
    const double s     = tni_dot(a->at, n->at),
                 sdot  = tni_dot(a->rate, n->at) + tni_dot(a->at, n->rate);
    const tni_motion m = {tni_add_scaled(a->at, -s, n->at),
                          tni_add_scaled(tni_add_scaled(a->rate, -sdot, n->at), -s, n->rate),
                          {0, 0, 0}};
    return unit_of(&m);
}

static tni_motion axis_of_1(const tn_model* model, const tni_contact* touch, const tni_view* views,
                            int k)
{
    return tni_axis_motion(&model->bodies[touch->body1], &views[touch->body1],
                           tni_column(&touch->F1, k));
}

// Spheres with one centre have no normal; any one parts them.
static tni_motion round_normal(const tni_motion* D, bool flat)
{
    if (tni_norm(D->at) > 0) return unit_of(D);
    return (tni_motion){tni_vec3(flat, 0, !flat), {0, 0, 0}, {0, 0, 0}};
}

static place place_of(const tn_model* model, const tni_contact* touch, const tni_view* views)
{
    const tni_body * body1 = &model->bodies[touch->body1], *body2 = &model->bodies[touch->body2];
    const tni_view * view1 = &views[touch->body1], *view2 = &views[touch->body2];
    const tni_motion p1 = tni_point_motion(body1, view1, touch->p1),
                     p2 = tni_point_motion(body2, view2, touch->p2);
    place at            = {.flat = tni_is_flat(body1) && tni_is_flat(body2), .p2 = p2.at};
    at.rolling.w1       = view1->w;
    at.rolling.w2       = view2->w;
    tni_motion* D       = &at.rolling.D;
    *D = (tni_motion){tni_sub(p2.at, p1.at), tni_sub(p2.rate, p1.rate), tni_sub(p2.bias, p1.bias)};
    if (touch->round && at.flat) D->at.z = D->rate.z = D->bias.z = 0;
    at.n = touch->round ? round_normal(D, at.flat) : axis_of_1(model, touch, views, 2);
    const tni_motion axis = tni_axis_motion(body2, view2, touch->axis);
    tni_rolling_arm(&at.n, touch->wheel ? &axis : NULL, touch->radius2, &at.rolling);
    return at;
}

// The velocity of a surface past its body: slip that the bodies' own velocities do not show.
static void add_belt(const tni_view* view, tn_vec3 surface, double sign, const tni_motion* t,
                     tni_row* row)
{
    const tn_vec3 v = tni_mul(&view->R, surface);
    row->rate += sign * tni_dot(t->at, v);
    row->gamma += sign * (tni_dot(t->rate, v) + tni_dot(t->at, tni_cross(view->w, v)));
}

static void slip_row(const tni_contact* touch, const tni_view* views, const place* at,
                     const tni_motion* t, tni_row* row)
{
    tni_rolling_row(&at->rolling, t, row);
    add_belt(&views[touch->body1], touch->surface1, -1, t, row);
    add_belt(&views[touch->body2], touch->surface2, 1, t, row);
}

// How fast body 2 turns about a direction, seen from body 1.
static void turn_row(const place* at, const tni_motion* a, tni_row* row)
{
    const tn_vec3 w     = tni_sub(at->rolling.w2, at->rolling.w1);
    *row                = (tni_row){.rate = tni_dot(a->at, w), .gamma = tni_dot(a->rate, w)};
    row->push[0].torque = tni_neg(a->at);
    row->push[1].torque = a->at;
}

tni_contact_counts tni_contact_rows(const tn_model* model, const tni_contact* touch,
                                    const tni_view* views, tni_row* rows)
{
    const place at    = place_of(model, touch, views);
    const bool  turns = model->bodies[touch->body1].turns || model->bodies[touch->body2].turns;
    tni_motion  t[2]  = {axis_of_1(model, touch, views, 0)};
    tni_contact_counts counts = {.slip = at.flat ? 1 : 2};
    tni_rolling_row(&at.rolling, &at.n, &rows[0]);
    rows[0].C = tni_dot(at.n.at, tni_add(at.rolling.D.at, at.rolling.arm)) - touch->radius1;
    if (at.flat) t[0] = cross_of(&at.n, &up);
    else if (touch->round) t[0] = across_of(&at.n, &t[0]);
    t[1]      = cross_of(&at.n, &t[0]);
    int count = 1;
    for (int k = 0; k < counts.slip; ++k) slip_row(touch, views, &at, &t[k], &rows[count++]);
    if (touch->material.spinning > 0 && turns && !at.flat) {
        counts.spin = 1;
        turn_row(&at, &at.n, &rows[count++]);
    }
    if (touch->material.rolling > 0 && turns) {
        counts.roll = counts.slip;
        for (int k = 0; k < counts.roll; ++k) turn_row(&at, at.flat ? &up : &t[k], &rows[count++]);
    }
    return counts;
}

void tni_contact_place(const tn_model* model, const tni_contact* touch, const tni_view* views,
                       tn_vec3* position, tn_vec3* normal)
{
    const place at = place_of(model, touch, views);
    *position      = tni_add(at.p2, at.rolling.arm);
    *normal        = at.n.at;
}
