// coefficients: nodes of small random trees against their full equations in maximal coordinates,
// solved by Gauss elimination:
//
//     I_i a_i = f_ext + f - v x* I v + fc_i - sum over children k of X_k^T fc_k   of every link
//     a_i = X_i a_parent + S_i qddot_i + c_i,   S_i^T fc_i + K_i qddot_i = Q_i   of joints inside
//
// and a loaded chain of 300 at rest against its mass matrix in closed form.
#include "adaptive/coefficients.h"
#include "test.h"

enum { LINKS = 10, UNKNOWNS = 18 * LINKS };

typedef struct link {
    int               parent, d;
    tni_transform     X;
    tni_rigid_inertia I;
    tni_spatial       S[6], v, c, force;
    double            K[36], Q[6], weight;
    bool              has_K;
} link;

typedef struct place {
    unsigned trees; // set of its links
    double   Phi[TNI_FORCES * TNI_FORCES], B[7 * TNI_FORCES], G[TNI_METRIC_COLS * TNI_METRIC_COLS];
    double   reflections[TNI_FORCES * (2 * TNI_FORCES + 8)];
    double   b[TNI_FORCES], moving_G[(TNI_FORCES + 1) * (TNI_FORCES + 1)], gamma[6], R[6];
    tni_position_terms at_position;
    tni_state_terms    at_state;
    tni_factors        factors;
} place;

typedef struct tree {
    test_random random;
    int         count, node_count;
    link        links[LINKS];
    tni_node    nodes[2 * LINKS];
    place       places[2 * LINKS];
    tni_spatial world; // its acceleration, in world coordinates
} tree;

// Solution of the full equations.
typedef struct answer {
    tni_spatial a[LINKS], fc[LINKS];
    double      qddot[LINKS][6];
} answer;

// ---- Random trees -------------------------------------------------------------------------------

static tn_vec3 any_vector(test_random* r)
{
    const double x = test_random_between(r, -1, 1), y = test_random_between(r, -1, 1);
    return tni_vec3(x, y, test_random_between(r, -1, 1));
}

static tni_spatial any_six(test_random* r)
{
    const tn_vec3 w = any_vector(r);
    return (tni_spatial){w, any_vector(r)};
}

static tni_mat3 any_rotation(test_random* r)
{
    const tn_vec3 x = tni_normalised(any_vector(r));
    const tn_vec3 y = tni_normalised(tni_cross(x, any_vector(r)));
    return tni_columns(x, y, tni_cross(x, y));
}

static tni_rigid_inertia any_inertia(test_random* r)
{
    const tni_mat3 E = any_rotation(r);
    const double   m = test_random_between(r, 0.5, 2);
    const tn_vec3  c = any_vector(r);
    tni_mat3       J = {{0}};
    for (int k = 0; k < 3; ++k) J.m[4 * k] = test_random_between(r, 0.1, 1);
    J               = tni_rotate_symmetric(&E, &J);
    const double cc = tni_dot(c, c);
    return (tni_rigid_inertia){m,
                               tni_scale(m, c),
                               J.m[0] + m * (cc - c.x * c.x),
                               J.m[1] - m * c.x * c.y,
                               J.m[2] - m * c.x * c.z,
                               J.m[4] + m * (cc - c.y * c.y),
                               J.m[5] - m * c.y * c.z,
                               J.m[8] + m * (cc - c.z * c.z)};
}

// Welds, hinges, sliders and screws, cylinders, balls, five freedoms, all six.
static void any_joint(test_random* r, link* l)
{
    static const int kinds[] = {0, 1, 1, 1, 2, 3, 5, 6};
    l->d                     = kinds[test_random_int(r, 0, 7)];
    const tn_vec3 e[3]       = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int k = 0; k < 6; ++k) l->S[k] = tni_spatial_zero();
    if (l->d == 1) l->S[0] = any_six(r);
    if (l->d == 2) l->S[0].w = l->S[1].v = tni_normalised(any_vector(r));
    for (int k = 0; k < l->d && l->d > 2; ++k) *(k < 3 ? &l->S[k].w : &l->S[k].v) = e[k % 3];
    l->has_K = l->d > 0 && test_random_int(r, 0, 2) == 0;
    for (int i = 0; i < l->d; ++i)
        for (int j = 0; j < l->d; ++j) l->K[l->d * i + j] = i == j ? 0.5 : 0.1;
    for (int i = 0; i < 6; ++i) l->Q[i] = test_random_between(r, -1, 1);
}

static int handles_of(const tree* t, unsigned set, int* handles)
{
    int count = 0, base = 0;
    while (!(set >> base & 1)) ++base;
    handles[count++] = base;
    for (int i = base; i < t->count; ++i) {
        const int p = t->links[i].parent;
        if (set >> i & 1 || p < 0 || !(set >> p & 1)) continue;
        bool is_new = true;
        for (int k = 0; k < count; ++k) is_new = is_new && handles[k] != p;
        if (is_new) handles[count++] = p;
    }
    return count;
}

