#include "io/scene_fields.h"

#define COUNT(array)      ((int)(sizeof(array) / sizeof *(array)))
#define FIELDS(name)      const tni_fields tni_##name##_fields = {name##_list, COUNT(name##_list)}
#define WORDS(name, what) const tni_words tni_##name = {what, name##_list, COUNT(name##_list)}
#define IN(type, member)  offsetof(type, member)

static const tni_field scene_list[] = {
    {.key = "tenon_scene", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "name", .kind = TNI_FIELD_CUSTOM},
    {.key = "gravity", .kind = TNI_FIELD_CUSTOM},
    {.key = "method", .kind = TNI_FIELD_CUSTOM},
    {.key = "bodies", .kind = TNI_FIELD_CUSTOM},
    {.key = "joints", .kind = TNI_FIELD_CUSTOM},
    {.key = "couplings", .kind = TNI_FIELD_CUSTOM},
    {.key = "springs", .kind = TNI_FIELD_CUSTOM},
    {.key = "targets", .kind = TNI_FIELD_CUSTOM},
    {.key = "loads", .kind = TNI_FIELD_CUSTOM},
    {.key = "drag", .kind = TNI_FIELD_CUSTOM},
    {.key = "contact", .kind = TNI_FIELD_CUSTOM},
};
FIELDS(scene);

static const tni_field contact_list[] = {
    {.key = "exclude", .kind = TNI_FIELD_CUSTOM},
    {.key = "include", .kind = TNI_FIELD_CUSTOM},
    {.key = "pairs", .kind = TNI_FIELD_CUSTOM},
    {.key = "ground", .kind = TNI_FIELD_CUSTOM},
};
FIELDS(contact);

static const tni_field pair_list[] = {
    {.key = "bodies", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "friction", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_pair_def, friction)},
    {.key = "restitution", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_pair_def, restitution)},
    {"rolling_friction", TNI_FIELD_NUMBER, IN(tn_pair_def, rolling_friction), 0, false},
    {"spinning_friction", TNI_FIELD_NUMBER, IN(tn_pair_def, spinning_friction), 0, false},
    {"stiffness", TNI_FIELD_NUMBER, IN(tn_pair_def, stiffness), 0, false},
    {"damping", TNI_FIELD_NUMBER, IN(tn_pair_def, damping), 0, false},
};
FIELDS(pair);

static const tni_field ground_list[] = {
    {.key = "friction", .kind = TNI_FIELD_NUMBER, .offset = IN(tni_ground, friction)},
    {.key = "restitution", .kind = TNI_FIELD_NUMBER, .offset = IN(tni_ground, restitution)},
    {"rolling_friction", TNI_FIELD_NUMBER, IN(tni_ground, rolling_friction), 0, false},
    {"spinning_friction", TNI_FIELD_NUMBER, IN(tni_ground, spinning_friction), 0, false},
};
FIELDS(ground);

const tn_vec3    tni_usual_gravity = {0, 0, -9.81};
const tni_ground tni_usual_ground  = {.friction = 0.5, .restitution = 0};

// ---- Bodies -----------------------------------------------------------------------------------

static const tni_field body_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_body_def, name)},
    {.key = "kind", .kind = TNI_FIELD_CUSTOM},
    {.key = "mass", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_body_def, mass)},
    {.key = "com", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_body_def, com)},
    {.key = "inertia", .kind = TNI_FIELD_CUSTOM},
    {.key = "position", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_body_def, pose.position)},
    {.key    = "orientation",
     .kind   = TNI_FIELD_QUATERNION,
     .offset = IN(tn_body_def, pose.orientation)},
    {.key = "velocity", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_body_def, velocity.linear)},
    {.key    = "angular_velocity",
     .kind   = TNI_FIELD_VECTOR,
     .offset = IN(tn_body_def, velocity.angular)},
    {.key = "elasticity", .kind = TNI_FIELD_CUSTOM, .types = TNI_TYPE(TN_BODY_AFFINE)},
    {.key      = "keys",
     .kind     = TNI_FIELD_CUSTOM,
     .types    = TNI_TYPE(TN_BODY_KINEMATIC),
     .required = true},
    {.key = "continuous", .kind = TNI_FIELD_FLAG, .offset = IN(tn_body_def, continuous)},
    {.key = "shapes", .kind = TNI_FIELD_CUSTOM},
};
FIELDS(body);

