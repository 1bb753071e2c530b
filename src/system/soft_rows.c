// soft_rows: springs, dampers and targets of any stiffness, implicit row by row in both halves of a Verlet step.
//
// A soft force (force/force.h) pushes along its rows with F - K (J d) - D (J u). Each has two weights, a of its
// stiffness (0: explicit, 1: of the end) and th of its damping (1/2 to 1), the same in both halves. With
// W = h/2 (a h K + th D), its impulses are
//
//     kick   p = h/2 [(1-a) F0 + a F1] - h/2 D [(1-th) J u0 + th J u+]      F1: at the end of the flight with u+
//     land   p = h/2 [F1 + 2 a (F0 - F1)] - h/2 a h K J1 u1 - h/2 D [(1-th) J1 u' + th J1 u1]
//
// both p = p0 - W J du in the change of velocity du, which is the row
//
//     J du - E mu = E p0,   E = W^-1,  mu = -p
//
// of the saddle system: as K grows it becomes the row of a joint, and landing has the matrix of the next kick.
// In the kick F1 is F0 - K h J u+ first, and what it is where the flight ends afterwards (tni_soft_correct), as joints
// are closed. W = L diag(w) L^T by elements makes rows L^T J with compliances 1/w. Forces on one body alone need
// no rows: J^T W J goes to the body's block.
//
// Scalar theory, z = (h omega)^2, y = h d/m (docs/theory/implicit-springs.md, section 1): second order for any a; A-stable for
// a >= 1/2 and in between where the rule says so; a -> 1 is L-stable.
//
//     th = (1 + y/2)/(2 + y/2),   z' = z/(1 + y/2),   a_z = z'^2/(z'^2 + 16),   a = a_z + (1 - a_z) y/(4 + 2 y)
//
// z and y are bounds over all soft rows that share a body: sums of k J M^-1 J^T. Estimates that are too large
// only damp.
//
// Across a line that is under tension (cords.h) there is the stiffness K = T/d. Where it is too stiff for the step, the
// rows of a spring get S = a h^2 K/2 as well, and distance joints and ropes get rows for it; weights by step/stiffen.c:
//
//     kick   p = .. - S J u+          land   p = .. + S (1.8 J u' - J u1)
#include "system/soft_rows.h"

#include "force/soft.h"

#include <math.h>

/// One soft force.
typedef struct element {
    tni_soft_kind kind;
    int           index;
    int           constraint, node,
        first; ///< where its rows stand: in a constraint's node, or a spring's; -1: A
    int      n, capacity;
    int      body[2], dim[2]; ///< dim 0: not pushed
    unsigned met, met_first;  ///< one-sided ends that push: at the end, at the start
    double   a, th;
    bool     stiff;               ///< an explicit step could not follow it
    bool     cut_off;             ///< it has bounds, and its row is elsewhere (bounded_rows.c)
    bool     fast;                ///< it oscillates by more than 0.7 rad in a step
    tn_vec3  line;                ///< of a spring where its rows are made; else 0
    double   across;              ///< S across the line
    double * F0, *F1, *base, *p0; ///< n each: force at the start; at the end; p0 without F1
    double * known, *drive;       ///< n each: what may bring energy (force/force.h)
    double*  J[2];                ///< n x dim
    double * K, *D, *W, *L, *w;   ///< n x n; w: n
} element;

struct tni_soft_rows {
    const tn_model* model;
    int*            rows_of; ///< by constraint
    int* place_of; ///< by spring: its constraint, or constraint_count + its node; -1: one body
    int  node_count;
    tni_soft_node* nodes;
    int            count, capacity, taken;
    element*       elements;
    double *       stiffness, *damping; ///< by body: sums over its rows, times M^-1
    double*        factor;              ///< by A node: LDL^T of M, 12 x 12 at most
    size_t*        factor_at;
    double         h, frame;
    unsigned       stamp; ///< counts kicks and landings
    tni_cords      cords;
    bool           taut;       ///< some are stiff: their rows take part
    element*       cord_rows;  ///< of distance joints and ropes, in the order of the cords
    int            cord_count; ///< number of these
    int*           cord_of;    ///< by constraint: 3 rows for its cord, or none
};

static const double look_back = 1.8; // of velocities before, across lines

// ---- Creation --------------------------------------------------------------------------------------

static bool needs_rows(const tni_joint_force* a)
{
    return !a->cut_off &&
           (a->stiffness != 0 || a->damping != 0 || (a->limit.given && !a->limit.hard));
}

static bool can_push(const tn_model* model, int body)
{
    return model->bodies[body].node >= 0;
}