static unsigned outboard(const tree* t, unsigned set, int j)
{
    unsigned b = 1u << j;
    for (int i = j + 1; i < t->count; ++i)
        if (set >> i & 1 && b >> t->links[i].parent & 1) b |= 1u << i;
    return b & set;
}

static int index_of(const int* handles, int count, int link_index)
{
    for (int k = 0; k < count; ++k)
        if (handles[k] == link_index) return k;
    return -1;
}

static void add_handles(tni_node* node, const tni_node* from, const int* wanted, int count,
                        uint8_t* keep, uint8_t* kept)
{
    for (int k = 0; k < from->handle_count; ++k) {
        if (index_of(wanted, count, from->handles[k]) < 0) continue;
        node->handles[node->handle_count++] = from->handles[k];
        kept[(*keep)++]                     = (uint8_t)k;
    }
}

// The node of a set of links, cut at a random joint of those that leave at most 3 handles; -1:
// there is none.
static int build(tree* t, unsigned set)
{
    tni_node  node = {.a = -1, .b = -1};
    int       handles[LINKS], cuts[LINKS], cut_count = 0, others[LINKS];
    const int count = handles_of(t, set, handles);
    node.base = node.link = handles[0];
    if (set == 1u << node.base) {
        node.handle_count = 1, node.handles[0] = node.base;
    } else {
        for (int j = node.base + 1; j < t->count; ++j) {
            if (!(set >> j & 1)) continue;
            const unsigned b = outboard(t, set, j);
            if (handles_of(t, b, others) <= 3 && handles_of(t, set & ~b, others) <= 3)
                cuts[cut_count++] = j;
        }
        if (cut_count == 0) return -1;
        const int      j = cuts[test_random_int(&t->random, 0, cut_count - 1)];
        const unsigned b = outboard(t, set, j);
        node.link        = j;
        node.a           = build(t, set & ~b);
        node.b           = node.a < 0 ? -1 : build(t, b);
        if (node.b < 0) return -1;
        const tni_node *A = &t->nodes[node.a], *B = &t->nodes[node.b];
        node.at = (uint8_t)index_of(A->handles, A->handle_count, t->links[j].parent);
        add_handles(&node, A, handles, count, &node.keep_a, node.kept_a);
        add_handles(&node, B, handles, count, &node.keep_b, node.kept_b);
    }
    t->places[t->node_count].trees = set;
    t->nodes[t->node_count]        = node;
    return t->node_count++;
}

// spread: 0 a chain, large a bush. The last node is the root.
static void make_tree(tree* t, uint64_t seed, int count, int spread)
{
    t->random = (test_random){seed};
    int top   = -1;
    while (top < 0) {
        t->count = count, t->node_count = 0;
        for (int i = 1; i < count; ++i)
            t->links[i].parent =
                test_random_int(&t->random, i - 1 - spread > 0 ? i - 1 - spread : 0, i - 1);
        t->links[0].parent = -1;
        top                = build(t, (1u << count) - 1);
    }
    t->nodes[t->node_count]          = (tni_node){.a = -1, .b = top};
    t->places[t->node_count++].trees = (1u << count) - 1;
    t->world                         = any_six(&t->random);
    for (int i = 0; i < count; ++i) {
        link* l  = &t->links[i];
        l->X.E   = any_rotation(&t->random);
        l->X.r   = any_vector(&t->random);
        l->I     = any_inertia(&t->random);
        l->v     = any_six(&t->random);
        l->c     = any_six(&t->random);
        l->force = any_six(&t->random);
        l->weight =
            test_random_int(&t->random, 0, 3) > 0 ? test_random_between(&t->random, 0.1, 4) : 0;
        any_joint(&t->random, l);
    }
    for (int i = 0; i < t->node_count; ++i) {
        place*    p    = &t->places[i];
        const int h    = t->nodes[i].handle_count;
        const int lead = test_random_int(&t->random, 0, h > 0 ? h - 1 : 0);
        p->at_position = (tni_position_terms){p->Phi, p->B, p->G, 0, 0, lead, p->reflections};
        p->at_state    = (tni_state_terms){p->b, p->moving_G, 0, 0, lead};
    }
}

// ---- The full equations -------------------------------------------------------------------------

static void solve(int n, double M[UNKNOWNS][UNKNOWNS], double* x)
{
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i)
            if (fabs(M[i][k]) > fabs(M[best][k])) best = i;
        for (int j = 0; j < n; ++j) {
            const double swap = M[k][j];
            M[k][j] = M[best][j], M[best][j] = swap;
        }
        const double swap = x[k];
        x[k] = x[best], x[best] = swap;
        for (int i = k + 1; i < n; ++i) {
            const double s = M[i][k] / M[k][k];
            for (int j = k; s != 0 && j < n; ++j) M[i][j] -= s * M[k][j];
            x[i] -= s * x[k];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j) x[i] -= M[i][j] * x[j];
        x[i] /= M[i][i];
    }
}