static const tni_field elasticity_list[] = {
    {.key = "young", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_body_def, young)},
    {.key = "poisson", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_body_def, poisson)},
    {.key = "volume", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_body_def, volume)},
};
FIELDS(elasticity);

enum {
    ROUND  = TNI_TYPE(TN_SHAPE_SPHERE) | TNI_TYPE(TN_SHAPE_CAPSULE) | TNI_TYPE(TN_SHAPE_CYLINDER),
    LONG   = TNI_TYPE(TN_SHAPE_CAPSULE) | TNI_TYPE(TN_SHAPE_CYLINDER),
    BOX    = TNI_TYPE(TN_SHAPE_BOX),
    CONVEX = TNI_TYPE(TN_SHAPE_CONVEX),
    MESH   = TNI_TYPE(TN_SHAPE_MESH),
    FIELD  = TNI_TYPE(TN_SHAPE_HEIGHTS)
};
static const tni_field shape_list[] = {
    {.key = "type", .kind = TNI_FIELD_CUSTOM, .required = true},
    {"radius", TNI_FIELD_NUMBER, IN(tn_shape_def, radius), ROUND, true},
    {"half_length", TNI_FIELD_NUMBER, IN(tn_shape_def, half_length), LONG, true},
    {"half_size", TNI_FIELD_VECTOR, IN(tn_shape_def, half_size), BOX, true},
    {"file", TNI_FIELD_TEXT, IN(tn_shape_def, file), MESH, false},
    {"vertices", TNI_FIELD_CUSTOM, 0, MESH, false},
    {"triangles", TNI_FIELD_CUSTOM, 0, MESH, false},
    {"pieces_tolerance", TNI_FIELD_NUMBER, IN(tn_shape_def, pieces_tolerance), MESH, false},
    {"points", TNI_FIELD_CUSTOM, 0, CONVEX, true},
    {"heights", TNI_FIELD_CUSTOM, 0, FIELD, true},
    {"spacing", TNI_FIELD_CUSTOM, 0, FIELD, true},
    {.key = "position", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_shape_def, pose.position)},
    {.key    = "orientation",
     .kind   = TNI_FIELD_QUATERNION,
     .offset = IN(tn_shape_def, pose.orientation)},
    {.key = "friction", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_shape_def, friction)},
    {.key = "restitution", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_shape_def, restitution)},
    {"rolling_friction", TNI_FIELD_NUMBER, IN(tn_shape_def, rolling_friction), 0, false},
    {"spinning_friction", TNI_FIELD_NUMBER, IN(tn_shape_def, spinning_friction), 0, false},
    {"stiffness", TNI_FIELD_NUMBER, IN(tn_shape_def, stiffness), 0, false},
    {"damping", TNI_FIELD_NUMBER, IN(tn_shape_def, damping), 0, false},
    {"surface_velocity", TNI_FIELD_VECTOR, IN(tn_shape_def, surface_velocity), 0, false},
    {.key = "group", .kind = TNI_FIELD_GROUP, .offset = IN(tn_shape_def, group)},
    {"collides_with", TNI_FIELD_GROUPS, IN(tn_shape_def, collides_with), 0, false},
    {.key = "density", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_shape_def, density)},
    {.key = "color", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_shape_def, color)},
    {.key = "collide", .kind = TNI_FIELD_FLAG, .offset = IN(tn_shape_def, collide)},
};
FIELDS(shape);

static const tni_field key_list[] = {
    {.key = "time", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_key, time), .required = true},
    {.key = "position", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_key, pose.position)},
    {.key = "orientation", .kind = TNI_FIELD_QUATERNION, .offset = IN(tn_key, pose.orientation)},
};
FIELDS(key);

// ---- Joints and couplings ---------------------------------------------------------------------

