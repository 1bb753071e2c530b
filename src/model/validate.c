// validate: checks a part when it is added to a scene, as far as only earlier parts are needed, so
// that the message can name it while its author still looks at it.
//
// A check returns false after tni_refuse(), which says in one sentence what is wrong with which
// part. Comparisons are written so that NaN fails. Checks read only numbers that apply to the
// part's kind; others are ignored, except where ignoring them would hide a mistake.
#include "geom/convex_hull.h"
#include "math/elementary.h"
#include "math/vec3.h"
#include "model/inertia.h"
#include "model/joint_types.h"
#include "model/scene.h"

#include <math.h>
#include <stdio.h>

static const double LENGTH_MIN = 1e-9; // axes and quaternions shorter than this have no direction
static const double PLANE_TOLERANCE = 1e-9; // largest tilt of a planar body out of its plane
static const double CROSS_TOLERANCE = 1e-6; // cosine between the axes of a universal joint
static const double CONE_MIN =
    1e-3; // a hard cone limit stays this far from 0 and pi: see joint/hard_limit.c
static const double TWIST_MAX =
    3; // a hard twist limit stays clear of pi, where the twist jumps [rad]

enum {
    CONSTRAINT_BODIES_MAX = 8,
    CONSTRAINT_ROWS_MAX   = 12,
    USER_DIM_MAX          = 64,
    USER_COORDINATES_MAX  = 256
};

// ---- Names -------------------------------------------------------------------------------------

// Length of the UTF-8 character at s; 0: invalid (overlong, a surrogate, or beyond U+10FFFF).
static int utf8_length(const unsigned char* s)
{
    if (s[0] < 0x80) return 1;
    const int length = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (int k = 1; k < length; ++k) {
        if ((s[k] & 0xc0) != 0x80) return 0; // stops at the terminating zero too
    }
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return length;
}

static bool is_control(const unsigned char* s)
{
    return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
}

bool tni_check_name(tni_adding* a, const char* name)
{
    const unsigned char* s = (const unsigned char*)name;
    int                  i = 0;
    while (s[i] != 0 && i <= TNI_NAME_MAX) {
        const int length = utf8_length(s + i);
        if (length == 0) return tni_refuse(a, "name is not valid UTF-8");
        if (is_control(s + i)) return tni_refuse(a, "name contains a control character");
        i += length;
    }
    if (i > TNI_NAME_MAX) return tni_refuse(a, "name is longer than %d bytes", TNI_NAME_MAX);
    if (strcmp(name, "ground") == 0)
        return tni_refuse(a, "the name 'ground' is reserved for the world");
    return true;
}

// ---- Numbers -----------------------------------------------------------------------------------

static bool finite_points(const tn_vec3* points, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!tni_all_finite(&points[i].x, 3)) return false;
    }
    return true;
}

static bool finite_number(tni_adding* a, const char* what, double x)
{
    return isfinite(x) || tni_refuse(a, "%s must be finite, is %g", what, x);
}

static bool finite_vector(tni_adding* a, const char* what, tn_vec3 v)
{
    const double x[3] = {v.x, v.y, v.z};
    return tni_all_finite(x, 3) || tni_refuse(a, "%s must be finite", what);
}

static bool positive(tni_adding* a, const char* what, double x)
{
    if (!finite_number(a, what, x)) return false;
    return x > 0 || tni_refuse(a, "%s must be positive, is %g", what, x);
}

static bool not_negative(tni_adding* a, const char* what, double x)
{
    if (!finite_number(a, what, x)) return false;
    return x >= 0 || tni_refuse(a, "%s must not be negative, is %g", what, x);
}

static bool positive_or_unset(tni_adding* a, const char* what, double x)
{
    return isnan(x) || positive(a, what, x);
}

static bool in_unit_range(tni_adding* a, const char* what, double x)
{
    return (x >= 0 && x <= 1) || tni_refuse(a, "%s must lie in 0..1, is %g", what, x);
}

static bool role(tni_adding* a, tn_role x)
{
    return (unsigned)x < TN_ROLE_COUNT || tni_refuse(a, "unknown role");
}

static bool direction(tni_adding* a, const char* what, tn_vec3 v)
{
    const double length = tni_norm(v);
    if (!finite_vector(a, what, v)) return false;
    if (!isfinite(length)) return tni_refuse(a, "%s is too long", what);
    return length > LENGTH_MIN || tni_refuse(a, "%s has zero length", what);
}

static double quat_length(tn_quat q)
{
    return sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
}

static bool frame(tni_adding* a, const char* what, const tn_frame* f)
{
    const double* q      = &f->orientation.w;
    const double  length = quat_length(f->orientation);
    if (!finite_vector(a, what, f->position)) return false;
    if (!tni_all_finite(q, 4) || !isfinite(length))
        return tni_refuse(a, "orientation of %s must be finite", what);
    return length > LENGTH_MIN || tni_refuse(a, "orientation of %s has zero length", what);
}

