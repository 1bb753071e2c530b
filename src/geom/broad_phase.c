// broad_phase: pairs of overlapping boxes, from a dynamic tree over enlarged ("fat") boxes.
//
// Each box is inside a fat box: a little larger on all sides, and extended ahead if it moves. As
// long as it stays inside, only that is checked. The stored pairs are those of fat boxes; when
// boxes leave theirs ("moved"), pairs with one of them are checked, and the tree is queried for new
// ones. Pairs are in an array without gaps, a hash table finds them by their two indices, and each
// has data that persist as long as the pair.
//
// The tree is binary, one leaf a box, split at the median of the centres along the longest side of
// their bounding box, hence of depth ceil(log2 count). Nodes are in preorder: the first child
// follows its parent, `skip` is the first node after the subtree, so a traversal needs no stack:
//
//     k = 0; while k < count:  k = overlaps(k) ? k + 1 : skip(k)
//
// and one that starts at skip(leaf) visits all later leaves: every pair once, nearest relatives
// first. When boxes move, the boxes on the path to the root are refitted and the tree keeps its
// structure; it is rebuilt only when the sum of its nodes' sizes has grown by half (COARSER), so a
// crowd that moves together never causes a rebuild. Depth and traversals do not degrade.
//
// Unbounded boxes (planes) are in a separate list and tested one by one. No result depends on
// floating-point equality: fat boxes contain their boxes exactly, and unions are exact.
//
// Fat margin: MARGIN of the longest side all around, and AHEAD updates of the motion since the last
// fitting, at most the longest side. A box fitted as moving is fitted again after PATIENCE updates,
// as it may have come to rest. None of this changes which boxes really overlap.
//
// Microseconds of processor time an update, mean of 120, compared with sweep and prune along the
// axis of the largest spread, its order kept (bench/micro/boxes.c, -O3):
//     boxes                      tree   sweep        boxes                       tree   sweep
//     2,000 at rest                 6     520        20,000 of a walking crowd    950   5,300
//     2,000 in a pile, shaking      6     740        20,000 in a pile, shaking     63  23,900
//     2,000 falling                83     270        20,000, ten of them move      66   5,000
//     10,000 spread wide, moving  240     480        the first, of that crowd  11,200   8,300
#include "geom/broad_phase.h"

#include <math.h>

enum { NONE, PLACED, UNBOUNDED }; // of a box: empty or unknown; in the tree; unbounded

static const double MARGIN = 0.05, AHEAD = 8, COARSER = 1.5, LARGE = 1e150;
enum { PATIENCE = 64, DEPTH_MAX = 40 };

typedef struct node {
    tni_aabb box;
    int      skip;   ///< the first node after this subtree
    int      item;   ///< leaf: its box; else -1
    int      parent; ///< -1: root
} node;

typedef struct middle {
    double c[3];
    int    item;
} middle;

struct tni_broad_phase {
    tn_host   host;
    tni_arena arena, pair_arena;
    bool (*may_meet)(const void* user, int a, int b);
    const void* user;

    int       count;
    tni_aabb* fat;
    uint8_t*  kind;
    uint8_t*  moved;     ///< left its fat box since the pairs were updated
    int*      movers;    ///< the moved boxes
    int*      unbounded; ///< boxes of kind UNBOUNDED
    int*      leaf;      ///< node of a box, -1: none
    uint32_t* fitted;    ///< number of the update when it was fitted
    uint32_t* due;       ///< number of the update when to fit again
    tn_vec3*  was;       ///< centre when fitted
    middle*   middles;   ///< scratch for building
    node*     nodes;
    int       node_count, mover_count, unbounded_count;
    double    size, built_size; ///< sum over nodes; its least value since the tree was built
    uint32_t  now;

    int       pair_count, pair_room;
    tni_pair* pairs;
    tn_vec3*  pair_data;
    int*      table; ///< hash table: pair + 1; 0: empty
    uint32_t  mask;
};

// ---- Memory ------------------------------------------------------------------------------------

