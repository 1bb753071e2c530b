// gauss_seidel: many contacts with W as an operator; block Gauss-Seidel and Newton's method.
//
//     W = J H^-1 J^T = Y^T S Y,    Y = |D|^-1/2 L^-1 J^T,   S = sign D,   H = L D L^T
//
// Y_i of a contact is nonzero on the elimination-tree paths from its nodes to the root only. With s
// = S Y f kept up to date, the velocity at contact i is Y_i^T s + b_i: reading it and changing f_i
// cost the length of its path, independent of the number of contacts and nodes. That makes sweeps
// (block Gauss-Seidel, [1, section 7]) cheap, but stacks need very many. Newton's method of
// friction_cone.c is formulated on components instead: the part of contact i in component c is
// R_c,i, with
//
//     W = sum over components c of R_c^T R_c
//
// For a component of one node R_c is Y_c; for others it is the pivoted Cholesky factor of the part
// of W that goes through c, with as many rows as the contacts there have rank. The step of
// friction_cone.c, (E - C (E - rho W) + delta) step = -F, is, with v = R step,
//
//     step_i = -(h_i + K_i sum_c R_c,i^T v_c)     h_i = (E - C_i + delta)^-1 F_i
//     (E + R K R^T) v = -R h                      K_i = (E - C_i + delta)^-1 C_i rho
//
// a sparse system between components in contact (block_lu.c), six rows for each free body: its size
// does not depend on the number of contacts between two of them. Islands for which it is too
// expensive, by a count of flops, are swept only, with Anderson acceleration (friction_cone.c).
// [1] R. Tomcin, D. Sibbing, L. Kobbelt, Efficient enforcement of hard articulation constraints in
// the presence of closed loops and contacts, Eurographics 2014.
#include "linalg/gauss_seidel_parts.h"

#include "linalg/dense.h"

#include <math.h>

enum { ROWS = TNI_CONE_POINT_ROWS, LINKS = 2 };
enum { COMPONENT_ROWS = 240 };         // contacts' rows at a component, limit for Newton
static const double FLOPS_MAX = 1e8;   // of a Newton step
static const double DELTA_MIN = 1e-9;  // for smaller delta, K is too large relative to E
static const double RANK      = 1e-13; // relative to the largest pivot: a row of R that is rounding
static const double RANK_LOOP = 1e-6;  // the same through a loop, see saddle.c

tn_result tni_gauss_seidel_create(tni_arena* arena, const tni_plan* plan, int rows, size_t numbers,
                                  tni_gauss_seidel* sweep)
{
    const int links  = LINKS * rows;
    const int nodes  = plan->component_count < links ? plan->component_count : links;
    *sweep           = (tni_gauss_seidel){.plan          = plan,
                                          .row_capacity  = rows,
                                          .link_capacity = links,
                                          .groups        = TNI_TAKE(arena, tni_row_group, rows),
                                          .links         = TNI_TAKE(arena, tni_row_group_link, links),
                                          .blocks        = TNI_TAKE(arena, double, ROWS* rows),
                                          .node_dim      = TNI_TAKE(arena, int, plan->component_count),
                                          .layer         = TNI_TAKE(arena, int, plan->component_count),
                                          .node_of       = TNI_TAKE(arena, int, plan->component_count),
                                          .s             = TNI_TAKE(arena, double, plan->row_count),
                                          .K             = TNI_TAKE(arena, double, ROWS* rows),
                                          .h             = TNI_TAKE(arena, double, rows),
                                          .v             = TNI_TAKE(arena, double, plan->row_count)};
    tn_result result = tni_half_solves_create(arena, (int)(numbers / 2), numbers, &sweep->paths);
    if (result == TN_OK) result = tni_cone_create_operator(arena, rows, &sweep->cone);
    if (result == TN_OK)
        result = tni_block_lu_create(arena, nodes, plan->row_count, numbers, &sweep->system);
    return arena->failed ? TN_ERR_MEMORY : result;
}

void tni_gauss_seidel_clear(tni_gauss_seidel* sweep, tni_ldl* ldl)
{
    sweep->ldl         = ldl;
    sweep->group_count = sweep->row_count = sweep->closed = 0;
    sweep->link_count = sweep->node_count = 0;
    tni_half_solves_clear(&sweep->paths);
}

double* tni_gauss_seidel_block(const tni_gauss_seidel* sweep, int group)
{
    return sweep->blocks + ROWS * sweep->groups[group].row;
}

// ---- Paths --------------------------------------------------------------------------------------

