// link_contact: contacts in the adaptive method: impulses on velocities, after all forces and before
// places move on.
//
// A step finds what may touch at the places where it starts. Forces of contacts of the step before,
// P0 / h, are among the forces on limbs from the beginning, so accelerations are nearly those of
// the end, and a choice of active joints (active_joints.c) knows what a body leans on. Then, with v+ the
// velocities by all forces and J the rows in the middle of the step at v+ (so that h J v is the way
// of a point to second order), each point has
//     w = J v+ + J M^-1 J^T (P - P0),   M with the added inertia of implicit joint forces,
//     w_n >= -gap / h  where there is a gap,  w_n >= 0  where there is none,
//     w_n >= e |w_n-|  where it is hit: it did not press before, comes, at the velocities of the
//                      step's start, faster than twice what gravity adds in a step, and arrives
//     P_n >= 0, complementary; friction, spin and roll in their cones; belts and keyed bodies in J v
// and all points of trees that touch each other are solved for together: contact_impulse.c.
// What is held weighs, and does not give way.
//
// What is inside something else by more than a slop is moved out by velocities that are not kept:
// once P is known, the same problem without friction asks for a share of the depth in this step,
// places move with v + this, v stays.
//
// P / h of points that were not hit is part of the state (tni_warm_start), as in the impulse method.
#include "adaptive/link_contact.h"

#include "adaptive/adaptive.h"
#include "geom/geometry.h"

enum { POINTS_MIN = 64, COLUMNS_MIN = 2048 };

static const double startled = 0.1;   // [m/s]; what comes as a surprise within a step
static const double slowest  = 1e-9;  // [m/s]; nothing is hit by less
static const double nothing  = 1e-12; // of the response of a point: nothing moves it

// ---- Room ----------------------------------------------------------------------------------------

static tn_result take_room(tni_link_contacts* fs, int points, int columns)
{
    tni_arena         arena = tni_arena_make(&fs->model->arena.host);
    const int         rows  = TNI_CONTACT_ROWS * points;
    tni_link_contacts next  = *fs;
    next.capacity           = points;
    next.column_capacity    = columns;
    next.number_capacity    = 4 * (size_t)columns;
    next.found              = TNI_TAKE(&arena, tni_contact, points);
    next.footings           = TNI_TAKE(&arena, tni_link_contact, points);
    next.order              = TNI_TAKE(&arena, int, points);
    next.columns            = TNI_TAKE(&arena, int, columns);
    next.y                  = TNI_TAKE(&arena, double, next.number_capacity);
    next.condition          = TNI_TAKE(&arena, uint8_t, rows);
    next.mu                 = TNI_TAKE(&arena, double, rows);
    next.b                  = TNI_TAKE(&arena, double, rows);
    next.f                  = TNI_TAKE(&arena, double, rows);
    next.a                  = TNI_TAKE(&arena, double, rows);
    next.block              = TNI_TAKE(&arena, double, TNI_CONTACT_ROWS* rows);
    if (arena.failed || tni_cone_create_far(&arena, rows, &next.far) != TN_OK) {
        tni_arena_free(&arena);
        return TN_ERR_MEMORY;
    }
    tni_arena_free(&fs->arena);
    *fs       = next;
    fs->arena = arena;
    fs->count = 0;
    fs->full  = false;
    return TN_OK;
}

static void measure_shapes(const tni_adaptive* adaptive, tni_link_contacts* fs)
{
    const tn_model*        model = adaptive->model;
    const tni_joint_trees* limbs = adaptive->limbs;
    for (int i = 0; i < limbs->count; ++i) fs->pushed[i] = -1;
    for (int i = 0; i < adaptive->pushed_count; ++i) fs->pushed[adaptive->pushed[i].limb] = i;
    for (int i = 0; i < model->shape_count; ++i) {
        const tni_shape* shape = &model->shapes[i];
        const double     size  = tni_extent(&shape->geometry) + tni_norm(shape->p);
        if (size < HUGE_VAL) fs->extent[shape->body] = fmax(fs->extent[shape->body], size);
    }
}