static bool pose_keys(tni_adding* a, const tn_key* keys, int count)
{
    if (keys == NULL || count < 1) return tni_refuse(a, "needs at least one key");
    for (int i = 0; i < count; ++i) {
        char what[32];
        snprintf(what, sizeof what, "key %d", i + 1);
        if (!finite_number(a, "key time", keys[i].time) || !frame(a, what, &keys[i].pose))
            return false;
        if (i > 0 && !(keys[i].time > keys[i - 1].time)) {
            return tni_refuse(a, "key times must increase, but %g follows %g", keys[i].time,
                              keys[i - 1].time);
        }
    }
    return true;
}

static bool value_keys(tni_adding* a, const tn_value_key* keys, int count)
{
    if (keys == NULL || count < 1) return tni_refuse(a, "needs at least one velocity key");
    for (int i = 0; i < count; ++i) {
        if (!finite_number(a, "velocity key time", keys[i].time) ||
            !finite_number(a, "velocity key", keys[i].value))
            return false;
        if (i > 0 && !(keys[i].time > keys[i - 1].time)) {
            return tni_refuse(a, "velocity key times must increase, but %g follows %g",
                              keys[i].time, keys[i - 1].time);
        }
    }
    return true;
}

static bool wind(tni_adding* a, const tn_drag_def* def)
{
    const tn_vector_key* keys = def->wind_keys;
    if (def->wind_key_count == 0) return finite_vector(a, "wind", def->wind);
    if (keys == NULL || def->wind_key_count < 1)
        return tni_refuse(a, "needs at least one wind key");
    for (int i = 0; i < def->wind_key_count; ++i) {
        if (!finite_number(a, "wind key time", keys[i].time) ||
            !finite_vector(a, "wind key", keys[i].value))
            return false;
        if (i > 0 && !(keys[i].time > keys[i - 1].time)) {
            return tni_refuse(a, "wind key times must increase, but %g follows %g", keys[i].time,
                              keys[i - 1].time);
        }
    }
    return true;
}

// ---- Other parts -------------------------------------------------------------------------------

static const tn_body_def* body_of(const tni_adding* a, tn_body_id id)
{
    return id.bits == 0 ? NULL : tn_scene_body(a->scene, (int)id.bits - 1);
}

static bool body_exists(tni_adding* a, tn_body_id id)
{
    return id.bits <= (uint32_t)tn_scene_body_count(a->scene) || tni_refuse(a, "no such body");
}

static bool can_move(const tni_adding* a, tn_body_id id)
{
    const tn_body_def* body = body_of(a, id);
    return body != NULL && body->kind != TN_BODY_STATIC && body->kind != TN_BODY_KINEMATIC;
}

static bool movable_body(tni_adding* a, tn_body_id id)
{
    if (!body_exists(a, id)) return false;
    const tn_body_def* body = body_of(a, id);
    return can_move(a, id) ||
           tni_refuse(a, "body '%s' cannot be moved", body == NULL ? "ground" : body->name);
}

static bool two_bodies(tni_adding* a, tn_body_id body1, tn_body_id body2)
{
    if (!body_exists(a, body1) || !body_exists(a, body2)) return false;
    if (body1.bits != body2.bits) return true;
    return tni_refuse(a, "both its bodies are '%s'",
                      body1.bits == 0 ? "ground" : body_of(a, body1)->name);
}

// ---- Bodies ------------------------------------------------------------------------------------

static bool convex(tni_adding* a, const tn_shape_def* s, int number)
{
    if (s->points == NULL || s->point_count < 4)
        return tni_refuse(a, "shape %d: convex needs at least 4 points", number);
    if (!finite_points(s->points, s->point_count))
        return tni_refuse(a, "shape %d: points must be finite", number);
    return tni_points_span(s->points, s->point_count) ||
           tni_refuse(a, "shape %d: all points of the convex lie in one plane", number);
}

// A mesh given by file name only was not read: it can be drawn, but has no contact.
static bool named_mesh(tni_adding* a, const tn_shape_def* s, int number)
{
    if (s->file == NULL || s->file[0] == 0)
        return tni_refuse(a, "shape %d: mesh needs vertices and triangles", number);
    if (s->collide || !isnan(s->density)) {
        return tni_refuse(
            a, "shape %d: its mesh was not read: tn_mesh_read() gives vertices and triangles",
            number);
    }
    return true;
}

