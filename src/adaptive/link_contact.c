// link_contact: contacts in the adaptive method: impulses on velocities, after all forces and
// before positions move.
//
// A step finds possible contacts at its start. Contact forces of the last step, P0 / h, are
// included in the forces on links from the beginning, so accelerations are nearly final, and a
// choice of active joints (active_joints.c) sees what supports a body. Then, with v+ the velocities
// after all forces and J the rows at the middle of the step at v+ (so that h J v is the path of a
// point to second order), each point has
//     w = J v+ + J M^-1 J^T (P - P0),   M with the added inertia of implicit joint forces,
//     w_n >= -gap / h  with a gap,  w_n >= 0  without,
//     w_n >= e |w_n-|  at an impact: no force in the last step, an approach speed at the start of
//                      the step above twice what gravity adds in a step, and contact within it
//     P_n >= 0, complementary; friction, spinning and rolling in their cones; conveyor belts and
//                      kinematic bodies in J v
// All points of trees in contact with each other are solved together: contact_impulse.c. Clusters
// with a held joint to the world have mass but do not move.
//
// Penetration beyond a slop is corrected by separation velocities that are not kept: once P is
// known, the same problem without friction asks for a part of the depth in this step; positions
// move with v plus the result, v stays.
//
// P / h of points without impact is part of the state (tni_warm_start), as in the impulse method.
#include "adaptive/link_contact.h"

#include "adaptive/adaptive.h"
#include "geom/geometry.h"

enum { POINTS_MIN = 64, COLUMNS_MIN = 2048 };

static const double unexpected_speed = 0.1;   // [m/s]; allowance of the search for contacts
static const double hit_speed_min    = 1e-9;  // [m/s]; slower approaches are no impact
static const double response_min     = 1e-12; // relative response of an immovable point

// ---- Room --------------------------------------------------------------------------------------