// X as 6 x 6, by its definition.
static void shift_matrix(const tni_transform* X, double M[6][6])
{
    const tn_vec3 r        = X->r;
    const double  cross[9] = {0, -r.z, r.y, r.z, 0, -r.x, -r.y, r.x, 0};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            M[i][j] = M[i + 3][j + 3] = X->E.m[3 * i + j];
            M[i][j + 3] = M[i + 3][j] = 0;
            for (int k = 0; k < 3; ++k) M[i + 3][j] -= X->E.m[3 * i + k] * cross[3 * k + j];
        }
    }
}

// The equations of the joint of link i: unknowns fc at `at`, then qddot; parent at `parent`, or the
// world.
static void add_joint(const tree* t, int i, int at, int self, int parent,
                      double M[UNKNOWNS][UNKNOWNS], double* x)
{
    const link* l = &t->links[i];
    double      X[6][6], c[6], world[6], S[6][6];
    shift_matrix(&l->X, X);
    tni_spatial_write(c, l->c), tni_spatial_write(world, t->world);
    for (int j = 0; j < l->d; ++j) tni_spatial_write(S[j], l->S[j]);
    for (int k = 0; k < 6; ++k) {
        M[self + k][at + k] = -1;
        M[at + k][self + k] = 1;
        x[at + k]           = c[k];
        for (int m = 0; m < 6; ++m) {
            if (parent >= 0) M[parent + m][at + k] = X[k][m], M[at + k][parent + m] = -X[k][m];
            else x[at + k] += X[k][m] * world[m];
        }
        for (int j = 0; j < l->d; ++j)
            M[at + k][at + 6 + j] = -S[j][k], M[at + 6 + j][at + k] = S[j][k];
    }
    for (int j = 0; j < l->d; ++j) {
        x[at + 6 + j] = l->Q[j];
        for (int k = 0; k < l->d && l->has_K; ++k) M[at + 6 + j][at + 6 + k] = l->K[l->d * j + k];
    }
}

// f: forces on the node's handles. The joint of the base link is included for the root only.
static void solve_whole(const tree* t, int node, const double* f, answer* out)
{
    static double  M[UNKNOWNS][UNKNOWNS];
    double         x[UNKNOWNS];
    int            n = 0, where[LINKS] = {0}, joint[LINKS] = {0};
    const unsigned set  = t->places[node].trees;
    const bool     root = node == t->node_count - 1;
    memset(M, 0, sizeof M), memset(out, 0, sizeof *out);
    for (int i = 0; i < t->count; ++i)
        if (set >> i & 1) where[i] = n, n += 6;
    const int base = root ? -1 : t->nodes[node].base;
    for (int i = 0; i < t->count; ++i)
        if (set >> i & 1 && i != base) joint[i] = n, n += 6 + t->links[i].d;
    for (int i = 0; i < t->count; ++i) {
        if (!(set >> i & 1)) continue;
        const link* l = &t->links[i];
        double      I[36];
        tni_rigid_inertia_matrix(&l->I, I);
        const tni_spatial bias = tni_cross_force(l->v, tni_rigid_inertia_times(&l->I, l->v));
        tni_spatial_write(x + where[i], tni_spatial_sub(l->force, bias));
        for (int k = 0; k < 36; ++k) M[where[i] + k / 6][where[i] + k % 6] = I[k];
    }
    for (int i = 0; i < t->count; ++i) {
        const int p = t->links[i].parent;
        if (set >> i & 1 && i != base)
            add_joint(t, i, joint[i], where[i], p < 0 ? -1 : where[p], M, x);
    }
    for (int k = 0; k < t->nodes[node].handle_count; ++k)
        for (int i = 0; i < 6; ++i) x[where[t->nodes[node].handles[k]] + i] += f[6 * k + i];
    solve(n, M, x);
    for (int i = 0; i < t->count; ++i) {
        if (!(set >> i & 1)) continue;
        out->a[i] = tni_spatial_read(x + where[i]);
        if (i == base) continue;
        out->fc[i] = tni_spatial_read(x + joint[i]);
        for (int j = 0; j < t->links[i].d; ++j) out->qddot[i][j] = x[joint[i] + 6 + j];
    }
}

// Joints outside have no acceleration in the solution.
static double whole_metric(const tree* t, const answer* a)
{
    double sum = 0;
    for (int i = 0; i < t->count; ++i)
        for (int j = 0; j < t->links[i].d; ++j)
            sum += t->links[i].weight * a->qddot[i][j] * a->qddot[i][j];
    return sum;
}

// ---- Node by node -------------------------------------------------------------------------------

static tni_node_joint join_of(const link* l)
{
    return (tni_node_joint){l->X, l->S, l->d, l->has_K ? l->K : NULL};
}

