// delta: a Delta robot. Three driven arms on a base above, each with a parallelogram of two rods down to a platform,
// which these keep level: it has three freedoms, and goes where the arms' angles say.
#include "builtins.h"
#include "parts.h"

static const double base = 0.2,
                    edge = 0.05; // from the axis to the arms' pins, and to the rods' lower ends [m]
static const double arm = 0.3, forearm = 0.6;   // [m]
static const double width = 0.1, height = 1;    // between two rods; of the pins [m]
static const double sine = 0.28, cosine = 0.96; // of the arms below the level, at the start

enum { ARMS = 3, KEYS = 9 };

// Two strokes out and back, half a radian for a speed of 1: towards an arm, then away from another.
static void set_keys(tn_value_key keys[KEYS], int index, double speed)
{
    static const double first[ARMS] = {1, -0.5, -0.5}, second[ARMS] = {0.5, 0.5, -1};
    for (int k = 0; k < KEYS; ++k) {
        const double share = k < 4 ? first[index] : second[index];
        keys[k]            = (tn_value_key){0.5 * k, k % 2 == 0   ? 0
                                                     : k % 4 == 1 ? share * speed
                                                                  : -share * speed};
    }
}

static void add_arm(tn_scene* scene, int index, tn_body_id platform, tn_vec3 centre, double speed)
{
    const tn_vec3 out = tns_circle((double)index / ARMS), along = tns_cross(TNS_Z, out);
    const tn_vec3 pin     = tns_above(tns_scale(base, out), height),
                  elbow   = tns_above(tns_add(pin, tns_scale(arm * cosine, out)), -arm * sine),
                  end     = tns_add(centre, tns_scale(edge, out));
    const tn_body_id body = tns_painted_rod(scene, tns_name("arm%d", index).text, pin, elbow, 0.015,
                                            0.4, tns_vec(0.85, 0.45, 0.15));
    const tns_text   name = tns_name("drive%d", index);
    tn_value_key     keys[KEYS];
    tn_joint_def     drive = tns_joint(TN_JOINT_MOTOR, TNS_GROUND, body, pin, along);
    set_keys(keys, index, speed);
    drive.name               = name.text;
    drive.of                 = TN_JOINT_HINGE;
    drive.velocity_keys      = keys;
    drive.velocity_key_count = KEYS;
    tn_scene_add_joint(scene, &drive);
    for (int side = 0; side < 2; ++side) {
        const char*      letter = side == 0 ? "a" : "b";
        const tn_vec3    half   = tns_scale(side == 0 ? -0.5 * width : 0.5 * width, along);
        const tn_vec3    upper = tns_add(elbow, half), lower = tns_add(end, half);
        const tn_body_id rod =
            tns_rod(scene, tns_name("rod%d%s", index, letter).text, upper, lower, 0.006, 0.05);
        tns_joint_at(scene, tns_name("elbow%d%s", index, letter).text, TN_JOINT_BALL, body, rod,
                     upper, TNS_Z);
        tns_joint_at(scene, tns_name("wrist%d%s", index, letter).text, TN_JOINT_BALL, rod, platform,
                     lower, TNS_Z);
    }
}

static void build(tn_scene* scene, const double* values)
{
    const double  across = base + arm * cosine - edge;
    const tn_vec3 centre = {0, 0, height - arm * sine - sqrt(forearm * forearm - across * across)};
    tns_setup(scene, "delta", 4);
    const tn_body_id platform =
        tns_box(scene, "platform", tns_frame(centre), tns_vec(0.05, 0.05, 0.01), 0.3 + values[1]);
    for (int i = 0; i < ARMS; ++i) add_arm(scene, i, platform, centre, values[0]);
}

const tns_builtin tns_delta = {
    "delta",
    "a Delta robot: three driven arms move a platform that stays level",
    {{"speed", "of the fastest arm, at most [rad/s]", 1, -1.2, 1.2, false, NULL},
     {"payload", "on the platform [kg]", 1, 0, 1e6, false, NULL}},
    build};