tn_result tni_link_contacts_create(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_joint_trees* limbs = adaptive->limbs;
    tni_link_contacts*     fs    = TNI_TAKE(arena, tni_link_contacts, 1);
    if (fs == NULL) return TN_ERR_MEMORY;
    *fs = (tni_link_contacts){
        .model      = adaptive->model,
        .arena      = tni_arena_make(&adaptive->model->arena.host),
        .pushed     = TNI_TAKE(arena, int, limbs->count),
        .extent     = TNI_TAKE(arena, double, adaptive->model->body_count),
        .speed      = TNI_TAKE(arena, double, limbs->tree_count),
        .up         = TNI_TAKE(arena, int, limbs->tree_count),
        .number     = TNI_TAKE(arena, int, limbs->tree_count),
        .size       = TNI_TAKE(arena, int, limbs->tree_count + 1),
        .near       = TNI_TAKE(arena, uint8_t, limbs->tree_count),
        .s          = TNI_TAKE(arena, double, limbs->v_count),
        .change     = TNI_TAKE(arena, double, limbs->v_count),
        .kept       = TNI_TAKE(arena, double, limbs->v_count),
        .q          = TNI_TAKE(arena, double, limbs->q_count),
        .W          = TNI_TAKE(arena, double, TNI_LINK_CONTACT_DIRECT* TNI_LINK_CONTACT_DIRECT),
        .warm_start = tni_warm_start_take(arena, adaptive->model)};
    if (arena->failed) return TN_ERR_MEMORY;
    adaptive->footings = fs;
    measure_shapes(adaptive, fs);
    tn_result result = tni_cone_create(arena, TNI_LINK_CONTACT_DIRECT, &fs->cone);
    if (result == TN_OK) result = tni_finder_create(fs->model, &fs->finder);
    return result == TN_OK ? take_room(fs, POINTS_MIN, COLUMNS_MIN) : result;
}

void tni_link_contacts_free(tni_link_contacts* fs)
{
    if (fs == NULL) return;
    tni_finder_free(fs->finder);
    tni_arena_free(&fs->arena);
}

tn_result tni_link_contacts_grow(tni_link_contacts* fs)
{
    if (!tni_finder_is_full(fs->finder))
        return take_room(fs, 2 * fs->capacity, 2 * fs->column_capacity);
    const tn_result result = tni_finder_grow(fs->finder);
    if (result == TN_OK) fs->full = false;
    return result;
}

void tni_link_contacts_load(tni_link_contacts* fs, const tni_warm_start* pressed)
{
    tni_warm_start_copy(&fs->warm_start, pressed);
}

void tni_link_contacts_store(const tni_link_contacts* fs, tni_warm_start* pressed)
{
    tni_warm_start_copy(pressed, &fs->warm_start);
}

// ---- Finding -------------------------------------------------------------------------------------

static double speed_of(const tni_link_contacts* fs, const tni_view* view, int body)
{
    return tni_norm(view->v) + fs->extent[body] * tni_norm(view->w);
}

// By tree, of the fastest that its shapes have; of keyed bodies together. Returns the sum of the two fastest.
static double measure_speeds(const tni_adaptive* adaptive, tni_link_contacts* fs)
{
    const tn_model* model = adaptive->model;
    double          most  = 0;
    fs->outer             = 0;
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) fs->speed[t] = 0;
    for (int i = 0; i < model->shape_count; ++i) {
        const int    body = model->shapes[i].body, limb = adaptive->limbs->of_body[body];
        double*      sum = limb < 0 ? &fs->outer : &fs->speed[adaptive->limbs->limbs[limb].tree];
        const double v   = speed_of(fs, &adaptive->views[body], body);
        *sum             = fmax(*sum, v);
        most             = fmax(most, v);
    }
    return 2 * most;
}

static double speed_at(const tni_adaptive* adaptive, int limb)
{
    const tni_link_contacts* fs = adaptive->footings;
    return limb < 0 ? fs->outer : fs->speed[adaptive->limbs->limbs[limb].tree];
}