static bool mesh(tni_adding* a, const tn_shape_def* s, int number)
{
    if (!isnan(s->pieces_tolerance) &&
        !(s->pieces_tolerance > 0 && isfinite(s->pieces_tolerance))) {
        return tni_refuse(a, "pieces tolerance of shape %d must be positive, is %g", number,
                          s->pieces_tolerance);
    }
    if (s->vertex_count == 0 && s->triangle_count == 0) return named_mesh(a, s, number);
    if (s->vertices == NULL || s->vertex_count < 3 || s->triangles == NULL || s->triangle_count < 1)
        return tni_refuse(a, "shape %d: mesh needs at least 3 vertices and a triangle", number);
    if (!finite_points(s->vertices, s->vertex_count))
        return tni_refuse(a, "shape %d: vertices must be finite", number);
    for (int i = 0; i < s->triangle_count; ++i) {
        for (size_t k = 3 * (size_t)i; k < 3 * (size_t)i + 3; ++k) {
            if (s->triangles[k] >= 0 && s->triangles[k] < s->vertex_count) continue;
            return tni_refuse(a, "shape %d: triangle %d has vertex %d, but vertices are 0 to %d",
                              number, i + 1, s->triangles[k], s->vertex_count - 1);
        }
    }
    return true;
}

static bool heights(tni_adding* a, const tn_shape_def* s, tn_body_kind kind, int number)
{
    if (kind != TN_BODY_STATIC)
        return tni_refuse(a, "shape %d: heights are for static bodies only", number);
    if (s->heights == NULL || s->rows < 2 || s->columns < 2) {
        return tni_refuse(a, "shape %d: heights need at least 2 rows of 2 columns, have %d of %d",
                          number, s->rows, s->columns);
    }
    if (2.0 * (s->rows - 1.0) * (s->columns - 1.0) > TNI_TRIANGLES_MAX) {
        return tni_refuse(a, "shape %d: heights make more than %d triangles, two for each cell",
                          number, TNI_TRIANGLES_MAX);
    }
    if (!(s->spacing[0] > 0 && isfinite(s->spacing[0]) && s->spacing[1] > 0 &&
          isfinite(s->spacing[1]))) {
        return tni_refuse(a, "spacing of shape %d must be positive, is %g and %g", number,
                          s->spacing[0], s->spacing[1]);
    }
    return tni_all_finite(s->heights, s->rows * s->columns) ||
           tni_refuse(a, "shape %d: heights must be finite", number);
}

static bool shape_size(tni_adding* a, const tn_shape_def* s, tn_body_kind kind, int number)
{
    char what[64];
    switch (s->type) {
    case TN_SHAPE_BOX:
        snprintf(what, sizeof what, "half size of shape %d", number);
        return positive(a, what, s->half_size.x) && positive(a, what, s->half_size.y) &&
               positive(a, what, s->half_size.z);
    case TN_SHAPE_CAPSULE:
    case TN_SHAPE_CYLINDER:
        snprintf(what, sizeof what, "half length of shape %d", number);
        if (!positive(a, what, s->half_length)) return false;
        // fall through
    case TN_SHAPE_SPHERE:
        snprintf(what, sizeof what, "radius of shape %d", number);
        return positive(a, what, s->radius);
    case TN_SHAPE_CONVEX: return convex(a, s, number);
    case TN_SHAPE_MESH: return mesh(a, s, number);
    case TN_SHAPE_HEIGHTS: return heights(a, s, kind, number);
    case TN_SHAPE_PLANE: return true;
    case TN_SHAPE_TYPE_COUNT: break;
    }
    return tni_refuse(a, "shape %d: unknown type", number);
}

static bool resistance(tni_adding* a, const char* what, double x, int number)
{
    return (x >= 0 && isfinite(x)) ||
           tni_refuse(a, "%s of shape %d must not be negative, is %g", what, number, x);
}

static bool surface(tni_adding* a, const tn_shape_def* s, int number)
{
    if (!resistance(a, "friction", s->friction, number) ||
        !resistance(a, "rolling friction", s->rolling_friction, number) ||
        !resistance(a, "spinning friction", s->spinning_friction, number))
        return false;
    if (!isnan(s->stiffness) && !(s->stiffness > 0 && isfinite(s->stiffness)))
        return tni_refuse(a, "stiffness of shape %d must be positive, is %g", number, s->stiffness);
    if (!resistance(a, "damping", s->damping, number)) return false;
    if (isnan(s->stiffness) && s->damping > 0)
        return tni_refuse(a, "damping of shape %d needs a stiffness", number);
    if (!(s->restitution >= 0 && s->restitution <= 1)) {
        return tni_refuse(a, "restitution of shape %d must lie in 0..1, is %g", number,
                          s->restitution);
    }
    if (!tni_all_finite(&s->surface_velocity.x, 3))
        return tni_refuse(a, "surface velocity of shape %d must be finite", number);
    return (s->group >= 0 && s->group < TNI_GROUPS) ||
           tni_refuse(a, "group of shape %d must lie in 0..%d, is %d", number, TNI_GROUPS - 1,
                      s->group);
}

