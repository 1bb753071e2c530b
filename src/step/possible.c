// possible: what a method cannot do is refused in one line that names the element and the method, before the first
// step. Nothing that a scene asks for is accepted and then ignored.
#include "step/stepper.h"

#define FIRST         " with f = m v"
#define NOTHING_MOVES " has no effect where f = m v (setting 'multiplier.dynamics')"

// Motors and springs with a bound on their force stand in the matrix of one method. Dry friction does not need it.
static tn_result bounds_are_possible(const tn_model* model, const tn_settings* settings,
                                     tn_why* why)
{
    const bool impulse = settings->method == TN_METHOD_IMPULSE;
    if (impulse && settings->impulse.springs == TN_SPRINGS_IMPLICIT) return TN_OK;
    for (int i = 0; i < model->bound_count; ++i) {
        const tni_bound* b = &model->bounds[i];
        if (b->kind == TNI_BOUND_FRICTION) continue;
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "joint '%s': the %s method%s does not bound forces: force_range needs auto",
                        model->joints[b->joint].name, tn_method_word(settings->method),
                        impulse ? " with explicit springs" : "");
    }
    return TN_OK;
}

static tn_result softness_is_possible(const tn_model* model, const tn_settings* settings,
                                      tn_why* why)
{
    const bool impulse = settings->method == TN_METHOD_IMPULSE;
    if (model->soft_body < 0 || (impulse && settings->impulse.springs == TN_SPRINGS_IMPLICIT))
        return TN_OK;
    return tni_fail(
        why, TN_ERR_UNSUPPORTED,
        "body '%s': the %s method%s has no contact of its own stiffness: that needs auto",
        model->bodies[model->soft_body].name, tn_method_word(settings->method),
        impulse ? " with explicit springs" : "");
}

// What a surface has that the method does not; NULL: nothing. Unset (NaN) is nothing, too. first: f = m v.
static const char* missing(tn_method method, bool first, const tni_material* m)
{
    const bool turning = method == TN_METHOD_MULTIPLIER || method == TN_METHOD_IMPLICIT;
    if (turning && m->rolling > 0) return "rolling friction";
    if (turning && m->spinning > 0) return "spinning friction";
    if ((first || method == TN_METHOD_IMPLICIT) && m->restitution > 0) return "restitution";
    return NULL;
}

static bool is_first_order(const tn_settings* settings)
{
    return settings->multiplier.dynamics == TN_DYNAMICS_FIRST;
}

static tn_result surfaces_are_possible(const tn_model* model, const tn_settings* settings,
                                       tn_why* why)
{
    const tn_method method = settings->method;
    const bool      first  = is_first_order(settings);
    const char*     what   = NULL;
    int             body   = 0;
    for (int i = 0; i < model->shape_count && model->shape_count > 1 && what == NULL; ++i) {
        what = missing(method, first, &model->shapes[i].material);
        body = model->shapes[i].body;
    }
    for (int i = 0; i < model->pair_count && what == NULL; ++i) {
        what = missing(method, first, &model->pairs[i].material);
        body = (int)(model->pairs[i].key & UINT32_MAX); // the later one of the two
    }
    if (what == NULL) return TN_OK;
    return tni_fail(why, TN_ERR_UNSUPPORTED,
                    "body '%s': the %s method%s has no %s: that needs auto",
                    model->bodies[body].name, tn_method_word(method), first ? FIRST : "", what);
}

static tn_result limits_are_possible(const tn_model* model, const tn_settings* settings,
                                     tn_why* why)
{
    const tn_method method = settings->method;
    const bool      first  = is_first_order(settings);
    if (!first && method != TN_METHOD_IMPLICIT && method != TN_METHOD_ADAPTIVE) return TN_OK;
    for (int i = 0; i < model->limit_count; ++i) {
        const tni_limit* limit = &model->limits[i];
        if (!(limit->restitution > 0)) continue;
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "joint '%s': the %s method%s has no restitution of limits and ropes: that "
                        "needs auto",
                        model->joints[limit->joint].name, tn_method_word(method),
                        first ? FIRST : "");
    }
    return TN_OK;
}