static uint32_t slot_of(const tni_broad_phase* s, tni_pair p)
{
    uint64_t h = ((uint64_t)(uint32_t)p.a << 32 | (uint32_t)p.b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) & s->mask;
}

static tn_result take_pairs(tni_broad_phase* s, int room)
{
    uint32_t slots = 32;
    while (slots < 2 * (uint32_t)room) slots *= 2;
    tni_arena arena     = tni_arena_make(&s->host);
    tni_pair* pairs     = TNI_TAKE(&arena, tni_pair, room);
    tn_vec3*  pair_data = TNI_TAKE(&arena, tn_vec3, room);
    int*      table     = TNI_TAKE(&arena, int, slots);
    if (arena.failed) {
        tni_arena_free(&arena);
        return TN_ERR_MEMORY;
    }
    if (s->pair_count > 0) {
        memcpy(pairs, s->pairs, sizeof(tni_pair) * (size_t)s->pair_count);
        memcpy(pair_data, s->pair_data, sizeof(tn_vec3) * (size_t)s->pair_count);
    }
    tni_arena_free(&s->pair_arena);
    s->pair_arena = arena, s->pair_room = room, s->mask = slots - 1;
    s->pairs = pairs, s->pair_data = pair_data, s->table = table;
    for (int i = 0; i < s->pair_count; ++i) {
        uint32_t k = slot_of(s, pairs[i]);
        while (table[k] != 0) k = (k + 1) & s->mask;
        table[k] = i + 1;
    }
    return TN_OK;
}

static bool take_boxes(tni_broad_phase* s, int count)
{
    tni_arena* arena = &s->arena;
    const int  room  = count > 0 ? count : 1;
    s->count         = count;
    s->fat           = TNI_TAKE(arena, tni_aabb, room);
    s->kind          = TNI_TAKE(arena, uint8_t, room);
    s->moved         = TNI_TAKE(arena, uint8_t, room);
    s->movers        = TNI_TAKE(arena, int, room);
    s->unbounded     = TNI_TAKE(arena, int, room);
    s->leaf          = TNI_TAKE(arena, int, room);
    s->fitted        = TNI_TAKE(arena, uint32_t, room);
    s->due           = TNI_TAKE(arena, uint32_t, room);
    s->was           = TNI_TAKE(arena, tn_vec3, room);
    s->middles       = TNI_TAKE(arena, middle, room);
    s->nodes         = TNI_TAKE(arena, node, 2 * room);
    return !arena->failed;
}

tn_result tni_broad_phase_create(const tn_host* host, int count, int pairs,
                                 bool (*may_meet)(const void* user, int a, int b), const void* user,
                                 tni_broad_phase** boxes)
{
    const tn_host    own = tni_host_or_default(host);
    tni_broad_phase* s   = tni_host_take(&own, sizeof *s);
    *boxes               = NULL;
    if (s == NULL) return TN_ERR_MEMORY;
    s->host       = own;
    s->arena      = tni_arena_make(&own);
    s->pair_arena = tni_arena_make(&own);
    s->may_meet   = may_meet;
    s->user       = user;
    if (!take_boxes(s, count) || take_pairs(s, pairs > 16 ? pairs : 16) != TN_OK) {
        tni_broad_phase_free(s);
        return TN_ERR_MEMORY;
    }
    for (int i = 0; i < count; ++i) s->leaf[i] = -1;
    *boxes = s;
    return TN_OK;
}

void tni_broad_phase_free(tni_broad_phase* boxes)
{
    if (boxes == NULL) return;
    const tn_host host = boxes->host;
    tni_arena_free(&boxes->arena);
    tni_arena_free(&boxes->pair_arena);
    tni_host_give(&host, boxes, sizeof *boxes);
}

tn_result tni_broad_phase_grow(tni_broad_phase* boxes)
{
    if (boxes->pair_room > (1 << 29)) return TN_ERR_MEMORY;
    return take_pairs(boxes, 2 * boxes->pair_room);
}

