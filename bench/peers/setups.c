// setups: every engine with its options, by the names of the tables. More than one for an engine where
// another choice is faster or more exact somewhere: the score takes the best of a family. 1e-6: joints
// closed to a micrometre, a thousandth of the bars, where the default is a thousandth of that; 2e-3: to
// 0.4 mm, where bars are 5 mm. auto: nothing is set at all.
#include "peer.h"

#include <stddef.h>

#define TENON(name, words)                                                       \
    {                                                                            \
        "Tenon", "Tenon " name, &peer_tenon, {.settings = words}, 0, NULL, false \
    }
#define LARGE(family, name, engine, most, limit, ...)            \
    {                                                            \
        family, name, &engine, {__VA_ARGS__}, most, limit, false \
    }

#ifndef PEERS_ALONE
static const char dense[]  = "its mass matrix of a chain is full: n^3",
                  matrix[] = "one dense matrix of all rows", slow[] = "takes minutes to build",
                  tensors[] = "its Data holds n^3 numbers";
#endif

// clang-format off
const peer_setup peer_setups[] = {
    TENON("auto", ""),
    TENON("multiplier", "method=multiplier"),
    TENON("multiplier 1e-6", "method=multiplier multiplier.tolerance=1e-6"),
    TENON("impulse", "method=impulse"),
    TENON("impulse 1e-6", "method=impulse impulse.tolerance=1e-6"),
    TENON("impulse 2e-3", "method=impulse impulse.tolerance=2e-3"),
    TENON("implicit Euler", "method=implicit"),
    TENON("implicit BDF2", "method=implicit implicit.integrator=bdf2"),
    TENON("implicit BDF2 linear", "method=implicit implicit.integrator=bdf2 implicit.solve=linear"),
    TENON("adaptive", "method=adaptive"),
    TENON("adaptive Euler", "method=adaptive adaptive.integrator=euler"),
    TENON("adaptive RK4", "method=adaptive adaptive.integrator=rk4"),
    {"Tenon", "Tenon auto forward", &peer_tenon_forward, {.settings = ""}, 0, NULL, true},
    {"Tenon", "Tenon forward", &peer_tenon_forward, {.settings = "method=multiplier"}, 0, NULL, true},
    {"Tenon", "Tenon adaptive forward", &peer_tenon_forward, {.settings = "method=adaptive"}, 0, NULL, true},
#ifndef PEERS_ALONE
    LARGE("ODE", "ODE WorldStep", peer_ode, 150, matrix, .erp = 0.2, .cfm = 1e-10),
    LARGE("ODE", "ODE QuickStep 20", peer_ode, 0, NULL, .iterations = 20, .erp = 0.2, .cfm = 1e-10),
    LARGE("ODE", "ODE QuickStep 200", peer_ode, 0, NULL, .iterations = 200, .erp = 0.2, .cfm = 1e-10),
    LARGE("Bullet", "Bullet 10 sweeps", peer_bullet, 0, NULL, .iterations = 10),
    LARGE("Bullet", "Bullet 200 sweeps", peer_bullet, 0, NULL, .iterations = 200),
    LARGE("Bullet", "Bullet Dantzig", peer_bullet, 150, matrix, .iterations = 0),
    LARGE("Bullet multibody", "Bullet multibody Euler", peer_bullet_tree, 0, NULL, .integrator = 0),
    LARGE("Bullet multibody", "Bullet multibody RK4", peer_bullet_tree, 0, NULL, .integrator = 1),
    LARGE("MuJoCo", "MuJoCo Euler", peer_mujoco, 350, dense, .integrator = 0, .solref = 2),
    LARGE("MuJoCo", "MuJoCo RK4", peer_mujoco, 350, dense, .integrator = 1, .solref = 2),
    LARGE("MuJoCo", "MuJoCo implicitfast", peer_mujoco, 350, dense, .integrator = 2, .solref = 2),
    LARGE("MuJoCo", "MuJoCo discrete", peer_mujoco, 350, dense, .integrator = 3, .solref = 2),
    LARGE("DART", "DART", peer_dart, 350, slow, .integrator = 0),
    LARGE("Simbody", "Simbody Merson", peer_simbody, 0, NULL, .integrator = 0),
    LARGE("Simbody", "Simbody Euler", peer_simbody, 0, NULL, .integrator = 1),
#ifdef PEERS_PINOCCHIO
    LARGE("Pinocchio", "Pinocchio Euler", peer_pinocchio, 305, tensors, .integrator = 0),
    LARGE("Pinocchio", "Pinocchio RK4", peer_pinocchio, 305, tensors, .integrator = 1),
#endif
#endif
};
// clang-format on
const int peer_setup_count = sizeof peer_setups / sizeof *peer_setups;