static const tni_pivot* pivot_of(const tni_gauss_seidel* sweep, int k)
{
    return &sweep->plan->pivot[sweep->paths.places[k]];
}

// Multiplies the path by |D|^-1/2.
static void scale_path(const tni_gauss_seidel* sweep, const tni_half_solve* half)
{
    double* y = sweep->paths.numbers + half->at;
    for (int k = half->first; k < half->first + half->count; ++k) {
        int           step;
        const double* reciprocal = tni_ldl_reciprocals(sweep->ldl, sweep->paths.places[k], &step);
        for (int r = 0; r < pivot_of(sweep, k)->dim; ++r) {
            const double root = sqrt(fabs(reciprocal[step * r]));
            for (int c = 0; c < half->columns; ++c) *y++ *= root;
        }
    }
}

// out[c] += y_c^T s over positions first .. first + count - 1, whose numbers begin at y.
static void read_places(const tni_gauss_seidel* sweep, int first, int count, const double* y,
                        int columns, double* out)
{
    for (int k = first; k < first + count; ++k) {
        const tni_pivot* v  = pivot_of(sweep, k);
        const double*    at = sweep->s + v->row;
        for (int r = 0; r < v->dim; ++r, y += columns)
            for (int c = 0; c < columns; ++c) out[c] += y[c] * at[r];
    }
}

void tni_gauss_seidel_write_places(const tni_gauss_seidel* sweep, int first, int count,
                                   const double* y, int columns, const double* df)
{
    for (int k = first; k < first + count; ++k) {
        const tni_pivot* v  = pivot_of(sweep, k);
        double*          at = sweep->s + v->row;
        for (int r = 0; r < v->dim; ++r, y += columns) {
            double sum = 0;
            for (int c = 0; c < columns; ++c) sum += y[c] * df[c];
            at[r] += v->sign > 0 ? sum : -sum;
        }
    }
}

static void clear_places(const tni_gauss_seidel* sweep, int first, int count)
{
    for (int k = first; k < first + count; ++k) {
        const tni_pivot* v = pivot_of(sweep, k);
        memset(sweep->s + v->row, 0, sizeof *sweep->s * (size_t)v->dim);
    }
}

void tni_gauss_seidel_read_path(const tni_gauss_seidel* sweep, const tni_half_solve* half,
                                double* out)
{
    read_places(sweep, half->first, half->count, sweep->paths.numbers + half->at, half->columns,
                out);
}

static void write_path(const tni_gauss_seidel* sweep, const tni_half_solve* half, const double* df)
{
    tni_gauss_seidel_write_places(sweep, half->first, half->count, sweep->paths.numbers + half->at,
                                  half->columns, df);
}

void tni_gauss_seidel_add_block(const tni_gauss_seidel* sweep, int first, int count,
                                const double* y, int n, double* B)
{
    for (int k = first; k < first + count; ++k) {
        const tni_pivot* v = pivot_of(sweep, k);
        for (int r = 0; r < v->dim; ++r, y += n)
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < n; ++j) B[ROWS * i + j] += (v->sign > 0 ? y[i] : -y[i]) * y[j];
    }
}

static void set_block(const tni_gauss_seidel* sweep, const tni_half_solve* half, double* B)
{
    for (int i = 0; i < ROWS * half->columns; ++i) B[i] = 0;
    tni_gauss_seidel_add_block(sweep, half->first, half->count, sweep->paths.numbers + half->at,
                               half->columns, B);
}

bool tni_gauss_seidel_add(tni_gauss_seidel* sweep, const int* given, int given_count, int count,
                          double* x)
{
    TN_ASSERT(count <= ROWS);
    tni_half_solve half;
    if (sweep->row_count + count > sweep->row_capacity ||
        !tni_half_solves_add(&sweep->paths, sweep->ldl, given, given_count, count, x, &half))
        return false;
    sweep->groups[sweep->group_count++] =
        (tni_row_group){.row = sweep->row_count, .count = count, .half = half};
    scale_path(sweep, &half);
    set_block(sweep, &half, sweep->blocks + ROWS * sweep->row_count);
    sweep->row_count += count;
    return true;
}

void tni_gauss_seidel_drop(tni_gauss_seidel* sweep)
{
    if (sweep->group_count == sweep->closed) return;
    const tni_row_group* first = &sweep->groups[sweep->closed];
    sweep->group_count         = sweep->closed;
    sweep->row_count           = first->row;
    sweep->paths.place_count   = first->half.first;
    sweep->paths.number_count  = first->half.at;
}

