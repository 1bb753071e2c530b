// Invariants after every choice of active joints: touched nodes, lists, position terms of rigid
// nodes, and kinetic energy before and after rigidification.
#include "support/adaptive_rig.h"

#ifdef TENON_TEST_LIGHT
enum { SCENES = 10, STEPS = 20 };
#else
enum { SCENES = 60, STEPS = 30 };
#endif

typedef struct choice_case {
    test_random       random;
    random_mechanism* m;
    adaptive_rig*     g;
    double            h;
    int               steps; ///< steps taken
    bool              found; ///< joints were held before, as by an earlier choice
} choice_case;

static choice_case case_make(uint64_t seed)
{
    choice_case c = {.random = {seed}};
    const int   n = test_random_int(&c.random, 1, 24);
    c.m           = adaptive_scene(&c.random, n, test_random_int(&c.random, 1, 5),
                                   ADAPTIVE_ALL | ADAPTIVE_LIMITS);
    const tn_adaptive_settings settings = adaptive_random_settings(&c.random, n);
    c.g                                 = adaptive_rig_make(c.m->model, &settings);
    c.h                                 = 1e-3;
    adaptive_disturb(c.g, c.m, &c.random, 0.7, 1);
    c.found = test_random_unit(&c.random) < 0.4;
    if (c.found) adaptive_hold(c.g, c.m, &c.random, test_random_unit(&c.random), settings.period);
    return c;
}

static void case_free(choice_case* c)
{
    adaptive_rig_free(c->g);
    random_mechanism_free(c->m);
}

// One step, and the state after it.
static void case_step(choice_case* c)
{
    if (!adaptive_step(c->g, c->m->state, c->h)) return;
    adaptive_keep(c->g, c->m->state);
    c->m->state->time += c->h;
    ++c->steps;
}

// ---- Touched nodes ------------------------------------------------------------------------------

static bool counts(const tni_tree_link* link)
{
    return link->freedoms > 0 && link->joint >= 0;
}

// By definition: the nodes with an active joint at or below them, and the roots.
static void check_touched(const tni_adaptive* a)
{
    const tni_node* nodes  = a->assembly->nodes;
    uint8_t*        wanted = calloc((size_t)a->assembly->count + 1, 1);
    int             listed = 0, touched = 0;
    for (int n = 0; n < a->assembly->count; ++n) {
        wanted[n] = nodes[n].up < 0;
        if (nodes[n].b < 0) continue;
        wanted[n] = wanted[n] || a->active[nodes[n].link] || wanted[nodes[n].b] ||
                    (nodes[n].a >= 0 && wanted[nodes[n].a]);
        touched += wanted[n];
    }
    CHECK(memcmp(wanted, a->touched, (size_t)a->assembly->count) == 0);
    for (int t = 0; t < a->trees->tree_count; ++t) {
        const tni_figure* figure = &a->figures[t];
        listed += figure->touched_count;
        for (int i = 0; i < figure->touched_count; ++i) {
            const int n = figure->touched[i], up = nodes[n].up;
            CHECK(a->touched[n]);
            bool before = up < 0;
            for (int k = 0; k < i; ++k) before = before || figure->touched[k] == up;
            CHECK(before); // parents before children
        }
    }
    CHECK_INT(listed, touched);
    free(wanted);
}

static void check_active(const tni_adaptive* a)
{
    int listed = 0, active = 0;
    for (int t = 0; t < a->trees->tree_count; ++t) {
        const tni_figure* figure = &a->figures[t];
        listed += figure->active_count;
        for (int i = 0; i < figure->active_count; ++i) CHECK(a->active[figure->active[i]]);
        const int root = a->trees->first[t];
        if (figure->floats) CHECK(a->active[root]);
    }
    for (int i = 0; i < a->trees->count; ++i) {
        const tni_tree_link* link = &a->trees->links[i];
        active += a->active[i];
        CHECK(link->freedoms > 0 || !a->active[i]);
        for (int k = link->v; k < link->v + link->freedoms && !a->active[i]; ++k)
            CHECK(a->v[k] == 0);
    }
    CHECK_INT(listed, active);
}

// Every root has one child, every other inner node two, so a set of nodes that has the roots and is
// closed upwards has as many children outside as it has nodes. inside: by node.
static void check_front(const tni_adaptive* a, const uint8_t* inside)
{
    int count = 0, front = 0;
    for (int n = 0; n < a->assembly->count; ++n) {
        count += inside[n];
        front += !inside[n] && inside[a->assembly->nodes[n].up];
    }
    CHECK_INT(front, count);
}