size_t tni_broad_phase_bytes(const tni_broad_phase* boxes)
{
    return sizeof *boxes + boxes->arena.bytes + boxes->pair_arena.bytes;
}

// ---- Pairs -------------------------------------------------------------------------------------

// The slot of the pair, or the empty slot where it belongs.
static uint32_t find(const tni_broad_phase* s, tni_pair p)
{
    uint32_t k = slot_of(s, p);
    while (s->table[k] != 0) {
        const tni_pair* other = &s->pairs[s->table[k] - 1];
        if (other->a == p.a && other->b == p.b) break;
        k = (k + 1) & s->mask;
    }
    return k;
}

// False: out of capacity.
static bool add_pair(tni_broad_phase* s, int i, int j)
{
    const tni_pair p = i < j ? (tni_pair){i, j} : (tni_pair){j, i};
    const uint32_t k = find(s, p);
    if (s->table[k] != 0) return true;
    if (s->may_meet != NULL && !s->may_meet(s->user, p.a, p.b)) return true;
    if (s->pair_count == s->pair_room) return false;
    s->pairs[s->pair_count]     = p;
    s->pair_data[s->pair_count] = (tn_vec3){0, 0, 0};
    s->table[k]                 = ++s->pair_count;
    return true;
}

// Empties a slot and moves displaced entries back (linear probing).
static void empty_slot(tni_broad_phase* s, uint32_t hole)
{
    for (uint32_t k = (hole + 1) & s->mask; s->table[k] != 0; k = (k + 1) & s->mask) {
        const uint32_t home = slot_of(s, s->pairs[s->table[k] - 1]);
        if (((k - home) & s->mask) < ((k - hole) & s->mask)) continue; // home is behind the hole
        s->table[hole] = s->table[k];
        hole           = k;
    }
    s->table[hole] = 0;
}

// Replaces the pair by the last one.
static void drop_pair(tni_broad_phase* s, int index)
{
    empty_slot(s, find(s, s->pairs[index]));
    const int last = --s->pair_count;
    if (index == last) return;
    s->table[find(s, s->pairs[last])] = index + 1;
    s->pairs[index]                   = s->pairs[last];
    s->pair_data[index]               = s->pair_data[last];
}

// Removes pairs of moved boxes that no longer overlap.
static void drop_separated(tni_broad_phase* s)
{
    for (int i = s->pair_count - 1; i >= 0; --i) {
        const tni_pair p = s->pairs[i];
        if (!s->moved[p.a] && !s->moved[p.b]) continue;
        if (s->kind[p.a] == NONE || s->kind[p.b] == NONE ||
            !tni_aabb_meet(&s->fat[p.a], &s->fat[p.b]))
            drop_pair(s, i);
    }
}

// ---- Fat boxes ---------------------------------------------------------------------------------

static bool contains(const tni_aabb* a, const tni_aabb* b)
{
    return a->lower.x <= b->lower.x && b->upper.x <= a->upper.x && a->lower.y <= b->lower.y &&
           b->upper.y <= a->upper.y && a->lower.z <= b->lower.z && b->upper.z <= a->upper.z;
}

static int kind_of(const tni_aabb* b)
{
    if (!(b->lower.x <= b->upper.x && b->lower.y <= b->upper.y && b->lower.z <= b->upper.z))
        return NONE;
    return tni_max_abs(b->lower) <= LARGE && tni_max_abs(b->upper) <= LARGE ? PLACED : UNBOUNDED;
}

static void stretch(double* lower, double* upper, double margin, double ahead)
{
    *lower -= margin - fmin(ahead, 0);
    *upper += margin + fmax(ahead, 0);
}