void tni_gauss_seidel_hold(tni_gauss_seidel* sweep, int group, int i)
{
    const tni_half_solve* half = &sweep->groups[group].half;
    double*               y    = sweep->paths.numbers + half->at + i;
    for (; y < sweep->paths.numbers + half->end; y += half->columns) *y = 0;
    set_block(sweep, half, tni_gauss_seidel_block(sweep, group));
}

// ---- Components ---------------------------------------------------------------------------------

static int component_at(const tni_gauss_seidel* sweep, int k)
{
    return sweep->plan->component_of[sweep->plan->order[sweep->paths.places[k]]];
}

static bool is_single(const tni_plan* plan, int component)
{
    const int first = plan->component_start[component];
    return plan->component_start[component + 1] == first + 1 && plan->pivot[first].sign > 0;
}

// Splits the path of a group by components; positions of a component are contiguous.
static bool set_links(tni_gauss_seidel* sweep, tni_row_group* group)
{
    const tni_half_solve* half = &group->half;
    size_t                at   = half->at;
    group->link                = sweep->link_count;
    group->link_count          = 0;
    for (int k = half->first; k < half->first + half->count; ++k) {
        const int c = component_at(sweep, k);
        if (k == half->first || component_at(sweep, k - 1) != c) {
            if (sweep->link_count == sweep->link_capacity) return false;
            sweep->links[sweep->link_count++] =
                (tni_row_group_link){.node = c, .first = k, .at = at, .R = at};
            ++group->link_count;
        }
        ++sweep->links[sweep->link_count - 1].count;
        at += (size_t)(pivot_of(sweep, k)->dim * half->columns);
    }
    return true;
}

// Numbers the components of an island in the order in which they occur.
static void number_nodes(tni_gauss_seidel* sweep, tni_gauss_seidel_island* island)
{
    const tni_row_group* first = &sweep->groups[island->group];
    island->node               = sweep->node_count;
    for (int i = first->link; i < sweep->link_count; ++i) sweep->node_of[sweep->links[i].node] = -1;
    for (int i = first->link; i < sweep->link_count; ++i) {
        tni_row_group_link* link = &sweep->links[i];
        const int           c    = link->node;
        if (sweep->node_of[c] < 0) {
            sweep->node_of[c] = sweep->node_count - island->node;
            sweep->node_dim[sweep->node_count++] =
                is_single(sweep->plan, c) ? pivot_of(sweep, link->first)->dim : -1;
        }
        link->node = sweep->node_of[c];
    }
    island->node_count = sweep->node_count - island->node;
}

static tni_row_group_link* link_to(const tni_gauss_seidel* sweep, const tni_row_group* group,
                                   int node)
{
    for (int i = 0; i < group->link_count; ++i) {
        if (sweep->links[group->link + i].node == node) return &sweep->links[group->link + i];
    }
    return NULL;
}

static void read_link(const tni_gauss_seidel* sweep, const tni_row_group_link* link, int columns,
                      double* out)
{
    read_places(sweep, link->first, link->count, sweep->paths.numbers + link->at, columns, out);
}