enum { SPAN = TNI_TYPE(TN_JOINT_DISTANCE) | TNI_TYPE(TN_JOINT_ROPE) };
static const tni_field joint_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_joint_def, name)},
    {.key = "type", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "of", .kind = TNI_FIELD_CUSTOM, .types = TNI_TYPE(TN_JOINT_MOTOR), .required = true},
    {.key = "bodies", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "anchor", .kind = TNI_FIELD_CUSTOM},
    {.key = "axis", .kind = TNI_FIELD_CUSTOM},
    {.key = "axis2", .kind = TNI_FIELD_CUSTOM, .types = TNI_TYPE(TN_JOINT_UNIVERSAL)},
    {.key = "anchors", .kind = TNI_FIELD_CUSTOM, .types = SPAN},
    {.key = "frames", .kind = TNI_FIELD_CUSTOM},
    {"length", TNI_FIELD_NUMBER, IN(tn_joint_def, length), SPAN, false},
    {"pitch", TNI_FIELD_NUMBER, IN(tn_joint_def, pitch), TNI_TYPE(TN_JOINT_SCREW), true},
    {"radius", TNI_FIELD_NUMBER, IN(tn_joint_def, radius), TNI_TYPE(TN_JOINT_ROLLING), false},
    {"velocity", TNI_FIELD_CUSTOM, 0, TNI_TYPE(TN_JOINT_MOTOR), true},
    {.key = "stiffness", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_joint_def, stiffness)},
    {.key = "damping", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_joint_def, damping)},
    {.key = "friction", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_joint_def, friction)},
    {.key = "friction_speed", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_joint_def, friction_speed)},
    {.key = "rest", .kind = TNI_FIELD_CUSTOM},
    {.key = "force", .kind = TNI_FIELD_CUSTOM},
    {.key = "force_range", .kind = TNI_FIELD_CUSTOM},
    {.key = "limit", .kind = TNI_FIELD_CUSTOM},
    {.key = "restitution", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_joint_def, restitution)},
    {.key = "role", .kind = TNI_FIELD_ROLE, .offset = IN(tn_joint_def, role)},
};
FIELDS(joint);

static const tni_field limit_list[] = {
    {.key = "lower", .kind = TNI_FIELD_CUSTOM},
    {.key = "upper", .kind = TNI_FIELD_CUSTOM},
    {.key = "cone", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_limit, cone)},
    {.key = "twist", .kind = TNI_FIELD_CUSTOM},
    {.key = "stiffness", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_limit, stiffness)},
    {.key = "damping", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_limit, damping)},
    {.key = "hard", .kind = TNI_FIELD_FLAG, .offset = IN(tn_limit, hard)},
};
FIELDS(limit);

static const tni_field frame_list[] = {
    {.key = "position", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_frame, position)},
    {.key = "orientation", .kind = TNI_FIELD_QUATERNION, .offset = IN(tn_frame, orientation)},
};
FIELDS(frame);

static const tni_field velocity_list[] = {
    {.key = "keys", .kind = TNI_FIELD_CUSTOM, .required = true},
};
FIELDS(velocity);

static const tni_field value_key_list[] = {
    {.key = "time", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_value_key, time), .required = true},
    {.key = "value", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_value_key, value), .required = true},
};
FIELDS(value_key);

enum {
    PAIR         = TNI_TYPE(TN_COUPLING_GEAR) | TNI_TYPE(TN_COUPLING_RACK),
    DIFFERENTIAL = TNI_TYPE(TN_COUPLING_DIFFERENTIAL),
    COUPLER      = TNI_TYPE(TN_COUPLING_COUPLER),
    OF_JOINTS    = PAIR | DIFFERENTIAL | COUPLER,
    CENTER       = TNI_TYPE(TN_COUPLING_CENTER)
};
static const tni_field coupling_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_coupling_def, name)},
    {.key = "type", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "joints", .kind = TNI_FIELD_CUSTOM, .types = OF_JOINTS, .required = true},
    {.key = "bodies", .kind = TNI_FIELD_CUSTOM, .types = CENTER, .required = true},
    {.key = "hold", .kind = TNI_FIELD_CUSTOM, .types = CENTER},
    {"ratio", TNI_FIELD_NUMBER, IN(tn_coupling_def, ratio), PAIR, true},
    {"ratio", TNI_FIELD_NUMBER, IN(tn_coupling_def, ratio), DIFFERENTIAL, false},
    {"coefficients", TNI_FIELD_CUSTOM, 0, COUPLER, true},
    {"velocity", TNI_FIELD_NUMBER, IN(tn_coupling_def, velocity), COUPLER, false},
    {.key = "role", .kind = TNI_FIELD_ROLE, .offset = IN(tn_coupling_def, role)},
};
FIELDS(coupling);

// ---- Forces -----------------------------------------------------------------------------------