static bool shape(tni_adding* a, const tn_shape_def* s, tn_body_kind kind, int number)
{
    char what[32];
    snprintf(what, sizeof what, "shape %d", number);
    if (!tni_check_made(a, s->cookie == TNI_COOKIE_SHAPE, "shape", number)) return false;
    if (!shape_size(a, s, kind, number) || !frame(a, what, &s->pose)) return false;
    if (!isnan(s->density) && !(s->density > 0 && isfinite(s->density))) {
        return tni_refuse(a, "density of shape %d must be positive, is %g", number, s->density);
    }
    if (!surface(a, s, number)) return false;
    const tn_vec3 c = s->color;
    if (isnan(c.x) || (c.x >= 0 && c.x <= 1 && c.y >= 0 && c.y <= 1 && c.z >= 0 && c.z <= 1))
        return true;
    return tni_refuse(a, "color of shape %d must lie in 0..1", number);
}

static bool shapes(tni_adding* a, const tn_body_def* def)
{
    if (def->shape_count < 0 || (def->shape_count > 0 && def->shapes == NULL)) {
        return tni_refuse(a, "shapes are missing");
    }
    for (int i = 0; i < def->shape_count; ++i) {
        if (!shape(a, &def->shapes[i], def->kind, i + 1)) return false;
    }
    return true;
}

static bool nonzero(tn_vec3 v)
{
    return v.x != 0 || v.y != 0 || v.z != 0;
}

static bool motion(tni_adding* a, const tn_body_def* def)
{
    const tn_twist* v = &def->velocity;
    if (!frame(a, "pose", &def->pose) || !finite_vector(a, "velocity", v->linear) ||
        !finite_vector(a, "angular velocity", v->angular)) {
        return false;
    }
    const bool turns = nonzero(v->angular), moves = turns || nonzero(v->linear);
    if (def->kind == TN_BODY_STATIC && moves) return tni_refuse(a, "a static body has no velocity");
    if (def->kind == TN_BODY_KINEMATIC && moves)
        return tni_refuse(a, "the keys of a kinematic body give its velocity");
    if (def->kind == TN_BODY_PARTICLE && turns)
        return tni_refuse(a, "a particle has no angular velocity");
    if (def->kind != TN_BODY_PLANAR) return true;
    const tn_quat q = def->pose.orientation;
    if (fmax(fabs(q.x), fabs(q.y)) > PLANE_TOLERANCE * quat_length(q)) {
        return tni_refuse(a, "orientation of a planar body must be a rotation about z");
    }
    const double out = fmax(fabs(v->linear.z), fmax(fabs(v->angular.x), fabs(v->angular.y)));
    return out <= PLANE_TOLERANCE ||
           tni_refuse(a, "velocity of a planar body must stay in its plane");
}

static bool given_inertia(tni_adding* a, const tn_body_def* def)
{
    if (!isnan(def->mass) && !positive(a, "mass", def->mass)) return false;
    if (!isnan(def->com.x) && !finite_vector(a, "centre of mass", def->com)) return false;
    if (isnan(def->inertia[0])) return true;
    return tni_all_finite(def->inertia, 6) || tni_refuse(a, "inertia must be finite");
}

// The mass and inertia that the model will use, given or from shapes.
static bool final_inertia(tni_adding* a, const tn_body_def* def)
{
    tn_body_def named = *def;
    named.name        = a->name;
    double  mass, volume, inertia[6];
    tn_vec3 com;
    if (tni_body_inertia(&a->scene->host, &named, &mass, &com, inertia, &volume, &a->why) != TN_OK)
        return false;
    if (!isfinite(mass)) return tni_refuse(a, "mass is not finite");
    if (def->kind == TN_BODY_PARTICLE) return true;
    if (!tni_all_finite(inertia, 6)) return tni_refuse(a, "inertia is not finite");
    if (def->kind == TN_BODY_PLANAR) {
        return inertia[2] > 0 ||
               tni_refuse(a, "inertia about z must be positive, is %g", inertia[2]);
    }
    const bool affine = def->kind == TN_BODY_AFFINE;
    if (!tni_inertia_is_possible(inertia, affine)) {
        return tni_refuse(
            a,
            "impossible inertia: it must be positive definite, with no principal moment %s the "
            "sum of the other two",
            affine ? "reaching" : "above");
    }
    if (affine && def->young > 0 && !(volume > 0 && isfinite(volume))) {
        return tni_refuse(a, "an elastic body needs a volume, or shapes that have one");
    }
    return true;
}

static bool affine_body(tni_adding* a, const tn_body_def* def)
{
    if (!not_negative(a, "Young's modulus", def->young)) return false;
    if (!positive_or_unset(a, "volume", def->volume)) return false;
    return (def->poisson > -1 && def->poisson < 0.5) ||
           tni_refuse(a, "Poisson's ratio must lie between -1 and 0.5, is %g", def->poisson);
}