// W (n x n) of all contacts at a component: the part that goes through it.
static void find_part(const tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                      int node, int n, double* W)
{
    int at = 0;
    memset(W, 0, sizeof *W * (size_t)n * (size_t)n);
    for (int i = island->group; i < island->group + island->group_count; ++i) {
        const tni_row_group*      one  = &sweep->groups[i];
        const tni_row_group_link* link = link_to(sweep, one, node);
        for (int c = 0; link != NULL && c < one->count; ++c, ++at) {
            double unit[ROWS] = {0};
            int    to         = 0;
            unit[c]           = 1;
            tni_gauss_seidel_write_places(sweep, link->first, link->count,
                                          sweep->paths.numbers + link->at, one->count, unit);
            for (int j = island->group; j <= i; ++j) {
                const tni_row_group*      two   = &sweep->groups[j];
                const tni_row_group_link* other = link_to(sweep, two, node);
                if (other == NULL) continue;
                read_link(sweep, other, two->count, W + n * at + to);
                to += two->count;
            }
            clear_places(sweep, link->first, link->count);
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) W[n * j + i] = W[n * i + j];
}

// Pivoted Cholesky: R (rank x n) with W = R^T R up to rounding. Returns the rank.
static int factor_part(int n, int most, double nothing, double* W, double* R)
{
    double largest = 0;
    for (int i = 0; i < n; ++i) largest = fmax(largest, W[(n + 1) * i]);
    for (int rank = 0; rank < most; ++rank) {
        int best = 0;
        for (int i = 1; i < n; ++i)
            if (W[(n + 1) * i] > W[(n + 1) * best]) best = i;
        const double pivot = W[(n + 1) * best];
        if (!(pivot > nothing * largest)) return rank;
        tni_dense_take_pivot(n, best, W, R + n * rank);
    }
    return most;
}

// Sets R of the contacts at a component of several nodes. False: no room.
static bool set_part(tni_gauss_seidel* sweep, tni_gauss_seidel_island* island, int node)
{
    tni_half_solves* paths = &sweep->paths;
    int              n = 0, most = 0, component = -1;
    for (int i = island->group; i < island->group + island->group_count; ++i) {
        const tni_row_group_link* link = link_to(sweep, &sweep->groups[i], node);
        if (link == NULL) continue;
        n += sweep->groups[i].count;
        component = component_at(sweep, link->first);
    }
    for (int k = sweep->plan->component_start[component];
         k < sweep->plan->component_start[component + 1]; ++k)
        most += sweep->plan->pivot[k].sign > 0 ? sweep->plan->pivot[k].dim : 0;
    const double nothing = sweep->plan->tree[component] ? RANK : RANK_LOOP;
    if (n > COMPONENT_ROWS) {
        island->newton = false;
        return true;
    }
    const size_t square = (size_t)n * (size_t)n;
    if (paths->number_count + 3 * square > paths->number_capacity) return false;
    double *W = paths->numbers + paths->number_capacity - square, *R = W - square;
    find_part(sweep, island, node, n, W);
    const int rank                       = factor_part(n, n < most ? n : most, nothing, W, R);
    sweep->node_dim[island->node + node] = rank;
    for (int i = island->group, at = 0; i < island->group + island->group_count; ++i) {
        const tni_row_group* group = &sweep->groups[i];
        tni_row_group_link*  link  = link_to(sweep, group, node);
        if (link == NULL) continue;
        link->R = paths->number_count;
        for (int r = 0; r < rank; ++r)
            for (int c = 0; c < group->count; ++c)
                paths->numbers[paths->number_count++] = R[n * r + at + c];
        at += group->count;
    }
    return true;
}

// Sets up the system of a Newton step. False: no room.
static bool set_newton_system(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island)
{
    tni_block_lu* t = &sweep->system;
    if (island->node_count > t->node_capacity) return false;
    memcpy(t->dim, sweep->node_dim + island->node, sizeof(int) * (size_t)island->node_count);
    if (!tni_block_lu_begin(t, island->node_count)) return false;
    for (int i = island->group; i < island->group + island->group_count; ++i) {
        const tni_row_group* b = &sweep->groups[i];
        for (int k = 1; k < b->link_count; ++k)
            for (int m = 0; m < k; ++m)
                tni_block_lu_couple(t, sweep->links[b->link + k].node,
                                    sweep->links[b->link + m].node);
    }
    return tni_block_lu_order(t);
}

bool tni_gauss_seidel_close(tni_gauss_seidel* sweep, tni_gauss_seidel_island* island)
{
    island->group       = sweep->closed;
    island->group_count = sweep->group_count - island->group;
    sweep->closed       = sweep->group_count;
    island->newton      = true;
    for (int i = island->group; i < sweep->group_count; ++i)
        if (!set_links(sweep, &sweep->groups[i])) return false;
    island->row       = sweep->groups[island->group].row;
    island->row_count = sweep->row_count - island->row;
    for (int i = island->group; i < sweep->group_count; ++i)
        clear_places(sweep, sweep->groups[i].half.first, sweep->groups[i].half.count);
    number_nodes(sweep, island);
    for (int i = 0; i < island->node_count && island->newton; ++i) {
        if (sweep->node_dim[island->node + i] < 0 && !set_part(sweep, island, i)) return false;
    }
    const bool room = !island->newton || set_newton_system(sweep, island);
    if (island->newton && sweep->system.flops > FLOPS_MAX) island->newton = false;
    return room || !island->newton;
}

// ---- The operator for friction_cone.c -----------------------------------------------------------

static const tni_row_group* groups_of(const tni_gauss_seidel* sweep)
{
    return sweep->groups + sweep->island->group;
}

tni_cone_point tni_gauss_seidel_cone_point(const tni_row_group* b, int at, const uint8_t* condition,
                                           const double* mu, const double* B, double largest)
{
    double         diagonal[ROWS];
    tni_cone_point g = tni_cone_point_find(at + b->count, at, condition, NULL, NULL, mu);
    if (g.condition == TNI_EQUAL) g.size = b->count;
    TN_ASSERT(g.size == b->count);
    for (int i = 0; i < b->count; ++i) diagonal[i] = B[(ROWS + 1) * i];
    tni_cone_point_weigh(&g, diagonal, largest);
    return g;
}

static int find(void* user, const tni_complementarity* p, tni_cone_point* points)
{
    tni_gauss_seidel*    sweep   = user;
    const int            count   = sweep->island->group_count;
    double               largest = 0;
    const tni_row_group* b       = groups_of(sweep);
    for (int k = 0; k < count; ++k) {
        const double* B = sweep->blocks + ROWS * b[k].row;
        for (int i = 0; i < b[k].count; ++i) largest = fmax(largest, B[(ROWS + 1) * i]);
    }
    for (int k = 0; k < count; ++k)
        points[k] = tni_gauss_seidel_cone_point(&b[k], b[k].row - sweep->island->row, p->condition,
                                                p->mu, sweep->blocks + ROWS * b[k].row, largest);
    return count;
}

void tni_gauss_seidel_set_s(const tni_gauss_seidel* sweep, const double* f)
{
    const tni_row_group* b = groups_of(sweep);
    for (int k = 0; k < sweep->island->group_count; ++k)
        clear_places(sweep, b[k].half.first, b[k].half.count);
    for (int k = 0; k < sweep->island->group_count; ++k) {
        double    from[ROWS];
        const int at = b[k].row - sweep->island->row;
        for (int i = 0; i < b[k].count; ++i)
            from[i] = sweep->base != NULL ? f[at + i] - sweep->base[at + i] : f[at + i];
        write_path(sweep, &b[k].half, from);
    }
}

static void apply(void* user, const double* f, double* a)
{
    const tni_gauss_seidel* sweep = user;
    const tni_row_group*    b     = groups_of(sweep);
    tni_gauss_seidel_set_s(sweep, f);
    memset(a, 0, sizeof *a * (size_t)sweep->island->row_count);
    for (int k = 0; k < sweep->island->group_count; ++k)
        tni_gauss_seidel_read_path(sweep, &b[k].half, a + b[k].row - sweep->island->row);
}

static double sweep_all(void* user, const tni_complementarity* p, const tni_cone_point* points,
                        int count)
{
    const tni_gauss_seidel* sweep = user;
    const tni_row_group*    b     = groups_of(sweep);
    double                  sum   = 0, F[ROWS], a[ROWS], df[ROWS];
    tni_gauss_seidel_set_s(sweep, p->f);
    for (int k = 0; k < count; ++k) {
        const tni_cone_point* g = &points[k];
        double*               f = p->f + g->first;
        for (int i = 0; i < g->size; ++i) a[i] = p->b[g->first + i], df[i] = f[i];
        tni_gauss_seidel_read_path(sweep, &b[k].half, a);
        sum += tni_cone_point_residual(g, 0, f, a, F);
        tni_cone_point_solve(g, sweep->blocks + ROWS * b[k].row, ROWS, f, a);
        for (int i = 0; i < g->size; ++i) df[i] = f[i] - df[i];
        write_path(sweep, &b[k].half, df);
    }
    return sum;
}

// K and h of one contact.
static bool set_terms(const tni_cone_point* g, double e, double delta, const tni_complementarity* p,
                      const double* F, double* K, double* h)
{
    double    P[ROWS], C[ROWS][ROWS], m[ROWS * ROWS], column[ROWS];
    int       exchange[ROWS];
    const int n = g->size;
    tni_cone_point_project(g, e, p->f + g->first, p->a + g->first, P, C);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) m[n * i + j] = (i == j ? 1 + delta : 0) - C[i][j];
    if (tni_dense_lu(n, m, exchange) != TN_OK) return false;
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) column[i] = C[i][j] * g->rho[j];
        tni_dense_lu_solve(n, m, exchange, column);
        for (int i = 0; i < n; ++i) K[ROWS * i + j] = column[i];
    }
    for (int i = 0; i < n; ++i) h[i] = F[g->first + i];
    tni_dense_lu_solve(n, m, exchange, h);
    return true;
}