static const tni_field spring_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_spring_def, name)},
    {.key = "bodies", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "anchors", .kind = TNI_FIELD_CUSTOM, .required = true},
    {.key = "stiffness", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_spring_def, stiffness)},
    {.key = "damping", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_spring_def, damping)},
    {.key = "length", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_spring_def, length)},
};
FIELDS(spring);

static const tni_field target_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_target_def, name)},
    {.key = "body", .kind = TNI_FIELD_BODY, .offset = IN(tn_target_def, body), .required = true},
    {.key = "point", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_target_def, point)},
    {.key = "stiffness", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_target_def, stiffness)},
    {.key = "damping", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_target_def, damping)},
    {.key    = "angular_stiffness",
     .kind   = TNI_FIELD_NUMBER,
     .offset = IN(tn_target_def, angular_stiffness)},
    {.key    = "angular_damping",
     .kind   = TNI_FIELD_NUMBER,
     .offset = IN(tn_target_def, angular_damping)},
    {.key = "keys", .kind = TNI_FIELD_CUSTOM, .required = true},
};
FIELDS(target);

static const tni_field load_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_load_def, name)},
    {.key = "body", .kind = TNI_FIELD_BODY, .offset = IN(tn_load_def, body), .required = true},
    {.key = "force", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_load_def, force)},
    {.key = "torque", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_load_def, torque)},
    {.key = "point", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_load_def, point)},
    {.key = "from", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_load_def, from)},
    {.key = "until", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_load_def, until)},
};
FIELDS(load);

static const tni_field drag_list[] = {
    {.key = "name", .kind = TNI_FIELD_NAME, .offset = IN(tn_drag_def, name)},
    {.key = "body", .kind = TNI_FIELD_BODY, .offset = IN(tn_drag_def, body), .required = true},
    {.key = "point", .kind = TNI_FIELD_VECTOR, .offset = IN(tn_drag_def, point)},
    {.key = "linear", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_drag_def, linear)},
    {.key = "quadratic", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_drag_def, quadratic)},
    {.key = "angular", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_drag_def, angular)},
    {.key = "wind", .kind = TNI_FIELD_CUSTOM},
};
FIELDS(drag);

static const tni_field wind_list[] = {
    {.key = "keys", .kind = TNI_FIELD_CUSTOM, .required = true},
};
FIELDS(wind);

static const tni_field wind_key_list[] = {
    {.key = "time", .kind = TNI_FIELD_NUMBER, .offset = IN(tn_vector_key, time), .required = true},
    {"velocity", TNI_FIELD_VECTOR, IN(tn_vector_key, value), 0, true},
};
FIELDS(wind_key);

// ---- Words ------------------------------------------------------------------------------------

static const char* const body_kinds_list[]     = {"rigid",  "particle", "planar",
                                                  "affine", "static",   "kinematic"};
static const char* const shape_types_list[]    = {"sphere", "box",  "capsule", "cylinder",
                                                  "convex", "mesh", "plane",   "heights"};
static const char* const coupling_types_list[] = {"gear", "rack", "differential", "coupler",
                                                  "center"};
static const char* const roles_list[]          = {"auto", "primary", "auxiliary"};

#define JOINT_WORD(name, word) word,
static const char* const joint_words[] = {TN_JOINT_LIST(JOINT_WORD)};
#undef JOINT_WORD

WORDS(body_kinds, "body kind");
WORDS(shape_types, "shape type");
WORDS(coupling_types, "coupling type");
WORDS(roles, "role");
const tni_words tni_joint_types = {"joint type", joint_words, TN_JOINT_USER};

const tni_joint_shape tni_joint_shapes[TN_JOINT_TYPE_COUNT] = {
    [TN_JOINT_WELD] = {0, false},         [TN_JOINT_HINGE] = {1, true},
    [TN_JOINT_SLIDER] = {1, true},        [TN_JOINT_SCREW] = {1, true},
    [TN_JOINT_CYLINDER] = {2, true},      [TN_JOINT_UNIVERSAL] = {2, true},
    [TN_JOINT_BALL] = {3, false},         [TN_JOINT_PLANE] = {3, true},
    [TN_JOINT_POINT_ON_LINE] = {4, true}, [TN_JOINT_POINT_ON_PLANE] = {5, true},
    [TN_JOINT_DISTANCE] = {0, false},     [TN_JOINT_MOTOR] = {1, true},
    [TN_JOINT_ROLLING] = {0, true},       [TN_JOINT_ROPE] = {0, false},
};