// Nodes with an external force at or below them, in the state that the choice saw.
static void check_fronts(const tni_adaptive* a)
{
    check_front(a, a->touched);
    uint8_t* update = malloc((size_t)a->assembly->count + 1);
    memcpy(update, a->touched, (size_t)a->assembly->count);
    for (int i = 0; i < a->loaded_count + a->grabbed_count; ++i)
        for (int n = a->assembly->nodes[a->assembly->leaf[a->loaded[i].link]].up;
             a->loaded[i].loaded && n >= 0; n = a->assembly->nodes[n].up)
            update[n] = 1;
    check_front(a, update);
    free(update);
}

static bool is_rigid(const tni_adaptive* a, int n)
{
    return !a->touched[n] && a->assembly->nodes[n].b >= 0;
}

static void check_marks(const tni_adaptive* a)
{
    for (int n = 0; n < a->assembly->count; ++n) {
        CHECK_INT(a->parts[n].mark, 0);
        CHECK_INT(a->loaded_nodes[n], 0);
        if (a->assembly->nodes[n].b >= 0) CHECK(a->parts[n].fresh == !a->touched[n]);
    }
}

TEST(regions_after_a_choice)
{
    for (uint64_t seed = 1; seed <= SCENES; ++seed) {
        choice_case c = case_make(seed);
        while (c.steps < STEPS) {
            const int before = c.steps;
            case_step(&c);
            if (c.steps == before) break; // already reported
            check_touched(c.g->a);
            check_active(c.g->a);
            check_fronts(c.g->a);
            check_marks(c.g->a);
        }
        case_free(&c);
    }
}

// ---- Number of active joints --------------------------------------------------------------------

static int active_of(const tni_adaptive* a, int tree)
{
    return a->figures[tree].active_count - a->figures[tree].floats;
}

// Joints expanded in the last choice, without floating roots.
static int looked_at(const tni_adaptive* a, int tree)
{
    int count = 0;
    for (int i = 0; i < a->figures[tree].expanded_count; ++i)
        count += counts(&a->trees->links[a->assembly->nodes[a->figures[tree].expanded[i]].link]);
    return count;
}

static void check_closed(const tni_adaptive* a)
{
    for (int i = 0; i < a->trees->count; ++i) {
        if (!a->active[i]) continue;
        for (int n = a->assembly->joint[i]; n >= 0; n = a->assembly->nodes[n].up) {
            const int link = a->assembly->nodes[n].link;
            CHECK(a->active[link] || a->trees->links[link].freedoms == 0);
        }
    }
}

TEST(active_and_expanded_joints_stay_within_their_bounds)
{
    int choices = 0, closed = 0;
    for (uint64_t seed = 1; seed <= 2 * SCENES; ++seed) {
        choice_case                 c = case_make(seed);
        const tn_adaptive_settings* s = &c.g->a->settings;
        for (int step = 0; step < STEPS / 2; ++step) {
            int active = 0, looked = 0, trees = 0;
            case_step(&c);
            if (c.g->report.choices == 0) continue;
            ++choices;
            if (c.found && (s->choice == TN_CHOICE_FIXED || step < s->period))
                continue; // not all trees chose
            for (int t = 0; t < c.g->a->trees->tree_count; ++t) {
                active += active_of(c.g->a, t), looked += looked_at(c.g->a, t);
                if (s->pixels > 0 &&
                    (step == 0 || (step + t) % s->period == 0)) // this tree chose now
                    CHECK(active_of(c.g->a, t) <= c.g->a->figures[t].quota);
                trees += c.g->a->figures[t].joints > 0;
            }
            CHECK_INT(c.g->report.active, active);
            CHECK(s->bounded || active <= s->active || (s->pixels > 0 && active <= trees));
            if (s->pixels > 0 || s->choice == TN_CHOICE_FIXED) continue;
            CHECK((s->bounded && s->update == 0) ||
                  looked <= (s->update > 0 ? s->update : 3 * s->active));
            if (!c.found && (s->choice == TN_CHOICE_CLOSED || s->bounded))
                check_closed(c.g->a), ++closed;
        }
        case_free(&c);
    }
    CHECK(choices > 5 * SCENES && closed > SCENES / 2);
}

// ---- Position terms of rigid nodes --------------------------------------------------------------

static bool same(const void* a, const void* b, size_t count, size_t size)
{
    return memcmp(a, b, count * size) == 0;
}