// Forces and torques of a row on one side, about the body's centre of mass, world axes.
static tni_six push_of(const tn_model* model, const tni_contact* touch, const tni_view* views,
                       const tni_row* row, int side)
{
    static const tni_mat3 own = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const int             at  = side == 0 ? touch->body1 : touch->body2;
    const tni_body*       b   = &model->bodies[at];
    double                f[6];
    tni_push_row(b, &views[at], side == 0 ? touch->p1 : touch->p2, side == 0 ? &touch->F1 : &own,
                 &row->push[side], f);
    if (b->kind == TN_BODY_PLANAR) return (tni_six){tni_vec3(0, 0, f[2]), tni_vec3(f[0], f[1], 0)};
    return (tni_six){tni_read3(f + 3), tni_read3(f)};
}

// A force in the world, about the centre of mass, is added to those on a limb.
static void push_limb(tni_adaptive* adaptive, int index, tni_six f)
{
    const tni_tree_link* limb   = &adaptive->limbs->limbs[index];
    const tni_mat3*      R      = &adaptive->views[limb->body].R;
    const tn_vec3        v      = tni_rotate(limb->attitude, tni_mul_t(R, f.v));
    const tn_vec3        w      = tni_rotate(limb->attitude, tni_mul_t(R, f.w));
    tni_six*             sum    = &adaptive->force[index];
    tni_pushed_limb*     pushed = &adaptive->pushed[adaptive->footings->pushed[index]];
    if (!pushed->pushed) *sum = tni_six_zero();
    *sum           = tni_six_add(*sum, (tni_six){tni_add(w, tni_cross(limb->com, v)), v});
    pushed->pushed = true;
}

// A point at the velocities of the start; force: what pressed there in the step before, NULL: nothing.
static void begin_footing(tni_adaptive* adaptive, tni_link_contact* g, const double* force)
{
    tni_row                  rows[TNI_CONTACT_ROWS];
    const tni_contact_counts n =
        tni_contact_rows(adaptive->model, &g->touch, adaptive->views, rows);
    g->gap    = rows[0].C;
    g->coming = force == NULL ? -rows[0].rate : 0;
    for (int k = 0; k < TNI_CONTACT_ROWS; ++k) g->before[k] = 0;
    for (int k = 0; force != NULL && k <= n.slip + n.spin + n.roll; ++k) {
        const double f = force[k] + force[TNI_WARM_START_ROWS + k];
        g->before[k]   = adaptive->h * f;
        for (int side = 0; side < 2 && f != 0; ++side) {
            if (g->limb[side] < 0) continue;
            const tni_six p = push_of(adaptive->model, &g->touch, adaptive->views, &rows[k], side);
            push_limb(adaptive, g->limb[side], (tni_six){tni_scale(f, p.w), tni_scale(f, p.v)});
        }
    }
}

bool tni_link_contacts_find(tni_adaptive* adaptive)
{
    tni_link_contacts* fs    = adaptive->footings;
    const double       h     = adaptive->h;
    const double       v0    = startled + 10 * h * tni_norm(adaptive->model->gravity);
    const double       reach = h * (2 * measure_speeds(adaptive, fs) + v0);
    const int          found =
        tni_find_contacts(fs->finder, adaptive->views, reach, fs->found, fs->capacity);
    int known = 0;
    fs->count = 0;
    fs->full  = found > fs->capacity;
    for (int i = 0; i < found && !fs->full; ++i) {
        const tni_contact* t       = &fs->found[i];
        const int          limb[2] = {adaptive->limbs->of_body[t->body1],
                                      adaptive->limbs->of_body[t->body2]};
        const double       near =
            h * (2 * (speed_at(adaptive, limb[0]) + speed_at(adaptive, limb[1])) + v0);
        if ((limb[0] < 0 && limb[1] < 0) || !(t->gap <= near)) continue;
        tni_link_contact* g = &fs->footings[fs->count++];
        g->touch            = *t;
        g->limb[0] = limb[0], g->limb[1] = limb[1];
        begin_footing(adaptive, g, tni_warm_start_find(&fs->warm_start, t->id, &known));
    }
    return !fs->full;
}

// ---- Meeting -------------------------------------------------------------------------------------

static int tree_of(const tni_adaptive* adaptive, const tni_link_contact* g, int side)
{
    return g->limb[side] < 0 ? -1 : adaptive->limbs->limbs[g->limb[side]].tree;
}