// dim: of the largest body, so that an element can be any body's.
static bool take_element(tni_arena* arena, element* e, int n, int dim)
{
    const size_t rows = (size_t)n, columns = (size_t)dim;
    *e    = (element){.capacity = n};
    e->F0 = TNI_TAKE(arena, double, 6 * rows + 2 * rows * columns + 4 * rows * rows + rows);
    if (e->F0 == NULL) return false;
    e->F1    = e->F0 + rows;
    e->base  = e->F1 + rows;
    e->p0    = e->base + rows;
    e->known = e->p0 + rows;
    e->drive = e->known + rows;
    e->w     = e->drive + rows;
    e->J[0]  = e->w + rows;
    e->J[1]  = e->J[0] + rows * columns;
    e->K     = e->J[1] + rows * columns;
    e->D     = e->K + rows * rows;
    e->W     = e->D + rows * rows;
    e->L     = e->W + rows * rows;
    return true;
}

// The joint of two bodies that has rows, if there is one.
static int joint_between(const tn_model* model, const int* start, const int* list, int body1,
                         int body2)
{
    for (int k = start[body1]; k < start[body1 + 1]; ++k) {
        const tni_joint* joint = &model->joints[list[k]];
        if (joint->body1 == body2 || joint->body2 == body2) return joint->constraint;
    }
    return -1;
}

static tn_result place_springs(tni_soft_rows* s)
{
    const tn_model* model   = s->model;
    tni_arena       scratch = tni_arena_make(&model->arena.host);
    int*            start   = TNI_TAKE(&scratch, int, model->body_count + 2);
    int*            list    = TNI_TAKE(&scratch, int, 2 * (size_t)model->joint_count);
    if (scratch.failed) {
        tni_arena_free(&scratch);
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < model->joint_count; ++i)
        ++start[model->joints[i].body1 + 2], ++start[model->joints[i].body2 + 2];
    for (int i = 0; i < model->body_count; ++i) start[i + 2] += start[i + 1];
    for (int i = 0; i < model->joint_count; ++i) {
        list[start[model->joints[i].body1 + 1]++] = i;
        list[start[model->joints[i].body2 + 1]++] = i;
    }
    for (int i = 0; i < model->spring_count; ++i) {
        const tni_spring* spring = &model->springs[i];
        s->place_of[i]           = -1;
        if (!can_push(model, spring->body1) || !can_push(model, spring->body2) ||
            spring->body1 == spring->body2)
            continue;
        const int c = joint_between(model, start, list, spring->body1, spring->body2);
        if (c >= 0 && model->constraints[c].row_count > 0 &&
            model->constraints[c].row_count + s->rows_of[c] + 3 <= 32) {
            s->place_of[i] = c;
            s->rows_of[c] += 3;
        } else {
            s->place_of[i]            = model->constraint_count + s->node_count;
            s->nodes[s->node_count++] = (tni_soft_node){{spring->body1, spring->body2}};
        }
    }
    tni_arena_free(&scratch);
    return TN_OK;
}

static tn_result take_cords(tni_arena* arena, tni_soft_rows* s)
{
    const tn_model* model = s->model;
    if (tni_cords_create(arena, model, &s->cords) != TN_OK) return TN_ERR_MEMORY;
    s->cord_of   = TNI_TAKE(arena, int, model->constraint_count);
    s->cord_rows = TNI_TAKE(arena, element, s->cords.count);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < s->cords.count; ++i) {
        const tni_cord* cord = &s->cords.at[i];
        if (cord->joint < 0 || cord->dim[0] + cord->dim[1] == 0) continue;
        element* e = &s->cord_rows[s->cord_count++];
        if (!take_element(arena, e, 3, 0)) return TN_ERR_MEMORY;
        e->kind       = TNI_SOFT_JOINT;
        e->index      = i;
        e->constraint = model->joints[cord->joint].constraint;
        e->node       = -1;
        e->n          = 3;
        for (int side = 0; side < 2; ++side) {
            e->body[side] = cord->body[side];
            e->dim[side]  = cord->dim[side];
            e->J[side]    = cord->J[side];
        }
        s->cord_of[e->constraint] = 3;
    }
    return TN_OK;
}

