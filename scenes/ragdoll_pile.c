// ragdoll_pile: limp people fall onto the floor and onto each other.
//
// They lie on their backs and bellies in the air, four to a layer, each rotated differently; every
// other layer is shifted by half the distance, like bricks. None touches another at the start.
// People are those of `humanoid`, 17 bones, with hard limits in their joints. Expected: bodies do
// not penetrate each other, joints stay closed, all comes to rest.
#include "builtins.h"
#include "characters.h"

static const double apart = 2.1, layer = 0.6, lowest = 0.6, middle = 0.92;

// Lying along x with the face up or down, then turned about z. Golden steps of a full turn come
// near to no turn that was there before.
static tn_quat attitude(int i)
{
    const tn_quat lying = tns_turn_about(TNS_Y, i % 3 == 0 ? 0.25 : -0.25);
    return tns_quat_mul(tns_turn_about(TNS_Z, 0.6180339887498949 * i), lying);
}

// Of the point about which a person is turned: half way up.
static tn_vec3 center(int i)
{
    const int    floor  = i / 4;
    const double shift  = 0.25 * apart * (floor % 2 == 0 ? -1 : 1);
    const double column = i % 2 == 0 ? -0.5 : 0.5, row = i / 2 % 2 == 0 ? -0.5 : 0.5;
    return tns_vec(apart * column + shift, apart * row + shift, lowest + layer * floor);
}

static void build(tn_scene* scene, const double* values)
{
    const tns_surface surface = {values[1], 0};
    // Not by auto as yet, to which the contacts of 50 people take seconds a step.
    tns_setup_method(scene, "ragdoll_pile", TN_METHOD_IMPULSE, 8);
    tn_scene_set_ground(scene, surface.friction, 0);
    for (int i = 0; i < (int)values[0]; ++i) {
        const tns_text       prefix = tns_name("p%d_", i + 1);
        const tn_quat        turn   = attitude(i);
        const tn_vec3        waist  = tns_rotate(turn, tns_vec(0, 0, middle));
        const tns_person_def person = {.prefix = prefix.text,
                                       .place  = tns_sub(center(i), waist),
                                       .limp   = &surface,
                                       .turn   = turn};
        tns_add_person(scene, &person);
    }
}

const tns_builtin tns_ragdoll_pile = {
    "ragdoll_pile",
    "limp people fall onto the floor and onto each other",
    {{"n", "people of 17 bones", 50, 1, 10000, true, NULL},
     {"friction", "of people and floor", 0.6, 0, 10, false, NULL}},
    build};