// A tree in the middle of the step, as it would be without further impulses, with its articulated inertias there.
static bool ready_tree(tni_adaptive* adaptive, tni_link_contacts* fs, int tree)
{
    const tni_joint_trees* limbs  = adaptive->limbs;
    tni_figure*            figure = &adaptive->figures[tree];
    const int              first = limbs->first[tree], last = limbs->first[tree + 1];
    const bool             more = last < limbs->count;
    const int              q = limbs->limbs[first].q, v = limbs->limbs[first].v;
    const int              q_end = more ? limbs->limbs[last].q : limbs->q_count;
    const int              v_end = more ? limbs->limbs[last].v : limbs->v_count;
    fs->up[tree]                 = tree;
    fs->size[tree]               = 0;
    memcpy(fs->q + q, adaptive->q + q, sizeof *fs->q * (size_t)(q_end - q));
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* limb = &limbs->limbs[figure->active[i]];
        fs->size[tree] += limb->freedoms;
        tni_tree_link_advance(limb, 0.5 * adaptive->h, adaptive->v + limb->v, fs->q + limb->q);
    }
    for (int k = v; k < v_end; ++k) fs->s[k] = 0;
    tni_hybrid_move(&figure->now, fs->q, adaptive->v);
    tni_figure_push(adaptive, tree, &figure->now); // for what stiff forces resist with
    figure->good = tni_hybrid_factor(&figure->now, limbs->actuated ? adaptive->K : NULL);
    return figure->good;
}

static bool ready_trees(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    const int count = adaptive->limbs->tree_count;
    bool      good  = true;
    for (int t = 0; t < count; ++t) {
        fs->near[t] = 0;
        good        = good && adaptive->figures[t].good;
    }
    for (int i = 0; i < fs->count; ++i)
        for (int side = 0; side < 2; ++side)
            if (fs->footings[i].limb[side] >= 0)
                fs->near[tree_of(adaptive, &fs->footings[i], side)] = 1;
    for (int t = 0; t < count; ++t) good = good && (!fs->near[t] || ready_tree(adaptive, fs, t));
    return good;
}

// Where a limb is, at the new velocities. Returns its cluster; -1: that cannot move.
static int see(tni_adaptive* adaptive, int limb)
{
    const tni_tree_link* l       = &adaptive->limbs->limbs[limb];
    const tni_seat*      seat    = &adaptive->pushed[adaptive->footings->pushed[limb]].seat;
    const tni_cluster*   cluster = &adaptive->figures[l->tree].now.clusters[seat->cluster];
    const tni_shift      world   = tni_shift_then(&cluster->world, &seat->way);
    tni_tree_link_view(adaptive->limbs, limb, &world, tni_shift_motion(&seat->way, cluster->v),
                       &adaptive->views[l->body]);
    return cluster->held ? -1 : seat->cluster;
}

static void add_columns(tni_adaptive* adaptive, tni_link_contact* g, const int cluster[2],
                        tni_six force[2][TNI_CONTACT_ROWS])
{
    tni_link_contacts* fs      = adaptive->footings;
    int*               columns = fs->columns + fs->column_count;
    double*            y       = fs->y + fs->number_count;
    g->column                  = fs->column_count;
    g->y                       = fs->number_count;
    g->count                   = 0;
    const int tree[2]          = {tree_of(adaptive, g, 0), tree_of(adaptive, g, 1)};
    if (tree[0] == tree[1]) {
        g->count =
            tni_hybrid_halve(&adaptive->figures[tree[0]].now, cluster, g->rows, force, columns, y);
    } else {
        for (int side = 0; side < 2; ++side) {
            const int one[2] = {cluster[side], -1};
            if (cluster[side] < 0) continue;
            g->count += tni_hybrid_halve(&adaptive->figures[tree[side]].now, one, g->rows,
                                         force + side, columns + g->count, y + g->rows * g->count);
        }
    }
    fs->column_count += g->count;
    fs->number_count += (size_t)(g->rows * g->count);
}