static void fit(tni_broad_phase* s, int i, const tni_aabb* now)
{
    const tn_vec3 side = tni_sub(now->upper, now->lower);
    const tn_vec3 mid  = tni_add_scaled(now->lower, 0.5, side);
    const double  size = tni_max_abs(side), margin = MARGIN * size;
    tn_vec3       ahead = {0, 0, 0};
    if (s->kind[i] == PLACED) {
        const double since = (double)(s->now - s->fitted[i]);
        ahead              = tni_scale(AHEAD / fmax(since, 1), tni_sub(mid, s->was[i]));
        const double most  = tni_max_abs(ahead);
        if (most > size) ahead = tni_scale(size / most, ahead);
    }
    s->due[i]    = tni_max_abs(ahead) > margin ? s->now + PATIENCE : UINT32_MAX;
    s->fitted[i] = s->now;
    s->was[i]    = mid;
    s->fat[i]    = *now;
    stretch(&s->fat[i].lower.x, &s->fat[i].upper.x, margin, ahead.x);
    stretch(&s->fat[i].lower.y, &s->fat[i].upper.y, margin, ahead.y);
    stretch(&s->fat[i].lower.z, &s->fat[i].upper.z, margin, ahead.z);
}

// Refits boxes that left their fat box. True if one of them has no leaf in the tree.
static bool fit_moved(tni_broad_phase* s, const tni_aabb* now)
{
    bool lacking = false, lists = false;
    for (int i = 0; i < s->count; ++i) {
        if (s->kind[i] != NONE && s->due[i] > s->now && contains(&s->fat[i], &now[i])) continue;
        const int kind = kind_of(&now[i]), before = s->kind[i];
        if (kind == NONE && before == NONE) continue;
        if (!s->moved[i]) s->movers[s->mover_count++] = i;
        s->moved[i] = 1;
        if (kind == PLACED) fit(s, i, &now[i]);
        else s->fat[i] = now[i], s->due[i] = UINT32_MAX;
        s->kind[i] = (uint8_t)kind;
        lacking    = lacking || (kind == PLACED && s->leaf[i] < 0);
        lists      = lists || kind == UNBOUNDED || before == UNBOUNDED;
    }
    if (lists) {
        s->unbounded_count = 0;
        for (int i = 0; i < s->count; ++i)
            if (s->kind[i] == UNBOUNDED) s->unbounded[s->unbounded_count++] = i;
    }
    return lacking;
}

// ---- The tree ----------------------------------------------------------------------------------

// Sum of the sides; 0 for an empty box.
static double size_of(const tni_aabb* b)
{
    const tn_vec3 d = tni_sub(b->upper, b->lower);
    return d.x >= 0 ? d.x + d.y + d.z : 0;
}

// Quickselect by coordinate `axis`: the smaller half comes first.
static void halve(middle* m, int count, int axis)
{
    int       first = 0, last = count - 1;
    const int want = count / 2;
    while (first < last) {
        const double pivot = m[first + (last - first) / 2].c[axis];
        int          i = first, j = last;
        while (i <= j) {
            while (m[i].c[axis] < pivot) ++i;
            while (m[j].c[axis] > pivot) --j;
            if (i > j) break;
            const middle t = m[i];
            m[i++]         = m[j];
            m[j--]         = t;
        }
        if (want <= j) last = j;
        else if (want >= i) first = i;
        else return;
    }
}

static int longest_axis(const middle* m, int count)
{
    double side[3];
    for (int k = 0; k < 3; ++k) {
        double lower = m[0].c[k], upper = lower;
        for (int i = 1; i < count; ++i) {
            if (m[i].c[k] < lower) lower = m[i].c[k];
            if (m[i].c[k] > upper) upper = m[i].c[k];
        }
        side[k] = upper - lower;
    }
    return side[0] >= side[1] && side[0] >= side[2] ? 0 : side[1] >= side[2] ? 1 : 2;
}

// Recursion depth: ceil(log2 count).
static void build(tni_broad_phase* s, middle* m, int count, int parent)
{
    const int k = s->node_count++;
    node*     n = &s->nodes[k];
    n->parent   = parent;
    if (count == 1) {
        n->item          = m->item;
        n->box           = s->fat[m->item];
        n->skip          = k + 1;
        s->leaf[n->item] = k;
        return;
    }
    halve(m, count, longest_axis(m, count));
    build(s, m, count / 2, k);
    build(s, m + count / 2, count - count / 2, k);
    n->item = -1;
    n->skip = s->node_count;
    n->box  = tni_aabb_united(&s->nodes[k + 1].box, &s->nodes[s->nodes[k + 1].skip].box);
    s->size += size_of(&n->box);
}