tn_result tni_soft_rows_create(tni_arena* arena, const tn_model* model, tni_soft_rows** out)
{
    tni_soft_rows* s = TNI_TAKE(arena, tni_soft_rows, 1);
    if (s == NULL) return TN_ERR_MEMORY;
    *out          = s;
    s->model      = model;
    s->rows_of    = TNI_TAKE(arena, int, model->constraint_count);
    s->place_of   = TNI_TAKE(arena, int, model->spring_count);
    s->nodes      = TNI_TAKE(arena, tni_soft_node, model->spring_count);
    s->stiffness  = TNI_TAKE(arena, double, model->body_count);
    s->damping    = TNI_TAKE(arena, double, model->body_count);
    s->factor_at  = TNI_TAKE(arena, size_t, model->free_count);
    int    affine = 0, dim = 0;
    size_t numbers = 0;
    for (int i = 0; i < model->free_count && !arena->failed; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        affine += body->kind == TN_BODY_AFFINE;
        if (body->dim > dim) dim = body->dim;
        s->factor_at[i] = numbers;
        numbers += (size_t)(body->dim * body->dim);
    }
    s->factor   = TNI_TAKE(arena, double, numbers);
    s->capacity = model->actuation_count + model->spring_count + model->target_count +
                  TN_HANDLES_MAX + model->drag_count + affine;
    s->elements = TNI_TAKE(arena, element, s->capacity);
    if (arena->failed) return TN_ERR_MEMORY;
    for (int i = 0; i < model->actuation_count; ++i) {
        const tni_joint* joint = &model->joints[model->actuations[i].joint];
        if (needs_rows(&model->actuations[i]))
            s->rows_of[joint->constraint] += joint->coordinate_count;
    }
    for (int i = 0; i < s->capacity; ++i) {
        const bool joint = i < model->actuation_count; // all of them, in order; others may be fewer
        if (!take_element(arena, &s->elements[i], joint ? TNI_COORDINATES_MAX : TNI_SOFT_ROWS_MAX,
                          dim))
            return TN_ERR_MEMORY;
    }
    TRY(take_cords(arena, s));
    return place_springs(s);
}

int tni_soft_rows_of(const tni_soft_rows* s, int constraint)
{
    return s->rows_of[constraint] + (s->taut ? s->cord_of[constraint] : 0);
}

int tni_soft_node_count(const tni_soft_rows* s)
{
    return s->node_count;
}

tni_soft_node tni_soft_node_at(const tni_soft_rows* s, int i)
{
    return s->nodes[i];
}

// ---- Taking forces ---------------------------------------------------------------------------------

// Of a spring only what is along it: its tension across it swings like a pendulum, and is not to be damped.
static void keep_along(element* e)
{
    const double v[3] = {e->line.x, e->line.y, e->line.z};
    double       k    = 0;
    for (int i = 0; i < 9; ++i) k += v[i / 3] * v[i % 3] * e->K[i / 3 * e->n + i % 3];
    for (int i = 0; i < 9; ++i) e->K[i / 3 * e->n + i % 3] = k * v[i / 3] * v[i % 3];
}

static void keep_rows(tni_soft_rows* s, element* e, const tni_soft* soft)
{
    const tn_model* model = s->model;
    e->kind               = soft->kind;
    e->index              = soft->index;
    e->n                  = soft->row_count;
    e->line               = soft->line;
    e->constraint = e->node = -1;
    e->cut_off              = false;
    for (int side = 0; side < 2; ++side) {
        const int  body = soft->body[side];
        const bool used =
            body >= 0 && can_push(model, body) && !(side == 0 && soft->kind == TNI_SOFT_BODY);
        e->body[side] = body;
        e->dim[side]  = used ? model->bodies[body].dim : 0;
        for (int i = 0; used && i < e->n * e->dim[side]; ++i) e->J[side][i] = soft->J[side][i];
    }
    for (int i = 0; i < e->n * e->n; ++i) e->K[i] = soft->K[i], e->D[i] = soft->D[i];
    if (tni_dot(e->line, e->line) > 0) keep_along(e);
    if (soft->kind == TNI_SOFT_JOINT && (e->dim[0] > 0 || e->dim[1] > 0)) {
        const int actuation = (int)(e - s->elements);
        e->cut_off          = model->actuations[actuation].cut_off;
        if (needs_rows(&model->actuations[actuation])) // else a constant force
            e->constraint = model->joints[soft->index].constraint;
    } else if (soft->kind == TNI_SOFT_SPRING) {
        const int at = s->place_of[soft->index];
        if (at >= model->constraint_count) e->node = at - model->constraint_count;
        else e->constraint = at;
    }
}

// A force along a spring that has turned, along the line it had: rows stand for its length.
static void turn_line(tn_vec3 from, tn_vec3 to, double* f)
{
    if (tni_dot(from, from) == 0 || tni_dot(to, to) == 0) return;
    const double along = tni_dot(from, tni_read3(f));
    tni_write3(f, tni_add_scaled(tni_add_scaled(tni_read3(f), -along, from), along, to));
}

// Forces come in the same order in every pass.
static element* next_element(tni_soft_rows* s, const tni_soft* soft)
{
    (void)soft; // without asserts
    TN_ASSERT(s->taken < s->capacity && soft->row_count <= s->elements[s->taken].capacity);
    return &s->elements[s->taken++];
}