static void write_block(const tni_link_contacts* fs, const tni_link_contact* g, double* block)
{
    const double* y = fs->y + g->y;
    for (int i = 0; i < g->rows; ++i)
        for (int j = 0; j < g->rows; ++j) block[TNI_CONTACT_ROWS * i + j] = 0;
    for (int c = 0; c < g->count; ++c, y += g->rows)
        for (int i = 0; i < g->rows; ++i)
            for (int j = 0; j < g->rows; ++j) block[TNI_CONTACT_ROWS * i + j] += y[i] * y[j];
}

static int rows_of(const tni_contact* touch, tni_link_contact* g, tni_contact_counts n)
{
    const tni_material* m = &touch->material;
    g->slip = n.slip, g->spin = n.spin;
    const bool grips = m->friction > 0 || n.spin + n.roll > 0;
    return grips ? 1 + n.slip + n.spin + n.roll : 1;
}

// Rows of a point at the new velocities. False: full.
static bool look(tni_adaptive* adaptive, tni_link_contact* g, double* block)
{
    tni_link_contacts* fs         = adaptive->footings;
    int                cluster[2] = {-1, -1}, room = 0;
    tni_row            rows[TNI_CONTACT_ROWS];
    tni_six            force[2][TNI_CONTACT_ROWS] = {0};
    for (int side = 0; side < 2; ++side) {
        if (g->limb[side] < 0) continue;
        cluster[side] = see(adaptive, g->limb[side]);
        room += fs->size[tree_of(adaptive, g, side)];
    }
    g->rows =
        rows_of(&g->touch, g, tni_contact_rows(adaptive->model, &g->touch, adaptive->views, rows));
    if (fs->column_count + room > fs->column_capacity ||
        fs->number_count + (size_t)(g->rows * room) > fs->number_capacity) {
        fs->full = true;
        return false;
    }
    for (int k = 0; k < g->rows; ++k) {
        g->rate[k] = rows[k].rate;
        for (int side = 0; side < 2; ++side) {
            if (cluster[side] < 0) continue;
            const int     body = side == 0 ? g->touch.body1 : g->touch.body2;
            const tni_six f = push_of(adaptive->model, &g->touch, adaptive->views, &rows[k], side);
            const tni_cluster* c =
                &adaptive->figures[tree_of(adaptive, g, side)].now.clusters[cluster[side]];
            const tn_vec3 arm = tni_sub(adaptive->views[body].x, c->world.r);
            force[side][k]    = (tni_six){tni_add(f.w, tni_cross(arm, f.v)), f.v};
        }
    }
    const bool same =
        tree_of(adaptive, g, 0) == tree_of(adaptive, g, 1) && cluster[0] == cluster[1];
    if (same) cluster[0] = cluster[1] = -1;
    add_columns(adaptive, g, cluster, force);
    write_block(fs, g, block);
    double trace = 0;
    for (int k = 0; k < g->rows; ++k) trace += block[(TNI_CONTACT_ROWS + 1) * k];
    g->out = !(block[0] > nothing * trace) || g->count == 0;
    return true;
}

// Whether it comes flying and arrives in this step.
static void judge(const tni_adaptive* adaptive, tni_link_contact* g)
{
    const double h     = adaptive->h;
    const double least = fmax(2 * h * tni_norm(adaptive->model->gravity), slowest);
    g->hit             = g->coming > least && g->gap < h * fmax(g->coming, -g->rate[0]);
    g->bounce          = g->hit ? g->touch.material.restitution * g->coming : 0;
}

static int root_of(const tni_link_contacts* fs, int tree)
{
    while (fs->up[tree] != tree) tree = fs->up[tree];
    return tree;
}

// Footings in the order of islands; fs->size[i] is where island i begins.
static void find_islands(const tni_adaptive* adaptive, tni_link_contacts* fs)
{
    for (int i = 0; i < fs->count; ++i) {
        const tni_link_contact* g = &fs->footings[i];
        if (g->limb[0] < 0 || g->limb[1] < 0) continue;
        const int a = root_of(fs, tree_of(adaptive, g, 0)),
                  b = root_of(fs, tree_of(adaptive, g, 1));
        if (a < b) fs->up[b] = a;
        else fs->up[a] = b;
    }
    fs->island_count = 0;
    for (int t = 0; t < adaptive->limbs->tree_count; ++t)
        if (fs->near[t] && fs->up[t] == t) fs->number[t] = fs->island_count++;
    for (int i = 0; i <= fs->island_count; ++i) fs->size[i] = 0;
    for (int i = 0; i < fs->count; ++i) {
        tni_link_contact* g = &fs->footings[i];
        g->island           = fs->number[root_of(fs, tree_of(adaptive, g, g->limb[0] < 0))];
        fs->size[g->island + 1]++;
    }
    for (int i = 0; i < fs->island_count; ++i) fs->size[i + 1] += fs->size[i];
    for (int i = 0; i < fs->count; ++i) fs->order[fs->size[fs->footings[i].island]++] = i;
    for (int i = fs->island_count; i > 0; --i) fs->size[i] = fs->size[i - 1];
    fs->size[0] = 0;
}