// H_cd += R_c K R_d^T and v_c -= R_c h, for all components c and d of a contact.
static void add_terms(tni_gauss_seidel* sweep, const tni_row_group* b, const double* K,
                      const double* h)
{
    const int n = b->count;
    for (int x = 0; x < b->link_count; ++x) {
        const tni_row_group_link* one = &sweep->links[b->link + x];
        const double*             R   = sweep->paths.numbers + one->R;
        double*                   v   = sweep->v + sweep->system.x_start[one->node];
        const int                 dim = sweep->system.dim[one->node];
        double*                   H[ROWS];
        TN_ASSERT(b->link_count <= ROWS);
        for (int y = 0; y < b->link_count; ++y)
            H[y] = tni_block_lu_block(&sweep->system, one->node, sweep->links[b->link + y].node);
        for (int r = 0; r < dim; ++r, R += n) {
            double RK[ROWS];
            for (int j = 0; j < n; ++j) {
                RK[j] = 0;
                for (int i = 0; i < n; ++i) RK[j] += R[i] * K[ROWS * i + j];
                v[r] -= R[j] * h[j];
            }
            for (int y = 0; y < b->link_count; ++y) {
                const tni_row_group_link* two = &sweep->links[b->link + y];
                const double*             Q   = sweep->paths.numbers + two->R;
                const int                 m   = sweep->system.dim[two->node];
                for (int q = 0; q < m; ++q)
                    for (int j = 0; j < n; ++j) H[y][m * r + q] += RK[j] * Q[n * q + j];
            }
        }
    }
}