static void take_first(void* user, const tni_soft* soft)
{
    tni_soft_rows* s = user;
    element*       e = next_element(s, soft);
    for (int i = 0; i < soft->row_count; ++i) e->F0[i] = soft->f[i];
    e->met_first = soft->active_limits;
}

static void take_ahead(void* user, const tni_soft* soft)
{
    tni_soft_rows* s = user;
    element*       e = next_element(s, soft);
    keep_rows(s, e, soft);
    for (int i = 0; i < e->n; ++i)
        e->F1[i] = soft->f[i], e->known[i] = soft->known[i], e->drive[i] = soft->drive[i];
    e->met = soft->active_limits;
}

static void take_landing(void* user, const tni_soft* soft)
{
    tni_soft_rows* s    = user;
    element*       e    = next_element(s, soft);
    const tn_vec3  line = e->line;
    keep_rows(s, e, soft);
    if (e->n >= 3) turn_line(line, e->line, e->F0);
    for (int i = 0; i < e->n; ++i) {
        if (soft->active_limits != e->met_first)
            e->F0[i] = soft->f[i]; // an end was met or left on the way: no look back
        e->F1[i] = soft->f[i];
    }
    e->met = soft->active_limits;
}

static void pass(tni_soft_rows* s, const tni_scene_view* at, double h, const double* u,
                 tni_take_soft* take)
{
    const tni_prediction ahead = {.h = h, .time = at->time + h, .u = u};
    s->taken                   = 0;
    tni_soften(at, &ahead, take, s);
    s->count = s->taken;
}

// ---- How stiff -------------------------------------------------------------------------------------

static void clear_masses(tni_soft_rows* s)
{
    for (int i = 0; i < s->model->body_count; ++i) s->stiffness[i] = s->damping[i] = -1;
}

static const double* factor_of(tni_soft_rows* s, const tni_view* views, int body)
{
    const tni_body* b = &s->model->bodies[body];
    double*         M = s->factor + s->factor_at[b->node];
    if (s->stiffness[body] < 0) {
        s->stiffness[body] = s->damping[body] = 0;
        tni_mass_block(b, &views[body], M);
        (void)tni_block_factor(b->dim, M);
    }
    return M;
}

// Adds what an element does to its bodies: the stiffest of its rows, each by itself.
static void weigh(tni_soft_rows* s, const tni_view* views, const element* e)
{
    for (int side = 0; side < 2; ++side) {
        const int dim = e->dim[side];
        double    k = 0, d = 0, x[TNI_DIM_MAX];
        if (dim == 0) continue;
        const double* M = factor_of(s, views, e->body[side]);
        for (int i = 0; i < e->n; ++i) {
            const double* J = e->J[side] + i * dim;
            double        w = 0;
            memcpy(x, J, sizeof *x * (size_t)dim);
            tni_block_solve(dim, M, x);
            for (int c = 0; c < dim; ++c) w += J[c] * x[c];
            k = fmax(k, e->K[i * e->n + i] * w);
            d = fmax(d, e->D[i * e->n + i] * w);
        }
        s->stiffness[e->body[side]] += k;
        s->damping[e->body[side]] += d;
    }
}

static void set_weights(tni_soft_rows* s, element* e)
{
    double z = 0, y = 0;
    for (int side = 0; side < 2; ++side) {
        if (e->dim[side] == 0) continue;
        z += s->frame * s->frame * s->stiffness[e->body[side]];
        y += s->frame * s->damping[e->body[side]];
    }
    const double reduced = z / (1 + 0.5 * y), stiff = reduced * reduced / (reduced * reduced + 16);
    e->th = y < 1e30 ? (1 + 0.5 * y) / (2 + 0.5 * y) : 1;
    e->a  = stiff + (1 - stiff) * y / (4 + 2 * y);
    if (!(reduced < 1e30)) e->a = 1;
    e->fast  = !(reduced <= 0.5);
    e->stiff = !(reduced <= 4 && y <= 2); // limit of Verlet's method: h omega = 2; NaN is stiff
}