static bool user_body(tni_adding* a, const tn_body_def* def)
{
    const tn_body_table* t = def->table;
    if (t == NULL) return tni_refuse(a, "a user-defined body needs a table");
    if (t->dim < 1 || t->dim > USER_DIM_MAX)
        return tni_refuse(a, "table's dim must lie in 1..64, is %d", t->dim);
    if (t->coordinate_count < 1 || t->coordinate_count > USER_COORDINATES_MAX) {
        return tni_refuse(a, "table's coordinate count must lie in 1..256, is %d",
                          t->coordinate_count);
    }
    if (t->mass == NULL || t->advance == NULL || t->point == NULL) {
        return tni_refuse(a, "table must set mass, advance and point");
    }
    if (def->user_q == NULL) return tni_refuse(a, "a user-defined body needs its start values");
    if (!tni_all_finite(def->user_q, t->coordinate_count))
        return tni_refuse(a, "start values must be finite");
    if (def->user_u == NULL) return true;
    return tni_all_finite(def->user_u, t->dim) || tni_refuse(a, "start velocities must be finite");
}

bool tni_check_body(tni_adding* a, const tn_body_def* def)
{
    if ((unsigned)def->kind >= TN_BODY_KIND_COUNT) return tni_refuse(a, "unknown kind");
    if (!motion(a, def) || !shapes(a, def)) return false;
    if (def->kind != TN_BODY_KINEMATIC && def->key_count != 0) {
        return tni_refuse(a, "keys are for kinematic bodies");
    }
    switch (def->kind) {
    case TN_BODY_STATIC: return true;
    case TN_BODY_KINEMATIC: return pose_keys(a, def->keys, def->key_count);
    case TN_BODY_USER: return user_body(a, def);
    case TN_BODY_AFFINE:
        if (!affine_body(a, def)) return false;
        break;
    default: break;
    }
    return given_inertia(a, def) && final_inertia(a, def);
}

// ---- Joints ------------------------------------------------------------------------------------

static int coordinate_count(const tn_joint_def* def)
{
    return tni_joint_type_of(def->type, def->of)->coordinate_count;
}

// Joint types between two points at any distance.
static bool needs_two_points(const tn_joint_def* def)
{
    return def->type == TN_JOINT_DISTANCE || def->type == TN_JOINT_ROPE;
}

static bool place_by_anchor(tni_adding* a, const tn_joint_def* def)
{
    if (needs_two_points(def)) {
        return tni_refuse(a, "a %s needs a point or a frame in each body",
                          tn_joint_type_word(def->type));
    }
    if (!finite_vector(a, "anchor", def->anchor) || !direction(a, "axis", def->axis)) return false;
    if (def->type != TN_JOINT_UNIVERSAL) return true;
    if (!direction(a, "axis2", def->axis2)) return false;
    const double cosine = tni_dot(tni_normalised(def->axis), tni_normalised(def->axis2));
    return fabs(cosine) <= CROSS_TOLERANCE || tni_refuse(a, "axis2 must be perpendicular to axis");
}

static bool place(tni_adding* a, const tn_joint_def* def)
{
    switch (def->form) {
    case TN_JOINT_BY_ANCHOR: return place_by_anchor(a, def);
    case TN_JOINT_BY_FRAMES:
        return frame(a, "frame 1", &def->frame1) && frame(a, "frame 2", &def->frame2);
    case TN_JOINT_BY_POINTS:
        if (!needs_two_points(def)) {
            return tni_refuse(a, "only a distance or a rope is placed by points, not a %s",
                              tn_joint_type_word(def->type));
        }
        return finite_vector(a, "point 1", def->frame1.position) &&
               finite_vector(a, "point 2", def->frame2.position);
    }
    return tni_refuse(a, "unknown form");
}

static bool has_round_shape(const tn_body_def* body)
{
    for (int i = 0; body != NULL && i < body->shape_count; ++i) {
        const tn_shape_type type = body->shapes[i].type;
        if (type == TN_SHAPE_SPHERE || type == TN_SHAPE_CYLINDER || type == TN_SHAPE_CAPSULE)
            return true;
    }
    return false;
}

static bool type_parameters(tni_adding* a, const tn_joint_def* def)
{
    switch (def->type) {
    case TN_JOINT_DISTANCE:
    case TN_JOINT_ROPE: return positive_or_unset(a, "length", def->length);
    case TN_JOINT_SCREW: return finite_number(a, "pitch", def->pitch);
    case TN_JOINT_MOTOR:
        if (def->of != TN_JOINT_HINGE && def->of != TN_JOINT_SLIDER) {
            return tni_refuse(a, "a motor drives a hinge or a slider");
        }
        if (def->velocity_key_count != 0)
            return value_keys(a, def->velocity_keys, def->velocity_key_count);
        return finite_number(a, "velocity", def->velocity);
    case TN_JOINT_ROLLING:
        if (!positive_or_unset(a, "radius", def->radius)) return false;
        return !isnan(def->radius) || has_round_shape(body_of(a, def->body2)) ||
               tni_refuse(a, "rolling needs a radius, or a round shape on its second body");
    default: return true;
    }
}