static const tni_node* child_of(const tree* t, int index)
{
    return index < 0 ? NULL : &t->nodes[index];
}

static void factor_node(tree* t, int i)
{
    const tni_node* n = &t->nodes[i];
    place*          p = &t->places[i];
    if (n->b < 0) {
        CHECK(tni_leaf_position_terms(&t->links[n->link].I, &p->at_position));
        return;
    }
    const tni_node_joint join = join_of(&t->links[n->link]);
    const bool           root = n->a < 0;
    CHECK(tni_join_factor(n, child_of(t, n->a), child_of(t, n->b), &join,
                          root ? NULL : t->places[n->a].Phi, t->places[n->b].Phi, &p->factors,
                          root ? NULL : p->Phi));
}

static void move_node(tree* t, int i)
{
    const tni_node* n = &t->nodes[i];
    place*          p = &t->places[i];
    const link*     l = &t->links[n->link];
    if (n->b < 0) {
        tni_leaf_state_terms(&l->I, &p->at_position, l->v, l->force, &p->at_state);
        return;
    }
    const tni_node_joint join  = join_of(l);
    const tni_spatial    world = tni_transform_motion(&l->X, t->world);
    const bool           root  = n->a < 0;
    tni_join_state_terms(n, child_of(t, n->a), child_of(t, n->b), &join, &p->factors, l->Q,
                         l->weight, l->c, root ? &world : NULL,
                         root ? NULL : &t->places[n->a].at_state, &t->places[n->b].at_state,
                         p->gamma, p->R, &p->at_state);
}

static double six_distance(tni_spatial a, tni_spatial b)
{
    const tni_spatial d = tni_spatial_sub(a, b);
    return sqrt(tni_spatial_dot(d, d));
}

static double six_size(tni_spatial a)
{
    return sqrt(tni_spatial_dot(a, a));
}

// Error of the accelerations Phi f + b of a node's handles, relative to their size (at least 1).
static double handle_error(const tree* t, int i, const double* f, const answer* whole)
{
    const tni_node* n     = &t->nodes[i];
    const place*    p     = &t->places[i];
    const int       cols  = 6 * n->handle_count;
    double          error = 0;
    for (int k = 0; k < n->handle_count; ++k) {
        double a[6];
        for (int r = 0; r < 6; ++r) {
            a[r] = p->b[6 * k + r];
            for (int j = 0; j < cols; ++j) a[r] += p->Phi[cols * (6 * k + r) + j] * f[j];
        }
        const tni_spatial want = whole->a[n->handles[k]];
        error = fmax(error, six_distance(tni_spatial_read(a), want) / fmax(1, six_size(want)));
    }
    return error;
}

// Error of all results of a node: handles, its joint, the force through it, handles of its children
// with the handle forces passed to them, metric.
static double node_error(const tree* t, int i, const double* f)
{
    const tni_node* n = &t->nodes[i];
    const place*    p = &t->places[i];
    double          f_a[TNI_FORCES], f_b[TNI_FORCES], qddot[6];
    answer          whole;
    solve_whole(t, i, f, &whole);
    double error = handle_error(t, i, f, &whole);
    if (n->b < 0) return error;
    const tni_node_joint join = join_of(&t->links[n->link]);
    tni_spatial          fc;
    tni_join_back(n, child_of(t, n->a), child_of(t, n->b), &join, &p->factors, p->gamma, p->R, f,
                  qddot, n->a < 0 ? NULL : f_a, f_b, &fc);
    const tni_spatial want = whole.fc[n->link];
    error                  = fmax(error, six_distance(fc, want) / fmax(1, six_size(want)));
    for (int j = 0; j < join.d; ++j) {
        const double exact = whole.qddot[n->link][j];
        error              = fmax(error, fabs(qddot[j] - exact) / fmax(1, fabs(exact)));
    }
    if (n->a >= 0) error = fmax(error, handle_error(t, n->a, f_a, &whole));
    error               = fmax(error, handle_error(t, n->b, f_b, &whole));
    const double metric = whole_metric(t, &whole);
    return fmax(error, fabs(tni_metric(n, &p->at_state, f) - metric) / fmax(1, metric));
}

static void any_forces(tree* t, double* f)
{
    for (int k = 0; k < TNI_FORCES; ++k) f[k] = test_random_between(&t->random, -1, 1);
}

static void check_triangle(const double* G, int rows, int cols)
{
    CHECK(rows <= cols);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < i; ++j) CHECK(G[cols * i + j] == 0);
}

static tree the_tree; // 200 kB

// Up to 180 equations of condition up to 1e4 (inertias and lever arms within a factor of 20): both
// solutions agree to 1e-12.
TEST(nodes_respond_like_their_links)
{
    double error = 0;
    int    three = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        tree* t = &the_tree;
        make_tree(t, seed, 1 + (int)seed % LINKS, (int)seed / 2 % 4);
        for (int i = 0; i < t->node_count; ++i) {
            double f[TNI_FORCES];
            any_forces(t, f);
            factor_node(t, i), move_node(t, i);
            error = fmax(error, node_error(t, i, f));
            check_triangle(t->places[i].moving_G, t->places[i].at_state.rows,
                           6 * t->nodes[i].handle_count + 1);
            three += t->nodes[i].handle_count == 3;
        }
    }
    CHECK_LESS(error, 1e-10);
    CHECK(three > 20);
}