static void compare_kept(const tni_adaptive* a, const tni_adaptive* fresh)
{
    for (int n = 0; n < a->assembly->count; ++n) {
        const tni_position_terms *one = &a->parts[n].at_position,
                                 *two = &fresh->parts[n].at_position;
        const size_t f                = 6 * (size_t)a->assembly->nodes[n].handle_count;
        CHECK_INT(a->touched[n], fresh->touched[n]);
        if (!is_rigid(a, n)) continue;
        CHECK(same(&a->frames[n], &fresh->frames[n], 1, sizeof *a->frames));
        if (!a->metrics) continue;
        CHECK_INT(one->rows, two->rows);
        CHECK_INT(one->lead, two->lead);
        CHECK(same(one->Phi, two->Phi, f * f, sizeof(double)));
        CHECK(same(one->B, two->B, f * TNI_QUADRATIC, sizeof(double)));
        CHECK(same(one->G, two->G, (size_t)one->rows * (f + TNI_QUADRATIC), sizeof(double)));
    }
    for (int i = 0; i < a->trees->count; ++i) {
        const tni_tree_link* link = &a->trees->links[i];
        const size_t         d    = (size_t)link->freedoms;
        CHECK_INT(a->active[i], fresh->active[i]);
        if (a->active[i]) continue;
        CHECK(same(a->S + link->v, fresh->S + link->v, d, sizeof(tni_spatial)));
        CHECK(same(a->Q + link->v, fresh->Q + link->v, d, sizeof(double)));
        CHECK(same(a->K + link->k, fresh->K + link->k, d * d, sizeof(double)));
    }
    for (int t = 0; t < a->trees->tree_count; ++t)
        CHECK_INT(a->figures[t].now.count, fresh->figures[t].now.count);
}

// Bit for bit those that a new workspace computes from the state alone; its next step is the same.
TEST(kept_position_terms_equal_new_ones)
{
    for (uint64_t seed = 1; seed <= SCENES; ++seed) {
        choice_case c = case_make(seed);
        for (int step = 0; step < STEPS; step += 3) {
            for (int k = 0; k < 3; ++k) case_step(&c);
            adaptive_rig* fresh = adaptive_rig_make(c.m->model, &c.g->a->settings);
            tni_adaptive_load(fresh->a, c.m->state, c.h);
            compare_kept(c.g->a, fresh->a);
            tn_state* copy;
            CHECK_OK(tn_state_create(c.m->model, &copy));
            tn_state_copy(copy, c.m->state);
            CHECK(adaptive_step(fresh, copy, c.h));
            case_step(&c);
            CHECK(same(fresh->a->q, c.g->a->q, (size_t)c.g->a->trees->q_count, sizeof(double)));
            CHECK(same(fresh->a->v, c.g->a->v, (size_t)c.g->a->trees->v_count, sizeof(double)));
            CHECK(same(fresh->a->active, c.g->a->active, (size_t)c.g->a->trees->count, 1));
            tn_state_free(copy);
            adaptive_rig_free(fresh);
        }
        case_free(&c);
    }
}

// ---- Energy -------------------------------------------------------------------------------------

// v of the transient active region, then of the chosen joints, at the same positions, before the
// step. Each tree is a case.
TEST(kinetic_energy_never_rises_when_joints_become_held)
{
#ifdef TENON_TEST_LIGHT
    const int wanted = 1000;
#else
    const int wanted = 10000;
#endif
    int    cases = 0, lost = 0;
    double rise = 0, apart = 0;
    for (uint64_t seed = 1; cases < wanted && seed < 100000; ++seed) {
        choice_case   c     = case_make(seed);
        tni_adaptive* a     = c.g->a;
        a->settings.bounded = false;
        for (int step = 0; step < 16; ++step) {
            memcpy(c.g->q, a->q, sizeof(double) * (size_t)a->trees->q_count);
            a->settings.active = a->allowed = test_random_int(&c.random, 1, 8);
            if (step == 0) tni_adaptive_load(a, c.m->state, c.h);
            memcpy(c.g->q, a->q, sizeof(double) * (size_t)a->trees->q_count);
            const bool chose = a->step % a->settings.period == 0 && a->settings.pixels <= 0 &&
                               a->settings.choice != TN_CHOICE_FIXED;
            case_step(&c);
            for (int t = 0; t < a->trees->tree_count && chose; ++t) {
                tni_figure*  figure = &a->figures[t];
                const double before = tni_hybrid_kinetic(&figure->next);
                tni_hybrid_move(&figure->now, c.g->q, a->before);
                const double after = tni_hybrid_kinetic(&figure->now);
                CHECK(figure->kinetic_loss >= 0);
                rise  = fmax(rise, (after - before) / (before + 1e-12));
                apart = fmax(apart, fabs(before - after - figure->kinetic_loss) / (before + 1e-12));
                lost += figure->kinetic_loss > 1e-9 * before;
                ++cases;
            }
        }
        case_free(&c);
    }
    CHECK(cases >= wanted && lost > wanted / 10);
    CHECK_LESS(rise, 1e-12);  // rounding of the two sums
    CHECK_LESS(apart, 1e-10); // energy lost is energy missing
}