static void rebuild(tni_broad_phase* s)
{
    int count     = 0;
    s->node_count = 0;
    s->size       = 0;
    for (int i = 0; i < s->count; ++i) {
        s->leaf[i] = -1;
        if (s->kind[i] != PLACED) continue;
        const tni_aabb* f   = &s->fat[i];
        s->middles[count++] = (middle){
            {f->lower.x + f->upper.x, f->lower.y + f->upper.y, f->lower.z + f->upper.z}, i};
    }
    if (count > 0) build(s, s->middles, count, -1);
    s->built_size = s->size;
}

static void refit_node(tni_broad_phase* s, node* n, const node* first)
{
    const double before = size_of(&n->box);
    n->box              = tni_aabb_united(&first->box, &s->nodes[first->skip].box);
    s->size += size_of(&n->box) - before;
}

// Refits nodes from the moved leaves up to the root, or all nodes, children before parents.
static void refit(tni_broad_phase* s)
{
    const bool all = s->mover_count > s->node_count / 16;
    for (int i = 0; i < s->mover_count; ++i) {
        const int item = s->movers[i], leaf = s->leaf[item];
        if (leaf < 0) continue;
        s->nodes[leaf].box = s->kind[item] == PLACED ? s->fat[item] : tni_aabb_empty();
        for (int k = s->nodes[leaf].parent; !all && k >= 0; k = s->nodes[k].parent)
            refit_node(s, &s->nodes[k], &s->nodes[k + 1]);
    }
    for (int k = s->node_count - 1; all && k >= 0; --k)
        if (s->nodes[k].item < 0) refit_node(s, &s->nodes[k], &s->nodes[k + 1]);
    if (s->size < s->built_size) s->built_size = s->size;
}

// ---- New pairs ---------------------------------------------------------------------------------

// All pairs in the tree with a moved box: each leaf with the leaves after it.
static bool find_all_pairs(tni_broad_phase* s)
{
    for (int k = 0; k < s->node_count; ++k) {
        const node* leaf = &s->nodes[k];
        if (leaf->item < 0 || s->kind[leaf->item] != PLACED) continue;
        for (int j = k + 1; j < s->node_count;) {
            const node* n = &s->nodes[j];
            if (!tni_aabb_meet(&leaf->box, &n->box)) {
                j = n->skip;
                continue;
            }
            ++j;
            if (n->item < 0 || (!s->moved[n->item] && !s->moved[leaf->item])) continue;
            if (!add_pair(s, leaf->item, n->item)) return false;
        }
    }
    return true;
}

// The pairs of one moved box. Pairs of two moved boxes are found by the lower index.
static bool find_pairs_of(tni_broad_phase* s, int item)
{
    const tni_aabb box = s->fat[item];
    for (int j = 0; j < s->node_count;) {
        const node* n = &s->nodes[j];
        if (!tni_aabb_meet(&box, &n->box)) {
            j = n->skip;
            continue;
        }
        ++j;
        if (n->item < 0 || n->item == item || (s->moved[n->item] && n->item < item)) continue;
        if (!add_pair(s, item, n->item)) return false;
    }
    return true;
}

static bool test_unbounded(tni_broad_phase* s, int w, int i)
{
    if (i == w || s->kind[i] == NONE || (s->kind[i] == UNBOUNDED && s->moved[i] && i < w))
        return true;
    return !tni_aabb_meet(&s->fat[w], &s->fat[i]) || add_pair(s, w, i);
}

static bool find_unbounded_pairs(tni_broad_phase* s)
{
    for (int k = 0; k < s->unbounded_count; ++k) {
        const int  w   = s->unbounded[k];
        const bool all = s->moved[w] != 0;
        for (int i = 0; i < (all ? s->count : s->mover_count); ++i)
            if (!test_unbounded(s, w, all ? i : s->movers[i])) return false;
    }
    return true;
}

