// spider: one body with many legs. A body with m joints is what makes J M^-1 J^T dense.
#include "builtins.h"
#include "parts.h"

static const double body_radius = 0.2, segment_length = 0.3;

// A leg leaves the body upward and arches over to point down.
static tn_vec3 segment_direction(tn_vec3 out, int segment, int segments)
{
    const tn_vec3 arch = tns_circle(0.12 - 0.34 * (segment + 0.5) / segments);
    return tns_vec(arch.x * out.x, arch.x * out.y, arch.y);
}

static void add_leg(tn_scene* scene, tn_body_id body, int leg, const double* values)
{
    const int           segments = (int)values[1];
    const tn_joint_type type     = values[2] == 0 ? TN_JOINT_BALL : TN_JOINT_HINGE;
    const tn_vec3       out      = tns_circle(leg / values[0]);
    const tn_vec3       axis     = tns_vec(-out.y, out.x, 0);
    tn_vec3             start    = tns_scale(body_radius, out);
    for (int s = 0; s < segments; ++s) {
        const tn_vec3 end =
            tns_add(start, tns_scale(segment_length, segment_direction(out, s, segments)));
        const tns_text   name = tns_name("leg%d_%d", leg + 1, s + 1);
        const tn_body_id part = tns_rod(scene, name.text, start, end, 0.015, 0.2);
        tns_joint_at(scene, name.text, type, body, part, start, axis);
        start = end;
        body  = part;
    }
}

static void build(tn_scene* scene, const double* values)
{
    tns_setup(scene, "spider", 5);
    const tn_body_id body = tns_wheel(scene, "body", tns_vec(0, 0, 0), TNS_Z, body_radius, 0.05, 4);
    if (values[3] != 0)
        tns_joint_at(scene, "hold", TN_JOINT_WELD, TNS_GROUND, body, tns_vec(0, 0, 0), TNS_Z);
    for (int leg = 0; leg < (int)values[0]; ++leg) add_leg(scene, body, leg, values);
}

const tns_builtin tns_spider = {
    "spider",
    "one body with many legs, each a chain of segments",
    {{"legs", "around the body", 8, 1, 10000, true, NULL},
     {"segments", "of each leg", 3, 1, 1000, true, NULL},
     {"joint", "type of the leg joints; hinges turn about the tangent", 0, 0, 1, true,
      "ball|hinge"},
     {"fixed", "1: the body is welded to the ground, 0: it falls", 1, 0, 1, true, NULL}},
    build};