// Weights whose square roots have squares below the range of doubles.
TEST(metric_of_tiny_weights_is_finite)
{
    tree* t = &the_tree;
    make_tree(t, 11, LINKS, 1);
    for (int i = 0; i < t->count; ++i) t->links[i].weight = 1e-318;
    for (int i = 0; i < t->node_count; ++i) {
        double f[TNI_FORCES];
        any_forces(t, f);
        factor_node(t, i), move_node(t, i);
        CHECK(tni_metric(&t->nodes[i], &t->places[i].at_state, f) < 1e-270);
    }
}

// ---- Rigid motion -------------------------------------------------------------------------------

// All links move rigidly with the base, without external forces.
static void make_rigid(tree* t, bool has_Q)
{
    for (int i = 0; i < t->count; ++i) {
        link* l = &t->links[i];
        if (i > 0) l->v = tni_transform_motion(&l->X, t->links[l->parent].v);
        l->c = l->force = tni_spatial_zero();
        for (int j = 0; j < 6 && !has_Q; ++j) l->Q[j] = 0;
    }
}

// Rotation from the axes of link `from` to those of `to`, which is beyond it.
static tni_mat3 turn_between(const tree* t, int from, int to)
{
    if (from == to) return tni_identity3();
    const tni_mat3 E = turn_between(t, from, t->links[to].parent);
    return tni_mat_mul(&t->links[to].X.E, &E);
}

static void still_node(tree* t, int i)
{
    const tni_node* n = &t->nodes[i];
    place*          p = &t->places[i];
    if (n->b < 0) return;
    const link*          l       = &t->links[n->link];
    const tni_node_joint join    = join_of(l);
    const tni_mat3       to_link = turn_between(t, n->base, l->parent),
                   to_b          = turn_between(t, n->base, n->link);
    tni_join_position_terms(n, &t->nodes[n->a], &t->nodes[n->b], &join, &p->factors, l->Q,
                            l->weight, &to_link, &to_b, &t->places[n->a].at_position,
                            &t->places[n->b].at_position, &p->at_position);
}

static void still_at(tree* t, int i)
{
    const tni_node* n = &t->nodes[i];
    tni_spatial     v[TNI_HANDLES_MAX];
    for (int k = 0; k < n->handle_count; ++k) v[k] = t->links[n->handles[k]].v;
    tni_position_terms_at(n, &t->places[i].at_position, t->links[n->base].v.w, v,
                          &t->places[i].at_state);
}

// Position terms of a rigid node give the same at any velocity as the state terms of its links,
// whichever way the children's terms are made.
TEST(rigid_nodes_respond_like_their_links)
{
    double error = 0, same = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        tree* t = &the_tree;
        make_tree(t, 100 + seed, 2 + (int)seed % (LINKS - 1), (int)seed / 2 % 4);
        make_rigid(t, seed % 3 > 0);
        for (int i = 0; i < t->node_count; ++i) {
            const tni_node* n = &t->nodes[i];
            place*          p = &t->places[i];
            double          f[TNI_FORCES];
            any_forces(t, f);
            factor_node(t, i), move_node(t, i);
            if (i == t->node_count - 1) {
                error = fmax(error, node_error(t, i, f));
                continue;
            }
            const double moving = n->b < 0 ? 0 : tni_metric(n, &p->at_state, f);
            still_node(t, i);
            if (test_random_int(&t->random, 0, 1) == 0) still_at(t, i);
            error = fmax(error, node_error(t, i, f));
            if (n->b < 0) continue;
            same =
                fmax(same, fabs(tni_position_metric(n, &p->at_position, t->links[n->base].v.w, f) -
                                moving) /
                               fmax(1, moving));
            check_triangle(p->G, p->at_position.rows, 6 * n->handle_count + 7);
            check_triangle(p->moving_G, p->at_state.rows, 6 * n->handle_count + 1);
        }
    }
    CHECK_LESS(error, 1e-10); // as above
    CHECK_LESS(same, 1e-10);
}

static void move_again(tree* t, int i)
{
    const tni_node* n = &t->nodes[i];
    place*          p = &t->places[i];
    if (n->b < 0) {
        move_node(t, i);
        return;
    }
    const link*          l    = &t->links[n->link];
    const tni_node_joint join = join_of(l);
    tni_join_update_state_terms(n, &t->nodes[n->a], &t->nodes[n->b], &join, &p->factors, l->Q,
                                l->weight, &p->at_position, &t->places[n->a].at_state,
                                &t->places[n->b].at_state, p->gamma, p->R, &p->at_state);
}