// W = L diag(w) L^T, rows without stiffness left out.
static void factor_element(const tni_soft_rows* s, element* e)
{
    const int    n    = e->n;
    const double v[3] = {e->line.x, e->line.y, e->line.z};
    double       top  = 0;
    for (int i = 0; i < n * n; ++i)
        e->W[i] = 0.5 * s->h * (e->a * s->h * e->K[i] + e->th * e->D[i]);
    for (int i = 0; i < 9 && e->across > 0; ++i)
        e->W[i / 3 * n + i % 3] += e->across * ((i % 4 == 0) - v[i / 3] * v[i % 3]);
    for (int i = 0; i < n; ++i) top = fmax(top, e->W[i * (n + 1)]);
    for (int i = 0; i < n * n; ++i) e->L[i] = 0;
    for (int j = 0; j < n; ++j) {
        double pivot = e->W[j * (n + 1)];
        for (int k = 0; k < j; ++k) pivot -= e->L[j * n + k] * e->L[j * n + k] * e->w[k];
        e->w[j]           = pivot > 1e-13 * top ? pivot : 0;
        e->L[j * (n + 1)] = 1;
        for (int i = j + 1; i < n; ++i) {
            double sum = e->W[i * n + j];
            for (int k = 0; k < j; ++k) sum -= e->L[i * n + k] * e->L[j * n + k] * e->w[k];
            e->L[i * n + j] = e->w[j] > 0 ? sum / e->w[j] : 0;
        }
    }
}

// ---- The two halves --------------------------------------------------------------------------------

static void rates(const tni_soft_rows* s, const element* e, const double* u, double* out)
{
    for (int i = 0; i < e->n; ++i) {
        out[i] = 0;
        for (int side = 0; side < 2; ++side) {
            if (e->dim[side] > 0)
                out[i] += tni_row_dot(e->J[side] + i * e->dim[side],
                                      u + s->model->bodies[e->body[side]].u_start, e->dim[side]);
        }
    }
}

static void multiply(const double* A, const double* x, int n, double* out)
{
    for (int i = 0; i < n; ++i) out[i] = tni_row_dot(A + i * n, x, n);
}

// base = force - W J u - h/2 (1 - th) D J u
static void set_base(const tni_soft_rows* s, element* e, const double* u, const double* force)
{
    double Ju[TNI_SOFT_ROWS_MAX], WJu[TNI_SOFT_ROWS_MAX], DJu[TNI_SOFT_ROWS_MAX];
    rates(s, e, u, Ju);
    multiply(e->W, Ju, e->n, WJu);
    multiply(e->D, Ju, e->n, DJu);
    for (int i = 0; i < e->n; ++i)
        e->base[i] = force[i] - WJu[i] - 0.5 * s->h * (1 - e->th) * DJu[i];
}

void tni_soft_kick(tni_soft_rows* s, const tni_scene_view* at, double h, double frame,
                   const double* u, const double* ahead)
{
    tni_scene_view forces = *at;
    forces.forces_only    = true;
    s->h                  = h;
    s->frame              = frame;
    ++s->stamp;
    s->taut = false;
    for (int i = 0; i < s->capacity; ++i) s->elements[i].across = 0;
    pass(s, &forces, 0, u, take_first);
    pass(s, at, h, ahead, take_ahead);
    clear_masses(s);
    for (int i = 0; i < s->count; ++i) weigh(s, at->views, &s->elements[i]);
    for (int i = 0; i < s->count; ++i) {
        element* e = &s->elements[i];
        double   force[TNI_SOFT_ROWS_MAX];
        set_weights(s, e);
        factor_element(s, e);
        for (int k = 0; k < e->n; ++k) force[k] = 0.5 * h * (1 - e->a) * e->F0[k];
        set_base(s, e, u, force);
        for (int k = 0; k < e->n; ++k) e->p0[k] = e->base[k] + 0.5 * h * e->a * e->F1[k];
    }
}

// ---- Across lines under tension --------------------------------------------------------------------

// p += S (1 - n n^T) (by J u + rest drift)
static void add_across(const tni_soft_rows* s, const element* e, const tni_cord* cord, double by,
                       double rest, const double* u, double* p)
{
    double x[TNI_SOFT_ROWS_MAX];
    rates(s, e, u, x);
    x[0] = by * x[0] + rest * cord->drift.x;
    x[1] = by * x[1] + rest * cord->drift.y;
    x[2] = by * x[2] + rest * cord->drift.z;
    tni_across(e->line, x);
    for (int i = 0; i < 3; ++i) p[i] += e->across * x[i];
}

static tni_cord* cord_of_spring(const tni_soft_rows* s, const element* e)
{
    if (tni_dot(e->line, e->line) == 0) return NULL; // other forces have no line
    return &s->cords.at[s->cords.of_spring[e->index]];
}

tni_cords* tni_soft_cords(tni_soft_rows* s)
{
    return &s->cords;
}

bool tni_soft_is_taut(const tni_soft_rows* s)
{
    return s->taut;
}