static void change_velocities(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    for (int t = 0; t < adaptive->limbs->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        if (!fs->near[t]) continue;
        tni_hybrid_answer(&figure->now, fs->s, fs->change);
        for (int i = 0; i < figure->active_count; ++i) {
            const tni_tree_link* limb = &adaptive->limbs->limbs[figure->active[i]];
            for (int k = limb->v; k < limb->v + limb->freedoms; ++k)
                adaptive->v[k] += fs->change[k];
        }
    }
}

static void remember(tni_link_contacts* fs, double h)
{
    fs->warm_start.count = 0;
    for (int i = 0; i < fs->count; ++i) {
        const tni_link_contact* g = &fs->footings[i];
        fs->hits += g->hit && g->f[0] > 0;
        if (g->out || g->hit || !(g->f[0] > 0)) continue;
        double* force = tni_warm_start_add(&fs->warm_start, fs->model, g->touch.id);
        for (int k = 0; force != NULL && k < g->rows; ++k) force[k] = g->f[k] / h;
    }
}

static bool is_deep(const tni_link_contacts* fs, int island)
{
    bool deep = false;
    for (int i = fs->size[island]; i < fs->size[island + 1]; ++i) {
        const tni_link_contact* g = &fs->footings[fs->order[i]];
        deep                      = deep || (!g->out && g->gap < -tni_link_contact_slop);
    }
    return deep;
}

// Velocities that only part what is in each other.
static void push_apart(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    bool any = false;
    for (int i = 0; i < fs->island_count; ++i) any = any || is_deep(fs, i);
    if (!any) return;
    fs->quiet = true;
    for (int i = 0; i < fs->island_count; ++i) {
        const int first = fs->size[i], count = fs->size[i + 1] - first;
        if (is_deep(fs, i)) tni_link_contacts_solve(fs, first, count, adaptive->h);
        else tni_link_contacts_clear(fs, first, count);
    }
    fs->quiet   = false;
    fs->parting = true;
    memcpy(fs->kept, adaptive->v, sizeof *fs->kept * (size_t)adaptive->limbs->v_count);
    change_velocities(adaptive, fs);
}

bool tni_link_contacts_meet(tni_adaptive* adaptive)
{
    tni_link_contacts* fs = adaptive->footings;
    fs->complementarity   = 0;
    fs->hits              = 0;
    fs->column_count      = 0;
    fs->number_count      = 0;
    fs->parting           = false;
    if (fs->count == 0 || !ready_trees(adaptive, fs)) {
        fs->warm_start.count = 0;
        return true;
    }
    for (int i = 0; i < fs->count; ++i) {
        tni_link_contact* g = &fs->footings[i];
        if (!look(adaptive, g, fs->block + TNI_CONTACT_ROWS * TNI_CONTACT_ROWS * i)) return false;
        judge(adaptive, g);
    }
    find_islands(adaptive, fs);
    for (int i = 0; i < fs->island_count; ++i)
        tni_link_contacts_solve(fs, fs->size[i], fs->size[i + 1] - fs->size[i], adaptive->h);
    change_velocities(adaptive, fs);
    remember(fs, adaptive->h);
    push_apart(adaptive, fs);
    return true;
}

void tni_link_contacts_part(tni_adaptive* adaptive)
{
    const tni_link_contacts* fs = adaptive->footings;
    if (fs->parting)
        memcpy(adaptive->v, fs->kept, sizeof *fs->kept * (size_t)adaptive->limbs->v_count);
}