// Rigid nodes with forces inside: the reflections of the position terms give the same as all links.
TEST(rigid_nodes_with_forces_respond_like_their_links)
{
    double error = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        tree* t = &the_tree;
        make_tree(t, 300 + seed, 2 + (int)seed % (LINKS - 1), (int)seed / 2 % 4);
        make_rigid(t, true);
        for (int i = 0; i + 1 < t->node_count; ++i) factor_node(t, i), still_node(t, i);
        for (int i = 0; i < t->count; ++i) {
            t->links[i].force = any_six(&t->random);
            for (int j = 0; j < 6; ++j) t->links[i].Q[j] = test_random_between(&t->random, -1, 1);
        }
        for (int i = 0; i + 1 < t->node_count; ++i) {
            const tni_node* n = &t->nodes[i];
            place*          p = &t->places[i];
            double          f[TNI_FORCES];
            any_forces(t, f);
            move_again(t, i);
            error = fmax(error, node_error(t, i, f));
            CHECK_INT(p->at_state.force_rows, p->at_position.force_rows);
            check_triangle(p->moving_G, p->at_state.rows, 6 * n->handle_count + 1);
        }
    }
    CHECK_LESS(error, 1e-10); // as above
}

TEST(squares_of_rotated_vectors)
{
    test_random r = {7};
    for (int i = 0; i < 20; ++i) {
        const tni_mat3 E = any_rotation(&r);
        const tn_vec3  w = any_vector(&r);
        double         R2[49], m[7], turned[7];
        tni_quadratic_turn(&E, R2);
        tni_quadratic(w, m), tni_quadratic(tni_mul(&E, w), turned);
        for (int k = 0; k < 7; ++k) {
            for (int j = 0; j < 7; ++j) turned[k] -= R2[7 * k + j] * m[j];
            CHECK_LESS(fabs(turned[k]), 1e-15); // a few roundings of numbers below 3
        }
    }
}

TEST(matrices_that_are_not_positive_definite_are_refused)
{
    tree* t = &the_tree;
    make_tree(t, 3, 2, 0);
    t->links[1].d = 1, t->links[1].has_K = false;
    t->links[1].S[0] = (tni_spatial){{0, 0, 1}, {0, 0, 0}};
    factor_node(t, 0), factor_node(t, 1);
    const tni_node* n = &t->nodes[2];
    tni_factors     factors;
    const double    K    = -1e6;
    tni_node_joint  join = join_of(&t->links[1]);
    CHECK(tni_join_factor(n, &t->nodes[0], &t->nodes[1], &join, t->places[0].Phi, t->places[1].Phi,
                          &factors, t->places[2].Phi));
    join.K = &K;
    CHECK(!tni_join_factor(n, &t->nodes[0], &t->nodes[1], &join, t->places[0].Phi, t->places[1].Phi,
                           &factors, t->places[2].Phi));
    join.K = NULL, join.d = 0; // a weld
    t->places[1].Phi[35] = -1e6;
    CHECK(!tni_join_factor(n, &t->nodes[0], &t->nodes[1], &join, t->places[0].Phi, t->places[1].Phi,
                           &factors, t->places[2].Phi));
    t->places[1].Phi[35] = NAN;
    CHECK(!tni_join_factor(n, &t->nodes[0], &t->nodes[1], &join, t->places[0].Phi, t->places[1].Phi,
                           &factors, t->places[2].Phi));
    tni_rigid_inertia I = t->links[0].I;
    I.mass              = 0;
    CHECK(!tni_leaf_position_terms(&I, &t->places[0].at_position));
}

// ---- A chain at rest under its weight -----------------------------------------------------------

// Hinges about z, links of 1 kg and 1 m along x, bent; gravity along -y, balanced by the joints up
// to 1e-3 N m.
typedef struct chain {
    int                 count, node_count;
    double*             x; // joints in the world, count + 1
    double*             y;
    double*             Q;
    tni_rigid_inertia   I;
    tni_spatial         S;
    tni_transform*      X;
    tni_node*           nodes;
    tni_position_terms* at_position;
    tni_state_terms*    at_state;
    tni_factors*        factors;
    double *            gamma, *R, *f, *qddot, *below;
} chain;

static double chain_bend(int i)
{
    return i == 0 ? -1.2 : 0.02 * sin(0.7 * i) + 0.008;
}