void tni_soft_taut(tni_soft_rows* s, const double* u)
{
    s->taut = true;
    for (int i = 0; i < s->cord_count; ++i) {
        element*        e    = &s->cord_rows[i];
        const tni_cord* cord = &s->cords.at[e->index];
        e->across            = cord->S;
        e->stiff             = cord->S > 0;
        e->line              = cord->line;
        factor_element(s, e);
        for (int k = 0; k < 3; ++k) e->p0[k] = 0;
        add_across(s, e, cord, -1, -1, u, e->p0);
    }
    for (int i = 0; i < s->count; ++i) {
        element*        e    = &s->elements[i];
        const tni_cord* cord = cord_of_spring(s, e);
        if (cord == NULL || !(cord->S > 0)) continue;
        e->across = cord->S;
        e->stiff  = true;
        factor_element(s, e);
        add_across(s, e, cord, -1, -1, u, e->base);
        add_across(s, e, cord, -1, -1, u, e->p0);
    }
}

static void land_cords(tni_soft_rows* s, const tni_scene_view* at, const double* u)
{
    for (int i = 0; i < s->cords.count; ++i)
        if (s->cords.at[i].S > 0) tni_cord_turn(&s->cords, &s->cords.at[i], at->views);
    for (int i = 0; i < s->cord_count; ++i) {
        element*        e    = &s->cord_rows[i];
        const tni_cord* cord = &s->cords.at[e->index];
        e->line              = cord->line;
        factor_element(s, e);
        for (int k = 0; k < 3; ++k) e->p0[k] = 0;
        add_across(s, e, cord, look_back - 1, look_back - 1, u, e->p0);
    }
    for (int i = 0; i < s->count; ++i) {
        element*        e    = &s->elements[i];
        const tni_cord* cord = e->across > 0 ? cord_of_spring(s, e) : NULL;
        if (cord != NULL) add_across(s, e, cord, look_back, look_back - 1, u, e->p0);
    }
}

// Rows of forces, then those of cords.
static int row_element_count(const tni_soft_rows* s)
{
    return s->count + (s->taut ? s->cord_count : 0);
}

static element* row_element(const tni_soft_rows* s, int i)
{
    return i < s->count ? &s->elements[i] : &s->cord_rows[i - s->count];
}

// ---- After the flight ------------------------------------------------------------------------------

typedef struct correcting {
    tni_soft_rows* s;
    const double*  u;
    bool           met;
    double         change;
} correcting;

static void take_end(void* user, const tni_soft* soft)
{
    correcting*    c = user;
    tni_soft_rows* s = c->s;
    element*       e = next_element(s, soft);
    double         Ju[TNI_SOFT_ROWS_MAX], KJu[TNI_SOFT_ROWS_MAX], f[TNI_SOFT_ROWS_MAX];
    if (e->n != soft->row_count) return;
    for (int i = 0; i < e->n; ++i) f[i] = soft->f[i];
    if (e->n >= 3) turn_line(soft->line, e->line, f);
    c->met = c->met || soft->active_limits != e->met;
    rates(s, e, c->u, Ju);
    multiply(e->K, Ju, e->n, KJu);
    for (int i = 0; i < e->n; ++i) {
        const double p = e->base[i] + 0.5 * s->h * e->a * (f[i] + s->h * KJu[i]);
        const double W = e->W[i * (e->n + 1)];
        if (W > 0) c->change = fmax(c->change, s->h * fabs(p - e->p0[i]) * fmin(1 / W, 1e3));
        e->p0[i] = p;
    }
}

double tni_soft_correct(tni_soft_rows* s, const tni_scene_view* at, const double* u, bool* met)
{
    correcting           c      = {s, u, false, 0};
    const tni_prediction ahead  = {.h = 0, .time = at->time, .u = u};
    tni_scene_view       forces = *at;
    forces.forces_only          = true;
    s->taken                    = 0;
    tni_soften(&forces, &ahead, take_end, &c);
    *met = c.met;
    return c.change;
}

void tni_soft_land(tni_soft_rows* s, const tni_scene_view* at, const double* u)
{
    ++s->stamp;
    pass(s, at, 0, u, take_landing);
    for (int i = 0; i < s->count; ++i) {
        element* e = &s->elements[i];
        double   force[TNI_SOFT_ROWS_MAX];
        factor_element(s, e);
        for (int k = 0; k < e->n; ++k)
            force[k] = 0.5 * s->h * (e->F1[k] + 2 * e->a * (e->F0[k] - e->F1[k]));
        set_base(s, e, u, force);
        for (int k = 0; k < e->n; ++k) e->p0[k] = e->base[k];
    }
    if (s->taut) land_cords(s, at, u);
}