// step <- -(h + K R^T v).
static void step_back(const tni_gauss_seidel* sweep, const tni_row_group* b, const double* K,
                      const double* h, double* step)
{
    double a[ROWS] = {0};
    for (int x = 0; x < b->link_count; ++x) {
        const tni_row_group_link* link = &sweep->links[b->link + x];
        const double*             R    = sweep->paths.numbers + link->R;
        const double*             v    = sweep->v + sweep->system.x_start[link->node];
        for (int r = 0; r < sweep->system.dim[link->node]; ++r, R += b->count)
            for (int j = 0; j < b->count; ++j) a[j] += R[j] * v[r];
    }
    for (int i = 0; i < b->count; ++i) {
        step[i] = -h[i];
        for (int j = 0; j < b->count; ++j) step[i] -= K[ROWS * i + j] * a[j];
    }
}

static bool newton_step(void* user, const tni_complementarity* p, const tni_cone_point* points,
                        int count, double e, double delta, const double* F, double* step)
{
    tni_gauss_seidel*    sweep = user;
    const tni_row_group* b     = groups_of(sweep);
    tni_block_lu*        t     = &sweep->system;
    delta                      = fmax(delta, DELTA_MIN);
    tni_block_lu_clear(t);
    memset(sweep->v, 0, sizeof *sweep->v * (size_t)t->x_start[t->count]);
    for (int k = 0; k < count; ++k) {
        double *K = sweep->K + ROWS * points[k].first, *h = sweep->h + points[k].first;
        if (!set_terms(&points[k], e, delta, p, F, K, h)) return false;
        add_terms(sweep, &b[k], K, h);
    }
    if (!tni_block_lu_factor(t)) return false;
    tni_block_lu_solve(t, sweep->v);
    for (int k = 0; k < count; ++k) {
        const int at = points[k].first;
        step_back(sweep, &b[k], sweep->K + ROWS * at, sweep->h + at, step + at);
    }
    return true;
}

// ---- Solving ------------------------------------------------------------------------------------

void tni_gauss_seidel_apply(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const double* f, double* a)
{
    sweep->island = island;
    sweep->base   = NULL;
    apply(sweep, f, a);
}

bool tni_gauss_seidel_solve(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int limit, double goal, double gain,
                            tni_gauss_seidel_report* report)
{
    const tni_complementarity p  = {.n         = island->row_count,
                                    .symmetric = true,
                                    .b         = rows->b,
                                    .condition = rows->condition,
                                    .mu        = rows->mu,
                                    .f         = rows->f,
                                    .a         = rows->a};
    const tni_operator        op = {.user  = sweep,
                                    .find  = find,
                                    .apply = apply,
                                    .sweep = sweep_all,
                                    .step  = island->newton ? newton_step : NULL};
    sweep->island                = island;
    sweep->base                  = rows->base;
    if (island->newton) (void)set_newton_system(sweep, island);
    return tni_cone_solve_operator(sweep->cone, &p, &op, rows->scale, limit, goal, gain,
                                   &report->rounds, &report->residual, &report->row);
}