static int chain_node(tni_arena* arena, chain* c, int first, int last)
{
    tni_node node = {.a = -1, .b = -1, .link = first, .base = first, .handles = {first, last - 1}};
    if (last - first > 1) {
        const int cut = (first + last) / 2;
        node.link     = cut;
        node.a = chain_node(arena, c, first, cut), node.b = chain_node(arena, c, cut, last);
        node.at           = cut - first > 1;
        node.handle_count = last == c->count ? 1 : 2;
        node.keep_a       = 1;
        node.keep_b       = last < c->count;
        node.kept_b[0]    = last - cut > 1;
    } else {
        node.handle_count = 1;
    }
    const int i = c->node_count++, forces = 6 * node.handle_count;
    c->nodes[i] = node;
    c->at_position[i] =
        (tni_position_terms){.Phi = TNI_TAKE(arena, double, forces* forces),
                             .B   = TNI_TAKE(arena, double, 7 * forces),
                             .G   = TNI_TAKE(arena, double, (forces + 7) * (forces + 7))};
    if (node.b >= 0)
        c->at_position[i].reflections = TNI_TAKE(
            arena, double, tni_reflections_size(&node, &c->nodes[node.a], &c->nodes[node.b], 1));
    c->at_state[i] = (tni_state_terms){.b = TNI_TAKE(arena, double, forces),
                                       .G = TNI_TAKE(arena, double, (forces + 1) * (forces + 1))};
    return i;
}

static chain* make_chain(tni_arena* arena, int count)
{
    chain* c       = TNI_TAKE(arena, chain, 1);
    c->count       = count;
    c->x           = TNI_TAKE(arena, double, count + 1);
    c->y           = TNI_TAKE(arena, double, count + 1);
    c->Q           = TNI_TAKE(arena, double, count);
    c->X           = TNI_TAKE(arena, tni_transform, count);
    c->nodes       = TNI_TAKE(arena, tni_node, 2 * count);
    c->at_position = TNI_TAKE(arena, tni_position_terms, 2 * count);
    c->at_state    = TNI_TAKE(arena, tni_state_terms, 2 * count);
    c->factors     = TNI_TAKE(arena, tni_factors, 2 * count);
    c->gamma       = TNI_TAKE(arena, double, 12 * count);
    c->R           = TNI_TAKE(arena, double, 2 * count);
    c->f           = TNI_TAKE(arena, double, 24 * count);
    c->qddot       = TNI_TAKE(arena, double, count);
    c->below       = TNI_TAKE(arena, double, 2 * count);
    c->I           = (tni_rigid_inertia){1, {0.5, 0, 0}, 0.01, 0, 0, 1.0 / 3, 0, 1.0 / 3};
    c->S           = (tni_spatial){{0, 0, 1}, {0, 0, 0}};
    double angle   = 0;
    for (int i = 0; i < count; ++i) {
        const double bend = chain_bend(i), s = sin(bend), k = cos(bend);
        c->X[i] = (tni_transform){{{k, s, 0, -s, k, 0, 0, 0, 1}}, {i > 0, 0, 0}};
        angle += bend;
        c->x[i + 1] = c->x[i] + cos(angle), c->y[i + 1] = c->y[i] + sin(angle);
    }
    double moment = 0; // weight of all links beyond
    for (int i = count - 1; i >= 0; --i) {
        moment +=
            9.81 * ((count - 1 - i) * (c->x[i + 1] - c->x[i]) + 0.5 * (c->x[i + 1] - c->x[i]));
        c->Q[i] = moment;
    }
    c->Q[count / 2] += 1e-3;
    const int top           = chain_node(arena, c, 0, count);
    c->nodes[c->node_count] = (tni_node){.a = -1, .b = top};
    c->node_count++;
    for (int i = 0; i < c->node_count; ++i) { // the handle held by the parent comes first
        const tni_node* n = &c->nodes[i];
        if (n->a >= 0) c->at_position[n->a].lead = c->at_state[n->a].lead = n->at;
    }
    c->at_state[c->node_count - 1] =
        (tni_state_terms){.b = TNI_TAKE(arena, double, 1), .G = TNI_TAKE(arena, double, 1)};
    return c;
}