double tni_soft_work(const tni_soft_rows* s, const double* u0, const double* u1)
{
    double sum = 0;
    for (int i = 0; i < s->count; ++i) {
        const element* e = &s->elements[i];
        double before[TNI_SOFT_ROWS_MAX], after[TNI_SOFT_ROWS_MAX], turned[TNI_SOFT_ROWS_MAX];
        bool   any = false;
        for (int k = 0; k < e->n; ++k) any = any || e->known[k] != 0 || e->drive[k] != 0;
        if (!any) continue;
        rates(s, e, u0, before);
        rates(s, e, u1, after);
        for (int k = 0; k < e->n; ++k) turned[k] = after[k] - before[k];
        for (int k = 0; k < e->n; ++k) {
            const double p = e->p0[k] - tni_row_dot(e->W + k * e->n, turned, e->n);
            sum += 0.25 * s->h * e->drive[k] * (before[k] + after[k]) - p * e->known[k] / s->h;
        }
    }
    return sum;
}

double tni_soft_fast_energy(const tni_soft_rows* s)
{
    double sum = 0;
    for (int i = 0; i < s->count; ++i) {
        const element* e = &s->elements[i];
        for (int k = 0; k < e->n && e->fast; ++k) {
            const double K = e->K[k * (e->n + 1)];
            if (K > 0) sum += 0.5 * fmax(e->F0[k] * e->F0[k], e->F1[k] * e->F1[k]) / K;
        }
    }
    return sum;
}

int tni_soft_count(const tni_soft_rows* s)
{
    return s->count;
}

unsigned tni_soft_stamp(const tni_soft_rows* s)
{
    return s->stamp;
}

int tni_soft_stiff_count(const tni_soft_rows* s)
{
    int count = 0;
    for (int i = 0; i < row_element_count(s); ++i) {
        const element* e = row_element(s, i);
        for (int r = 0; r < e->n && e->stiff; ++r) count += e->w[r] > 0;
    }
    return count;
}

// ---- Rows ------------------------------------------------------------------------------------------

static bool has_rows(const element* e)
{
    return e->constraint >= 0 || e->node >= 0;
}

// The plan's node of an element, its first edge, and the edge to a side.
static int plan_node(const tni_soft_rows* s, const element* e)
{
    const tn_model* model = s->model;
    return e->constraint >= 0 ? model->free_count + e->constraint
                              : model->free_count + model->constraint_count + e->node;
}

static double* block_of(const tni_soft_rows* s, tni_saddle* saddle, const element* e, int side)
{
    const tn_model* model = s->model;
    int             edge  = model->edge_count + 2 * e->node;
    if (e->constraint >= 0) edge = model->constraints[e->constraint].edge_start;
    while (saddle->plan->col_node[edge] != model->bodies[e->body[side]].node) ++edge;
    return tni_saddle_j(saddle, edge);
}

// Rows of a constraint's elements follow each other in the order of the elements.
static void set_places(tni_soft_rows* s)
{
    for (int i = 0; i < s->count; ++i) {
        const element* e = &s->elements[i];
        if (e->constraint >= 0) s->elements[i].first = -1;
        else s->elements[i].first = 0;
    }
    for (int i = 0; i < s->cord_count; ++i) {
        const int c           = s->cord_rows[i].constraint;
        s->cord_rows[i].first = s->model->constraints[c].row_count + s->rows_of[c];
    }
    for (int i = 0; i < s->count; ++i) {
        element* e = &s->elements[i];
        if (e->constraint < 0) continue;
        e->first = s->model->constraints[e->constraint].row_count;
        if (e->kind != TNI_SOFT_SPRING) continue;
        // Those of the joint come before its springs, and springs in order: count back from the end.
        e->first += s->rows_of[e->constraint] - 3;
        for (int k = i + 1; k < s->count && s->elements[k].kind == TNI_SOFT_SPRING; ++k)
            if (s->elements[k].constraint == e->constraint) e->first -= 3;
    }
}

static void add_to_body(const tn_model* model, tni_saddle* saddle, const element* e)
{
    const int     dim = e->dim[1], n = e->n;
    double*       A = tni_saddle_a(saddle, model->bodies[e->body[1]].node);
    const double* J = e->J[1];
    for (int k = 0; k < n; ++k) {
        double WJ[TNI_DIM_MAX] = {0};
        for (int l = 0; l < n; ++l)
            for (int j = 0; j < dim; ++j) WJ[j] += e->W[k * n + l] * J[l * dim + j];
        for (int i = 0; i < dim; ++i)
            for (int j = 0; j < dim; ++j) A[i * dim + j] += J[k * dim + i] * WJ[j];
    }
}