static tn_result users_are_possible(const tn_model* model, tn_method method, tn_why* why)
{
    for (int i = 0; i < model->constraint_count && method == TN_METHOD_IMPLICIT; ++i) {
        const tni_constraint* c = &model->constraints[i];
        if (!c->pushes_otherwise) continue;
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "constraint '%s': the implicit method pushes along J^T only: force_at needs auto",
            model->users[c->index].name);
    }
    return TN_OK;
}

// f = m v: forces are those at rest, where nothing is damped and nothing rubs.
static tn_result first_order_is_possible(const tn_model* model, const tn_settings* settings,
                                         bool automatic, tn_why* why)
{
    if (!is_first_order(settings)) return TN_OK;
    if (settings->method != TN_METHOD_MULTIPLIER)
        return tni_fail(why, TN_ERR_UNSUPPORTED,
                        "setting 'multiplier.dynamics': method %s supports second-order dynamics "
                        "(f = m a) only",
                        tn_method_word(automatic ? TN_METHOD_AUTO : settings->method));
    for (int i = 0; i < model->actuation_count; ++i) {
        const tni_joint_force* a = &model->actuations[i];
        if (!(a->damping > 0) && !(a->friction > 0)) continue;
        return tni_fail(why, TN_ERR_UNSUPPORTED, "joint '%s': %s" NOTHING_MOVES,
                        model->joints[a->joint].name, a->damping > 0 ? "damping" : "friction");
    }
    for (int i = 0; i < model->spring_count; ++i) {
        const char* name = model->spring_names.of != NULL ? model->spring_names.of[i] : NULL;
        if (!(model->springs[i].damping > 0)) continue;
        return tni_fail(why, TN_ERR_UNSUPPORTED, "spring %d%s%s%s: damping" NOTHING_MOVES, i + 1,
                        name != NULL ? " '" : "", name != NULL ? name : "",
                        name != NULL ? "'" : "");
    }
    return TN_OK;
}

static tn_result matrix_is_possible(const tn_model* model, const tn_settings* settings, tn_why* why)
{
    const bool bodies_only = settings->impulse.formulation == TN_FORMULATION_SPD ||
                             settings->impulse.formulation == TN_FORMULATION_SPLIT;
    if (settings->method != TN_METHOD_IMPULSE) return TN_OK;
    if (model->core.auxiliary_rows > 0 && bodies_only)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "setting 'impulse.formulation': '%s' has auxiliary constraints, which only kkt "
            "supports",
            model->name);
    if (settings->impulse.springs == TN_SPRINGS_EXPLICIT) return TN_OK;
    if (bodies_only)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "setting 'impulse.formulation': implicit springs stand in the matrix of kkt only");
    if (model->core.auxiliary_rows > 0)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "setting 'impulse.springs': '%s' has auxiliary constraints, which only explicit takes",
            model->name);
    return TN_OK;
}

tn_result tni_is_possible(const tn_model* model, const tn_settings* settings, bool automatic,
                          tn_why* why)
{
    const tn_method method = settings->method;
    TRY(first_order_is_possible(model, settings, automatic, why));
    TRY(bounds_are_possible(model, settings, why));
    TRY(softness_is_possible(model, settings, why));
    TRY(surfaces_are_possible(model, settings, why));
    TRY(limits_are_possible(model, settings, why));
    TRY(users_are_possible(model, method, why));
    if (settings->accuracy > 0 && method != TN_METHOD_IMPULSE)
        return tni_fail(
            why, TN_ERR_UNSUPPORTED,
            "setting 'accuracy': method '%s' does not control its error by it; auto and impulse do",
            tn_method_word(method));
    return matrix_is_possible(model, settings, why);
}