// |qddot|^2 of M qddot = 1e-3 N m at one joint: the mass matrix in closed form, Cholesky.
static double chain_metric(tni_arena* arena, const chain* c)
{
    const int n = c->count;
    double *  M = TNI_TAKE(arena, double, n* n), *x = TNI_TAKE(arena, double, n), sum = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            for (int k = n - 1; k >= i; --k) {
                const double cx = 0.5 * (c->x[k] + c->x[k + 1]), cy = 0.5 * (c->y[k] + c->y[k + 1]);
                M[n * i + j] +=
                    (cx - c->x[i]) * (cx - c->x[j]) + (cy - c->y[i]) * (cy - c->y[j]) + 1.0 / 12;
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        x[i] = i == n / 2 ? 1e-3 : 0;
        for (int j = 0; j <= i; ++j) {
            for (int k = 0; k < j; ++k) M[n * i + j] -= M[n * i + k] * M[n * j + k];
            if (j < i) M[n * i + j] /= M[n * j + j], x[i] -= M[n * i + j] * x[j];
            else M[n * i + i] = sqrt(M[n * i + i]), x[i] /= M[n * i + i];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= M[n * k + i] * x[k];
        x[i] /= M[n * i + i];
        sum += x[i] * x[i];
    }
    return sum;
}

// Ways to compute a node: by state terms; by position terms (at rest m(w) is constant); by position
// terms with a force inside.
typedef enum way { WAY_MOVING, WAY_STILL, WAY_AGAIN } way;

static void chain_node_up(chain* c, int i, way how)
{
    const tni_spatial zero[2] = {tni_spatial_zero(), tni_spatial_zero()},
                      up      = {{0, 0, 0}, {0, 9.81, 0}};
    const tni_spatial world   = tni_transform_motion(&c->X[0], up);
    const tni_mat3    one     = tni_identity3();
    const tni_node*   n       = &c->nodes[i];
    if (n->b < 0) {
        CHECK(tni_leaf_position_terms(&c->I, &c->at_position[i]));
        tni_leaf_state_terms(&c->I, &c->at_position[i], zero[0], zero[0], &c->at_state[i]);
        return;
    }
    const tni_node *     A = n->a < 0 ? NULL : &c->nodes[n->a], *B = &c->nodes[n->b];
    const tni_node_joint join = {c->X[n->link], &c->S, 1, NULL};
    const double*        Q    = &c->Q[n->link];
    CHECK(tni_join_factor(n, A, B, &join, A ? c->at_position[n->a].Phi : NULL,
                          c->at_position[n->b].Phi, &c->factors[i], c->at_position[i].Phi));
    if (A && how != WAY_MOVING)
        tni_join_position_terms(n, A, B, &join, &c->factors[i], how == WAY_STILL ? Q : NULL, 1,
                                &one, &one, &c->at_position[n->a], &c->at_position[n->b],
                                &c->at_position[i]);
    if (A && how == WAY_AGAIN)
        tni_join_update_state_terms(n, A, B, &join, &c->factors[i], Q, 1, &c->at_position[i],
                                    &c->at_state[n->a], &c->at_state[n->b], c->gamma + 6 * i,
                                    c->R + i, &c->at_state[i]);
    else
        tni_join_state_terms(n, A, B, &join, &c->factors[i], Q, 1, zero[0], A ? NULL : &world,
                             A ? &c->at_state[n->a] : NULL, &c->at_state[n->b], c->gamma + 6 * i,
                             c->R + i, &c->at_state[i]);
    if (A && how == WAY_STILL)
        tni_position_terms_at(n, &c->at_position[i], tni_vec3(0, 0, 0), zero, &c->at_state[i]);
}

// Back from the root: accelerations of joints; the metric of every node against the sum of squares
// below it.
static double chain_back(chain* c)
{
    double error = 0;
    for (int i = c->node_count - 1; i >= 0; --i) {
        const tni_node* n = &c->nodes[i];
        if (n->b < 0) continue;
        const tni_node_joint join = {c->X[n->link], &c->S, 1, NULL};
        tni_spatial          fc;
        tni_join_back(n, n->a < 0 ? NULL : &c->nodes[n->a], &c->nodes[n->b], &join, &c->factors[i],
                      c->gamma + 6 * i, c->R + i, c->f + 12 * i, &c->qddot[n->link],
                      n->a < 0 ? NULL : c->f + 12 * n->a, c->f + 12 * n->b, &fc);
    }
    const double all =
        tni_metric(&c->nodes[c->node_count - 1], &c->at_state[c->node_count - 1], NULL);
    for (int i = 0; i < c->node_count; ++i) {
        const tni_node* n = &c->nodes[i];
        if (n->b < 0) {
            c->below[i] = 0;
            continue;
        }
        c->below[i] = c->qddot[n->link] * c->qddot[n->link] + c->below[n->b] +
                      (n->a < 0 ? 0 : c->below[n->a]);
        error =
            fmax(error, fabs(tni_metric(n, &c->at_state[i], c->f + 12 * i) - c->below[i]) / all);
    }
    return error;
}

// The weight of 300 m of links is balanced by torques of 4e5 N m up to 1e-3 N m. The squares of the
// accelerations sum to 5e-4, and |f| |Psi| |f|, which the form of the paper subtracts from itself,
// is 1e13 times that. Torques are rounded to 3e-11 N m, 3e-8 of the imbalance.
TEST(a_loaded_chain_at_rest)
{
    static const int counts[] = {10, 50, 300};
    for (int k = 0; k < 9; ++k) {
        const tn_host host  = tni_host_or_default(NULL);
        tni_arena     arena = tni_arena_make(&host);
        chain*        c     = make_chain(&arena, counts[k % 3]);
        for (int i = 0; i < c->node_count; ++i) chain_node_up(c, i, (way)(k / 3));
        const double want = chain_metric(&arena, c);
        const double is =
            tni_metric(&c->nodes[c->node_count - 1], &c->at_state[c->node_count - 1], NULL);
        CHECK_NEAR(is, want, 1e-6 * want);
        CHECK_LESS(chain_back(c), 1e-6);
        tni_arena_free(&arena);
    }
}