static bool ball_limit(tni_adding* a, const tn_limit* l)
{
    if (l->lower <= l->upper)
        return tni_refuse(a, "a ball is limited by a cone and a twist, not by lower and upper");
    if (!finite_number(a, "twist", l->twist_lower) || !finite_number(a, "twist", l->twist_upper))
        return false;
    if (l->hard && l->twist_lower <= l->twist_upper &&
        !(l->twist_lower >= -TWIST_MAX && l->twist_upper <= TWIST_MAX)) {
        return tni_refuse(a, "a hard twist must lie within -%g..%g rad, not %g..%g", TWIST_MAX,
                          TWIST_MAX, l->twist_lower, l->twist_upper);
    }
    if (isnan(l->cone)) return true;
    if (l->hard) {
        return (l->cone >= CONE_MIN && l->cone <= TNI_PI - CONE_MIN) ||
               tni_refuse(a, "a hard cone must lie between %g and pi - %g, is %g", CONE_MIN,
                          CONE_MIN, l->cone);
    }
    return (l->cone > 0 && l->cone <= TNI_PI) ||
           tni_refuse(a, "cone must lie between 0 and pi, is %g", l->cone);
}

// Restitution needs a unilateral limit.
static bool check_restitution(tni_adding* a, const tn_joint_def* def)
{
    if (!in_unit_range(a, "restitution", def->restitution)) return false;
    return def->restitution == 0 || def->type == TN_JOINT_ROPE ||
           (def->limit.given && def->limit.hard) ||
           tni_refuse(a, "restitution needs a hard limit or a rope");
}

static bool limit(tni_adding* a, const tn_joint_def* def)
{
    const tn_limit* l = &def->limit;
    if (!l->given) return true;
    if (coordinate_count(def) == 0) {
        return tni_refuse(a, "a %s has no free coordinate to limit", tn_joint_type_word(def->type));
    }
    if (!finite_number(a, "lower limit", l->lower) || !finite_number(a, "upper limit", l->upper))
        return false;
    if (!not_negative(a, "limit stiffness", l->stiffness) ||
        !not_negative(a, "limit damping", l->damping)) {
        return false;
    }
    if (def->type == TN_JOINT_BALL) return ball_limit(a, l);
    if (isnan(l->cone) && !(l->twist_lower <= l->twist_upper)) return true;
    return tni_refuse(a, "cone and twist limit a ball, not a %s", tn_joint_type_word(def->type));
}

static bool spring_and_force(tni_adding* a, const tn_joint_def* def)
{
    const int   count = coordinate_count(def);
    const char* word  = tn_joint_type_word(def->type);
    if (!not_negative(a, "stiffness", def->stiffness) || !not_negative(a, "damping", def->damping))
        return false;
    if (!not_negative(a, "friction", def->friction) ||
        !positive(a, "friction speed", def->friction_speed))
        return false;
    if (!tni_all_finite(def->rest, 6)) return tni_refuse(a, "rest must be finite");
    if (!tni_all_finite(def->force, 6)) return tni_refuse(a, "force must be finite");
    if (count == 0 && def->stiffness > 0)
        return tni_refuse(a, "a %s has no free coordinate for a stiffness", word);
    if (count == 0 && def->damping > 0)
        return tni_refuse(a, "a %s has no free coordinate for a damping", word);
    if (count == 0 && def->friction > 0)
        return tni_refuse(a, "a %s has no free coordinate for a friction", word);
    for (int i = count; i < 6; ++i) {
        if (def->force[i] != 0)
            return tni_refuse(a, "a %s has no free coordinate %d for a force", word, i + 1);
        if (def->rest[i] != 0)
            return tni_refuse(a, "a %s has no free coordinate %d for a rest", word, i + 1);
    }
    return true;
}

static bool force_range(tni_adding* a, const tn_joint_def* def)
{
    bool pushes = def->type == TN_JOINT_MOTOR || def->stiffness > 0 || def->damping > 0;
    if (!tni_has_force_range(def)) return true;
    if (!(def->force_low <= def->force_high))
        return tni_refuse(a, "force_range %g..%g has no force in it", def->force_low,
                          def->force_high);
    if (coordinate_count(def) != 1)
        return tni_refuse(a, "force_range needs one free coordinate, which a %s has not",
                          tn_joint_type_word(def->type));
    if (!pushes && def->force[0] == 0)
        return tni_refuse(a, "force_range needs a motor, a spring or a damper to bound");
    return def->type == TN_JOINT_MOTOR || !def->limit.given || def->limit.hard ||
           tni_refuse(a, "force_range does not go with a soft limit: make the limit hard");
}

bool tni_check_joint(tni_adding* a, const tn_joint_def* def)
{
    if ((unsigned)def->type >= TN_JOINT_TYPE_COUNT) return tni_refuse(a, "unknown type");
    if (def->type == TN_JOINT_USER)
        return tni_refuse(a, "user-defined constraints go to tn_scene_add_constraint()");
    if (!two_bodies(a, def->body1, def->body2)) return false;
    if (!can_move(a, def->body1) && !can_move(a, def->body2))
        return tni_refuse(a, "neither of its bodies can move");
    return place(a, def) && type_parameters(a, def) && spring_and_force(a, def) && limit(a, def) &&
           force_range(a, def) && check_restitution(a, def) && role(a, def->role);
}