// Row i of L^T J over one side.
static void row_of(const element* e, int i, int side, double* row)
{
    const int dim = e->dim[side];
    for (int k = 0; k < dim; ++k) row[k] = 0;
    for (int r = i; r < e->n; ++r)
        for (int k = 0; k < dim; ++k) row[k] += e->L[r * e->n + i] * e->J[side][r * dim + k];
}

// Rows of E = 1 and J = 0: nothing.
static void empty_rows(tni_saddle* saddle, int node, int first_edge, int edges, int from, int count)
{
    const tni_plan* plan = saddle->plan;
    const int       dim  = plan->dim[node];
    double*         E    = tni_saddle_e(saddle, node);
    for (int i = from; i < from + count; ++i) E[i * (dim + 1)] = 1;
    for (int edge = first_edge; edge < first_edge + edges; ++edge) {
        const int columns = plan->dim[plan->col_node[edge]];
        memset(tni_saddle_j(saddle, edge) + from * columns, 0,
               sizeof(double) * (size_t)(count * columns));
    }
}

void tni_soft_leave_out(const tni_soft_rows* s, tni_saddle* saddle)
{
    const tn_model* model = s->model;
    for (int c = 0; c < model->constraint_count; ++c) {
        const int             node = model->free_count + c;
        const tni_constraint* of   = &model->constraints[c];
        const int             rows = tni_soft_rows_of(s, c);
        if (rows > 0 && saddle->plan->dim[node] > 0)
            empty_rows(saddle, node, of->edge_start, of->edge_count, of->row_count, rows);
    }
    for (int i = 0; i < s->node_count; ++i)
        empty_rows(saddle, model->free_count + model->constraint_count + i,
                   model->edge_count + 2 * i, 2, 0, TNI_SOFT_NODE_ROWS);
}

void tni_soft_write(tni_soft_rows* s, tni_saddle* saddle)
{
    const tn_model* model = s->model;
    set_places(s);
    tni_soft_leave_out(s, saddle);
    for (int i = 0; i < row_element_count(s); ++i) {
        const element* e = row_element(s, i);
        if (e->kind == TNI_SOFT_BODY && e->dim[1] > 0) add_to_body(model, saddle, e);
        if (!has_rows(e)) continue;
        const int node = plan_node(s, e), dim = saddle->plan->dim[node];
        double*   E = tni_saddle_e(saddle, node);
        for (int r = 0; r < e->n; ++r) {
            E[(e->first + r) * (dim + 1)] = e->w[r] > 0 ? 1 / e->w[r] : 1;
            for (int side = 0; side < 2; ++side) {
                if (e->dim[side] == 0) continue;
                double* row = block_of(s, saddle, e, side) + (e->first + r) * e->dim[side];
                if (e->w[r] > 0) row_of(e, r, side, row);
                else memset(row, 0, sizeof *row * (size_t)e->dim[side]);
            }
        }
    }
}

static void push(const tni_soft_rows* s, const element* e, int side, const double* row, double p,
                 double* b)
{
    double* to = b + s->model->bodies[e->body[side]].u_start;
    for (int k = 0; k < e->dim[side]; ++k) to[k] += p * row[k];
}

void tni_soft_first_row(const tni_soft_rows* s, int actuation, double* compliance, double* c)
{
    static const double least = 1e-12; // a constant force, nearly
    const element*      e     = &s->elements[actuation];
    *compliance               = 1 / fmax(e->W[0], least);
    *c                        = -*compliance * e->p0[0];
}

void tni_soft_rhs(const tni_soft_rows* s, const tni_saddle* saddle, double* rhs)
{
    for (int i = 0; i < row_element_count(s); ++i) {
        const element* e = row_element(s, i);
        double         p[TNI_SOFT_ROWS_MAX], row[TNI_DIM_MAX];
        if (e->cut_off) continue;
        if (!has_rows(e)) {
            for (int side = 0; side < 2; ++side)
                for (int r = 0; r < e->n && e->dim[side] > 0; ++r)
                    push(s, e, side, e->J[side] + r * e->dim[side], e->p0[r], rhs);
            continue;
        }
        double* r_of = rhs + saddle->plan->row_start[plan_node(s, e)] + e->first;
        for (int r = 0; r < e->n; ++r) { // L^-1 p0
            p[r] = e->p0[r];
            for (int k = 0; k < r; ++k) p[r] -= e->L[r * e->n + k] * p[k];
        }
        for (int r = 0; r < e->n; ++r) {
            r_of[r] = e->w[r] > 0 ? p[r] / e->w[r] : 0;
            for (int side = 0; side < 2 && !(e->w[r] > 0); ++side) {
                if (e->dim[side] == 0) continue;
                row_of(e, r, side, row);
                push(s, e, side, row, p[r], rhs);
            }
        }
    }
}