static bool find_pairs(tni_broad_phase* s)
{
    if (!find_unbounded_pairs(s)) return false;
    if (s->mover_count > s->node_count / 8) return find_all_pairs(s);
    for (int i = 0; i < s->mover_count; ++i) {
        const int item = s->movers[i];
        if (s->kind[item] == PLACED && !find_pairs_of(s, item)) return false;
    }
    return true;
}

bool tni_broad_phase_update(tni_broad_phase* boxes, const tni_aabb* now)
{
    tni_broad_phase* s       = boxes;
    const bool       lacking = fit_moved(s, now);
    ++s->now;
    if (s->mover_count == 0) return true;
    if (!lacking) refit(s);
    if (lacking || s->size > COARSER * s->built_size) rebuild(s);
    drop_separated(s);
    if (!find_pairs(s)) return false; // moved boxes are kept for the next call
    for (int i = 0; i < s->mover_count; ++i) s->moved[s->movers[i]] = 0;
    s->mover_count = 0;
    return true;
}

int tni_broad_phase_pair_count(const tni_broad_phase* boxes)
{
    return boxes->pair_count;
}

const tni_pair* tni_broad_phase_pairs(const tni_broad_phase* boxes)
{
    return boxes->pairs;
}

tn_vec3* tni_broad_phase_pair_data(tni_broad_phase* boxes, int pair)
{
    return &boxes->pair_data[pair];
}

// ---- Queries -----------------------------------------------------------------------------------

void tni_broad_phase_query(const tni_broad_phase* boxes, const tni_aabb* box,
                           void (*visit)(void* user, int index), void*   user)
{
    for (int j = 0; j < boxes->node_count;) {
        const node* n    = &boxes->nodes[j];
        const bool  hits = tni_aabb_meet(box, &n->box);
        j                = hits ? j + 1 : n->skip;
        if (hits && n->item >= 0 && boxes->kind[n->item] == PLACED) visit(user, n->item);
    }
    for (int i = 0; i < boxes->unbounded_count; ++i)
        if (tni_aabb_meet(box, &boxes->fat[boxes->unbounded[i]])) visit(user, boxes->unbounded[i]);
}

typedef struct waiting {
    int    node;
    double t;
} waiting;

static double tree_ray(const tni_broad_phase* s, tn_vec3 from, tn_vec3 d, double most,
                       double (*visit)(void* user, int index, double most), void* user)
{
    waiting stack[DEPTH_MAX];
    int     depth = 0;
    if (s->node_count > 0)
        stack[depth++] = (waiting){0, tni_ray_enters(&s->nodes[0].box, from, d, most)};
    while (depth > 0) {
        const waiting w = stack[--depth];
        const node*   n = &s->nodes[w.node];
        if (!(w.t <= most)) continue;
        if (n->item >= 0) {
            if (s->kind[n->item] == PLACED) most = visit(user, n->item, most);
            continue;
        }
        const waiting a    = {w.node + 1, tni_ray_enters(&n[1].box, from, d, most)};
        const waiting b    = {n[1].skip, tni_ray_enters(&s->nodes[n[1].skip].box, from, d, most)};
        const bool    near = a.t <= b.t; // visit the nearer one first
        stack[depth++]     = near ? b : a;
        stack[depth++]     = near ? a : b;
    }
    return most;
}

double tni_broad_phase_ray(const tni_broad_phase* boxes, tn_vec3 from, tn_vec3 d, double most,
                           double (*visit)(void* user, int index, double most), void* user)
{
    most = tree_ray(boxes, from, d, most, visit, user);
    for (int i = 0; i < boxes->unbounded_count; ++i) {
        const int w = boxes->unbounded[i];
        if (tni_ray_enters(&boxes->fat[w], from, d, most) <= most) most = visit(user, w, most);
    }
    return most;
}