bool tni_check_constraint(tni_adding* a, const tn_constraint_def* def)
{
    const tn_constraint_table* t = def->table;
    if (t == NULL || t->rows_at == NULL)
        return tni_refuse(a, "a user-defined constraint needs a table with rows_at");
    if (t->rows < 1 || t->rows > CONSTRAINT_ROWS_MAX)
        return tni_refuse(a, "table's rows must lie in 1..12, are %d", t->rows);
    if (t->holonomic < 0 || t->holonomic > t->rows) {
        return tni_refuse(a, "%d of %d rows cannot be holonomic", t->holonomic, t->rows);
    }
    if (def->bodies == NULL || def->body_count < 1 || def->body_count > CONSTRAINT_BODIES_MAX) {
        return tni_refuse(a, "a user-defined constraint has 1..8 bodies, not %d", def->body_count);
    }
    if (!role(a, def->role)) return false;
    bool moves = false;
    for (int i = 0; i < def->body_count; ++i) {
        if (!body_exists(a, def->bodies[i])) return false;
        for (int j = 0; j < i; ++j) {
            if (!two_bodies(a, def->bodies[i], def->bodies[j])) return false;
        }
        moves = moves || can_move(a, def->bodies[i]);
    }
    return moves || tni_refuse(a, "none of its bodies can move");
}

// ---- Couplings ---------------------------------------------------------------------------------

static bool is_hinge_like(const tn_joint_def* j)
{
    return j->type == TN_JOINT_HINGE || j->type == TN_JOINT_SCREW ||
           (j->type == TN_JOINT_MOTOR && j->of == TN_JOINT_HINGE);
}

static bool is_slider_like(const tn_joint_def* j)
{
    return j->type == TN_JOINT_SLIDER || (j->type == TN_JOINT_MOTOR && j->of == TN_JOINT_SLIDER);
}

static bool coupled_joints(tni_adding* a, const tn_coupling_def* def)
{
    for (int i = 0; i < def->joint_count; ++i) {
        const uint32_t bits = def->joints[i].bits;
        if (bits == 0 || bits > (uint32_t)tn_scene_joint_count(a->scene))
            return tni_refuse(a, "no such joint");
        const tn_joint_def* joint = tn_scene_joint(a->scene, (int)bits - 1);
        if (coordinate_count(joint) == 0) {
            return tni_refuse(a, "joint '%s' has no free coordinate", joint->name);
        }
        for (int j = 0; j < i; ++j) {
            if (def->joints[j].bits == bits)
                return tni_refuse(a, "joint '%s' is listed twice", joint->name);
        }
    }
    return true;
}

static bool joint_count(tni_adding* a, const tn_coupling_def* def)
{
    static const char* const words[] = {"gear", "rack", "differential", "coupler"};
    static const int         least[] = {2, 2, 3, 1}, most[] = {2, 2, 3, TN_COUPLING_JOINTS_MAX};
    const int                n = def->joints == NULL ? 0 : def->joint_count;
    if (n >= least[def->type] && n <= most[def->type]) return true;
    if (least[def->type] == most[def->type]) {
        return tni_refuse(a, "a %s couples %d joints, not %d", words[def->type], least[def->type],
                          n);
    }
    return tni_refuse(a, "a %s couples %d to %d joints, not %d", words[def->type], least[def->type],
                      most[def->type], n);
}

static bool coefficients(tni_adding* a, const tn_coupling_def* def)
{
    if (def->coefficients == NULL) return tni_refuse(a, "a coupler needs coefficients");
    for (int i = 0; i < def->joint_count; ++i) {
        if (!finite_number(a, "coefficient", def->coefficients[i])) return false;
        if (def->coefficients[i] == 0)
            return tni_refuse(a, "coefficient %d must not be zero", i + 1);
    }
    return finite_number(a, "velocity", def->velocity);
}

static bool has_centre(const tn_body_def* body)
{
    return body != NULL && (body->kind == TN_BODY_RIGID || body->kind == TN_BODY_PLANAR ||
                            body->kind == TN_BODY_PARTICLE || body->kind == TN_BODY_AFFINE);
}

// Bodies whose centre of mass is held. Planar ones cannot move along z.
static bool held_bodies(tni_adding* a, const tn_coupling_def* def)
{
    bool moves_in_z = false;
    for (int i = 0; i < def->body_count; ++i) {
        if (!body_exists(a, def->bodies[i])) return false;
        const tn_body_def* body = body_of(a, def->bodies[i]);
        if (!has_centre(body)) {
            return tni_refuse(a, "body '%s' has no centre of mass to hold",
                              body == NULL ? "ground" : body->name);
        }
        for (int j = 0; j < i; ++j) {
            if (def->bodies[j].bits == def->bodies[i].bits)
                return tni_refuse(a, "body '%s' is listed twice", body->name);
        }
        moves_in_z = moves_in_z || body->kind != TN_BODY_PLANAR;
    }
    return def->hold[0] || def->hold[1] || moves_in_z ||
           tni_refuse(a, "its bodies are planar and cannot move along z");
}