static tn_result take_room(tni_link_contacts* fs, int points, int columns)
{
    tni_arena         arena = tni_arena_make(&fs->model->arena.host);
    const int         rows  = TNI_CONTACT_ROWS * points;
    tni_link_contacts next  = *fs;
    next.capacity           = points;
    next.column_capacity    = columns;
    next.number_capacity    = 4 * (size_t)columns;
    next.found              = TNI_TAKE(&arena, tni_contact, points);
    next.points             = TNI_TAKE(&arena, tni_link_contact, points);
    next.order              = TNI_TAKE(&arena, int, points);
    next.columns            = TNI_TAKE(&arena, int, columns);
    next.y                  = TNI_TAKE(&arena, double, next.number_capacity);
    next.condition          = TNI_TAKE(&arena, uint8_t, rows);
    next.mu                 = TNI_TAKE(&arena, double, rows);
    next.b                  = TNI_TAKE(&arena, double, rows);
    next.f                  = TNI_TAKE(&arena, double, rows);
    next.a                  = TNI_TAKE(&arena, double, rows);
    next.block              = TNI_TAKE(&arena, double, TNI_CONTACT_ROWS* rows);
    if (arena.failed || tni_cone_create_operator(&arena, rows, &next.far) != TN_OK) {
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
    const tni_joint_trees* trees = adaptive->trees;
    for (int i = 0; i < trees->count; ++i) fs->loaded[i] = -1;
    for (int i = 0; i < adaptive->loaded_count; ++i) fs->loaded[adaptive->loaded[i].link] = i;
    for (int i = 0; i < model->shape_count; ++i) {
        const tni_shape* shape = &model->shapes[i];
        const double     size  = tni_extent(&shape->geometry) + tni_norm(shape->p);
        if (size < HUGE_VAL) fs->extent[shape->body] = fmax(fs->extent[shape->body], size);
    }
}

tn_result tni_link_contacts_create(tni_arena* arena, tni_adaptive* adaptive)
{
    const tni_joint_trees* trees = adaptive->trees;
    tni_link_contacts*     fs    = TNI_TAKE(arena, tni_link_contacts, 1);
    if (fs == NULL) return TN_ERR_MEMORY;
    *fs = (tni_link_contacts){
        .model      = adaptive->model,
        .arena      = tni_arena_make(&adaptive->model->arena.host),
        .loaded     = TNI_TAKE(arena, int, trees->count),
        .extent     = TNI_TAKE(arena, double, adaptive->model->body_count),
        .speed      = TNI_TAKE(arena, double, trees->tree_count),
        .up         = TNI_TAKE(arena, int, trees->tree_count),
        .number     = TNI_TAKE(arena, int, trees->tree_count),
        .size       = TNI_TAKE(arena, int, trees->tree_count + 1),
        .has_points = TNI_TAKE(arena, uint8_t, trees->tree_count),
        .s          = TNI_TAKE(arena, double, trees->v_count),
        .change     = TNI_TAKE(arena, double, trees->v_count),
        .v_kept     = TNI_TAKE(arena, double, trees->v_count),
        .q          = TNI_TAKE(arena, double, trees->q_count),
        .W          = TNI_TAKE(arena, double, TNI_LINK_CONTACT_DIRECT* TNI_LINK_CONTACT_DIRECT),
        .warm_start = tni_warm_start_take(arena, adaptive->model)};
    if (arena->failed) return TN_ERR_MEMORY;
    adaptive->contacts = fs;
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

// ---- Finding -----------------------------------------------------------------------------------

static double speed_of(const tni_link_contacts* fs, const tni_view* view, int body)
{
    return tni_norm(view->v) + fs->extent[body] * tni_norm(view->w);
}

// Speed of the fastest point of each tree and of static and kinematic bodies. Returns a bound on
// closing speeds.
static double measure_speeds(const tni_adaptive* adaptive, tni_link_contacts* fs)
{
    const tn_model* model = adaptive->model;
    double          most  = 0;
    fs->outer             = 0;
    for (int t = 0; t < adaptive->trees->tree_count; ++t) fs->speed[t] = 0;
    for (int i = 0; i < model->shape_count; ++i) {
        const int    body = model->shapes[i].body, link = adaptive->trees->of_body[body];
        double*      sum = link < 0 ? &fs->outer : &fs->speed[adaptive->trees->links[link].tree];
        const double v   = speed_of(fs, &adaptive->views[body], body);
        *sum             = fmax(*sum, v);
        most             = fmax(most, v);
    }
    return 2 * most;
}

static double speed_at(const tni_adaptive* adaptive, int link)
{
    const tni_link_contacts* fs = adaptive->contacts;
    return link < 0 ? fs->outer : fs->speed[adaptive->trees->links[link].tree];
}

// Force and torque of a row on one side, about the body's centre of mass, world axes.
static tni_spatial push_of(const tn_model* model, const tni_contact* touch, const tni_view* views,
                           const tni_row* row, int side)
{
    static const tni_mat3 own = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const int             at  = side == 0 ? touch->body1 : touch->body2;
    const tni_body*       b   = &model->bodies[at];
    double                f[6];
    tni_push_row(b, &views[at], side == 0 ? touch->p1 : touch->p2, side == 0 ? &touch->F1 : &own,
                 &row->push[side], f);
    if (b->kind == TN_BODY_PLANAR)
        return (tni_spatial){tni_vec3(0, 0, f[2]), tni_vec3(f[0], f[1], 0)};
    return (tni_spatial){tni_read3(f + 3), tni_read3(f)};
}

// Adds a force in the world, about the centre of mass, to those on a link.
static void push_link(tni_adaptive* adaptive, int index, tni_spatial f)
{
    const tni_tree_link* link   = &adaptive->trees->links[index];
    const tni_mat3*      R      = &adaptive->views[link->body].R;
    const tn_vec3        v      = tni_rotate(link->attitude, tni_mul_t(R, f.v));
    const tn_vec3        w      = tni_rotate(link->attitude, tni_mul_t(R, f.w));
    tni_spatial*         sum    = &adaptive->force[index];
    tni_loaded_link*     loaded = &adaptive->loaded[adaptive->contacts->loaded[index]];
    if (!loaded->loaded) *sum = tni_spatial_zero();
    *sum           = tni_spatial_add(*sum, (tni_spatial){tni_add(w, tni_cross(link->com, v)), v});
    loaded->loaded = true;
}

// A point at the velocities of the start; force: its contact force in the last step, NULL: none.
static void begin_point(tni_adaptive* adaptive, tni_link_contact* g, const double* force)
{
    tni_row                  rows[TNI_CONTACT_ROWS];
    const tni_contact_counts n =
        tni_contact_rows(adaptive->model, &g->touch, adaptive->views, rows);
    g->gap      = rows[0].C;
    g->approach = force == NULL ? -rows[0].rate : 0;
    for (int k = 0; k < TNI_CONTACT_ROWS; ++k) g->P0[k] = 0;
    for (int k = 0; force != NULL && k <= n.slip + n.spin + n.roll; ++k) {
        const double f = force[k] + force[TNI_WARM_START_ROWS + k];
        g->P0[k]       = adaptive->h * f;
        for (int side = 0; side < 2 && f != 0; ++side) {
            if (g->link[side] < 0) continue;
            const tni_spatial p =
                push_of(adaptive->model, &g->touch, adaptive->views, &rows[k], side);
            push_link(adaptive, g->link[side], (tni_spatial){tni_scale(f, p.w), tni_scale(f, p.v)});
        }
    }
}

bool tni_link_contacts_find(tni_adaptive* adaptive)
{
    tni_link_contacts* fs    = adaptive->contacts;
    const double       h     = adaptive->h;
    const double       v0    = unexpected_speed + 10 * h * tni_norm(adaptive->model->gravity);
    const double       reach = h * (2 * measure_speeds(adaptive, fs) + v0);
    const int          found =
        tni_find_contacts(fs->finder, adaptive->views, reach, fs->found, fs->capacity);
    int known = 0;
    fs->count = 0;
    fs->full  = found > fs->capacity;
    for (int i = 0; i < found && !fs->full; ++i) {
        const tni_contact* t       = &fs->found[i];
        const int          link[2] = {adaptive->trees->of_body[t->body1],
                                      adaptive->trees->of_body[t->body2]};
        const double       near =
            h * (2 * (speed_at(adaptive, link[0]) + speed_at(adaptive, link[1])) + v0);
        if ((link[0] < 0 && link[1] < 0) || !(t->gap <= near)) continue;
        tni_link_contact* g = &fs->points[fs->count++];
        g->touch            = *t;
        g->link[0] = link[0], g->link[1] = link[1];
        begin_point(adaptive, g, tni_warm_start_find(&fs->warm_start, t->id, &known));
    }
    return !fs->full;
}

// ---- Solving -----------------------------------------------------------------------------------

static int tree_of(const tni_adaptive* adaptive, const tni_link_contact* g, int side)
{
    return g->link[side] < 0 ? -1 : adaptive->trees->links[g->link[side]].tree;
}

// Moves a tree to the middle of the step, at velocities without further impulses, and factors its
// inertias there.
static bool prepare_tree(tni_adaptive* adaptive, tni_link_contacts* fs, int tree)
{
    const tni_joint_trees* trees  = adaptive->trees;
    tni_figure*            figure = &adaptive->figures[tree];
    const int              first = trees->first[tree], last = trees->first[tree + 1];
    const bool             more = last < trees->count;
    const int              q = trees->links[first].q, v = trees->links[first].v;
    const int              q_end = more ? trees->links[last].q : trees->q_count;
    const int              v_end = more ? trees->links[last].v : trees->v_count;
    fs->up[tree]                 = tree;
    fs->size[tree]               = 0;
    memcpy(fs->q + q, adaptive->q + q, sizeof *fs->q * (size_t)(q_end - q));
    for (int i = 0; i < figure->active_count; ++i) {
        const tni_tree_link* link = &trees->links[figure->active[i]];
        fs->size[tree] += link->freedoms;
        tni_tree_link_advance(link, 0.5 * adaptive->h, adaptive->v + link->v, fs->q + link->q);
    }
    for (int k = v; k < v_end; ++k) fs->s[k] = 0;
    tni_hybrid_move(&figure->now, fs->q, adaptive->v);
    tni_figure_apply_forces(adaptive, tree, &figure->now); // for the added inertia of stiff forces
    figure->good = tni_hybrid_factor(&figure->now, trees->actuated ? adaptive->K : NULL);
    return figure->good;
}

static bool prepare_trees(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    const int count = adaptive->trees->tree_count;
    bool      good  = true;
    for (int t = 0; t < count; ++t) {
        fs->has_points[t] = 0;
        good              = good && adaptive->figures[t].good;
    }
    for (int i = 0; i < fs->count; ++i)
        for (int side = 0; side < 2; ++side)
            if (fs->points[i].link[side] >= 0)
                fs->has_points[tree_of(adaptive, &fs->points[i], side)] = 1;
    for (int t = 0; t < count; ++t)
        good = good && (!fs->has_points[t] || prepare_tree(adaptive, fs, t));
    return good;
}

// View of a link's body at the new velocities. Returns its cluster; -1: it cannot move.
static int view_link(tni_adaptive* adaptive, int link)
{
    const tni_tree_link*  l       = &adaptive->trees->links[link];
    const tni_link_place* place   = &adaptive->loaded[adaptive->contacts->loaded[link]].place;
    const tni_cluster*    cluster = &adaptive->figures[l->tree].now.clusters[place->cluster];
    const tni_transform   world   = tni_transform_then(&cluster->world, &place->to_link);
    tni_tree_link_view(adaptive->trees, link, &world,
                       tni_transform_motion(&place->to_link, cluster->v),
                       &adaptive->views[l->body]);
    return cluster->held ? -1 : place->cluster;
}

static void add_columns(tni_adaptive* adaptive, tni_link_contact* g, const int cluster[2],
                        tni_spatial force[2][TNI_CONTACT_ROWS])
{
    tni_link_contacts* fs      = adaptive->contacts;
    int*               columns = fs->columns + fs->column_count;
    double*            y       = fs->y + fs->number_count;
    g->column                  = fs->column_count;
    g->y                       = fs->number_count;
    g->count                   = 0;
    const int tree[2]          = {tree_of(adaptive, g, 0), tree_of(adaptive, g, 1)};
    if (tree[0] == tree[1]) {
        g->count = tni_hybrid_half_response(&adaptive->figures[tree[0]].now, cluster, g->rows,
                                            force, columns, y);
    } else {
        for (int side = 0; side < 2; ++side) {
            const int one[2] = {cluster[side], -1};
            if (cluster[side] < 0) continue;
            g->count +=
                tni_hybrid_half_response(&adaptive->figures[tree[side]].now, one, g->rows,
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

// Rows of a point at the new velocities. False: a capacity is too small.
static bool set_rows(tni_adaptive* adaptive, tni_link_contact* g, double* block)
{
    tni_link_contacts* fs         = adaptive->contacts;
    int                cluster[2] = {-1, -1}, room = 0;
    tni_row            rows[TNI_CONTACT_ROWS];
    tni_spatial        force[2][TNI_CONTACT_ROWS] = {0};
    for (int side = 0; side < 2; ++side) {
        if (g->link[side] < 0) continue;
        cluster[side] = view_link(adaptive, g->link[side]);
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
            const int         body = side == 0 ? g->touch.body1 : g->touch.body2;
            const tni_spatial f =
                push_of(adaptive->model, &g->touch, adaptive->views, &rows[k], side);
            const tni_cluster* c =
                &adaptive->figures[tree_of(adaptive, g, side)].now.clusters[cluster[side]];
            const tn_vec3 arm = tni_sub(adaptive->views[body].x, c->world.r);
            force[side][k]    = (tni_spatial){tni_add(f.w, tni_cross(arm, f.v)), f.v};
        }
    }
    const bool same =
        tree_of(adaptive, g, 0) == tree_of(adaptive, g, 1) && cluster[0] == cluster[1];
    if (same) cluster[0] = cluster[1] = -1;
    add_columns(adaptive, g, cluster, force);
    write_block(fs, g, block);
    double trace = 0;
    for (int k = 0; k < g->rows; ++k) trace += block[(TNI_CONTACT_ROWS + 1) * k];
    g->immovable = !(block[0] > response_min * trace) || g->count == 0;
    return true;
}

// An impact is a fast approach that makes contact within this step.
static void find_bounce(const tni_adaptive* adaptive, tni_link_contact* g)
{
    const double h     = adaptive->h;
    const double least = fmax(2 * h * tni_norm(adaptive->model->gravity), hit_speed_min);
    g->hit             = g->approach > least && g->gap < h * fmax(g->approach, -g->rate[0]);
    g->bounce          = g->hit ? g->touch.material.restitution * g->approach : 0;
}

static int root_of(const tni_link_contacts* fs, int tree)
{
    while (fs->up[tree] != tree) tree = fs->up[tree];
    return tree;
}

// Sorts points by island; fs->size[i] becomes the start of island i in the order.
static void find_islands(const tni_adaptive* adaptive, tni_link_contacts* fs)
{
    for (int i = 0; i < fs->count; ++i) {
        const tni_link_contact* g = &fs->points[i];
        if (g->link[0] < 0 || g->link[1] < 0) continue;
        const int a = root_of(fs, tree_of(adaptive, g, 0)),
                  b = root_of(fs, tree_of(adaptive, g, 1));
        if (a < b) fs->up[b] = a;
        else fs->up[a] = b;
    }
    fs->island_count = 0;
    for (int t = 0; t < adaptive->trees->tree_count; ++t)
        if (fs->has_points[t] && fs->up[t] == t) fs->number[t] = fs->island_count++;
    for (int i = 0; i <= fs->island_count; ++i) fs->size[i] = 0;
    for (int i = 0; i < fs->count; ++i) {
        tni_link_contact* g = &fs->points[i];
        g->island           = fs->number[root_of(fs, tree_of(adaptive, g, g->link[0] < 0))];
        fs->size[g->island + 1]++;
    }
    for (int i = 0; i < fs->island_count; ++i) fs->size[i + 1] += fs->size[i];
    for (int i = 0; i < fs->count; ++i) fs->order[fs->size[fs->points[i].island]++] = i;
    for (int i = fs->island_count; i > 0; --i) fs->size[i] = fs->size[i - 1];
    fs->size[0] = 0;
}

static void change_velocities(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    for (int t = 0; t < adaptive->trees->tree_count; ++t) {
        tni_figure* figure = &adaptive->figures[t];
        if (!fs->has_points[t]) continue;
        tni_hybrid_velocity_change(&figure->now, fs->s, fs->change);
        for (int i = 0; i < figure->active_count; ++i) {
            const tni_tree_link* link = &adaptive->trees->links[figure->active[i]];
            for (int k = link->v; k < link->v + link->freedoms; ++k)
                adaptive->v[k] += fs->change[k];
        }
    }
}

static void store_warm_start(tni_link_contacts* fs, double h)
{
    fs->warm_start.count = 0;
    for (int i = 0; i < fs->count; ++i) {
        const tni_link_contact* g = &fs->points[i];
        fs->hits += g->hit && g->f[0] > 0;
        if (g->immovable || g->hit || !(g->f[0] > 0)) continue;
        double* force = tni_warm_start_add(&fs->warm_start, fs->model, g->touch.id);
        for (int k = 0; force != NULL && k < g->rows; ++k) force[k] = g->f[k] / h;
    }
}

static bool is_deep(const tni_link_contacts* fs, int island)
{
    bool deep = false;
    for (int i = fs->size[island]; i < fs->size[island + 1]; ++i) {
        const tni_link_contact* g = &fs->points[fs->order[i]];
        deep                      = deep || (!g->immovable && g->gap < -tni_link_contact_slop);
    }
    return deep;
}

// Adds separation velocities if some island has deep points.
static void separate(tni_adaptive* adaptive, tni_link_contacts* fs)
{
    bool any = false;
    for (int i = 0; i < fs->island_count; ++i) any = any || is_deep(fs, i);
    if (!any) return;
    fs->normals_only = true;
    for (int i = 0; i < fs->island_count; ++i) {
        const int first = fs->size[i], count = fs->size[i + 1] - first;
        if (is_deep(fs, i)) tni_link_contacts_solve(fs, first, count, adaptive->h);
        else tni_link_contacts_clear(fs, first, count);
    }
    fs->normals_only = false;
    fs->separating   = true;
    memcpy(fs->v_kept, adaptive->v, sizeof *fs->v_kept * (size_t)adaptive->trees->v_count);
    change_velocities(adaptive, fs);
}

bool tni_link_contacts_apply(tni_adaptive* adaptive)
{
    tni_link_contacts* fs = adaptive->contacts;
    fs->complementarity   = 0;
    fs->hits              = 0;
    fs->column_count      = 0;
    fs->number_count      = 0;
    fs->separating        = false;
    if (fs->count == 0 || !prepare_trees(adaptive, fs)) {
        fs->warm_start.count = 0;
        return true;
    }
    for (int i = 0; i < fs->count; ++i) {
        tni_link_contact* g = &fs->points[i];
        if (!set_rows(adaptive, g, fs->block + TNI_CONTACT_ROWS * TNI_CONTACT_ROWS * i))
            return false;
        find_bounce(adaptive, g);
    }
    find_islands(adaptive, fs);
    for (int i = 0; i < fs->island_count; ++i)
        tni_link_contacts_solve(fs, fs->size[i], fs->size[i + 1] - fs->size[i], adaptive->h);
    change_velocities(adaptive, fs);
    store_warm_start(fs, adaptive->h);
    separate(adaptive, fs);
    return true;
}

void tni_link_contacts_finish(tni_adaptive* adaptive)
{
    const tni_link_contacts* fs = adaptive->contacts;
    if (fs->separating)
        memcpy(adaptive->v, fs->v_kept, sizeof *fs->v_kept * (size_t)adaptive->trees->v_count);
}