static bool center(tni_adding* a, const tn_coupling_def* def)
{
    const int n = def->bodies == NULL ? 0 : def->body_count;
    if (n < 1 || n > TN_COUPLING_BODIES_MAX) {
        return tni_refuse(a, "a center has 1 to %d bodies, not %d", (int)TN_COUPLING_BODIES_MAX, n);
    }
    if (!def->hold[0] && !def->hold[1] && !def->hold[2])
        return tni_refuse(a, "a center holds x, y or z");
    return held_bodies(a, def);
}

bool tni_check_coupling(tni_adding* a, const tn_coupling_def* def)
{
    if ((unsigned)def->type >= TN_COUPLING_TYPE_COUNT) return tni_refuse(a, "unknown type");
    if (!role(a, def->role)) return false;
    if (def->type == TN_COUPLING_CENTER) return center(a, def);
    if (!joint_count(a, def) || !coupled_joints(a, def)) return false;
    if (def->type == TN_COUPLING_COUPLER) return coefficients(a, def);
    if (!finite_number(a, "ratio", def->ratio)) return false;
    if (def->ratio == 0) return tni_refuse(a, "ratio must not be zero");
    if (def->type != TN_COUPLING_RACK) return true;
    const tn_joint_def* j0 = tn_scene_joint(a->scene, (int)def->joints[0].bits - 1);
    const tn_joint_def* j1 = tn_scene_joint(a->scene, (int)def->joints[1].bits - 1);
    return (is_hinge_like(j0) && is_slider_like(j1)) || (is_slider_like(j0) && is_hinge_like(j1)) ||
           tni_refuse(a, "a rack couples a hinge and a slider");
}

// ---- Forces ------------------------------------------------------------------------------------

bool tni_check_spring(tni_adding* a, const tn_spring_def* def)
{
    if (!two_bodies(a, def->body1, def->body2)) return false;
    if (!finite_vector(a, "anchor 1", def->anchor1) || !finite_vector(a, "anchor 2", def->anchor2))
        return false;
    if (!isnan(def->length) && !not_negative(a, "length", def->length)) return false;
    return not_negative(a, "stiffness", def->stiffness) && not_negative(a, "damping", def->damping);
}

bool tni_check_target(tni_adding* a, const tn_target_def* def)
{
    return movable_body(a, def->body) && pose_keys(a, def->keys, def->key_count) &&
           finite_vector(a, "point", def->point) && not_negative(a, "stiffness", def->stiffness) &&
           not_negative(a, "damping", def->damping) &&
           not_negative(a, "angular stiffness", def->angular_stiffness) &&
           not_negative(a, "angular damping", def->angular_damping);
}

bool tni_check_load(tni_adding* a, const tn_load_def* def)
{
    if (!movable_body(a, def->body) || !finite_vector(a, "force", def->force) ||
        !finite_vector(a, "torque", def->torque) || !finite_vector(a, "point", def->point) ||
        !finite_number(a, "from", def->from)) {
        return false;
    }
    return def->until > def->from ||
           tni_refuse(a, "until must be later than from: from %g until %g", def->from, def->until);
}

bool tni_check_drag(tni_adding* a, const tn_drag_def* def)
{
    return movable_body(a, def->body) && finite_vector(a, "point", def->point) &&
           not_negative(a, "linear", def->linear) && not_negative(a, "quadratic", def->quadratic) &&
           not_negative(a, "angular", def->angular) && wind(a, def);
}

// ---- Contact -----------------------------------------------------------------------------------

bool tni_check_bodies(tni_adding* a, tn_body_id body1, tn_body_id body2)
{
    return two_bodies(a, body1, body2);
}

static bool not_negative_or_unset(tni_adding* a, const char* what, double x)
{
    return isnan(x) || not_negative(a, what, x);
}

bool tni_check_pair(tni_adding* a, const tn_pair_def* def)
{
    return tni_check_made(a, def->cookie == TNI_COOKIE_PAIR, "pair", 0) &&
           two_bodies(a, def->body1, def->body2) &&
           not_negative_or_unset(a, "friction", def->friction) &&
           (isnan(def->restitution) || in_unit_range(a, "restitution", def->restitution)) &&
           not_negative_or_unset(a, "rolling friction", def->rolling_friction) &&
           not_negative_or_unset(a, "spinning friction", def->spinning_friction) &&
           (isnan(def->stiffness) || positive(a, "stiffness", def->stiffness)) &&
           not_negative_or_unset(a, "damping", def->damping);
}
