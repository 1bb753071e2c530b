// planar_web: plane bodies on a square lattice, hinged about z (two rows each). The default has
// the size of Baraff 1996, sec. 10: 54 joints, 108 multipliers; joints=48,loops=6 is the one with
// 12 auxiliary rows.
//
// A cell is five rods: a spine S down, two rungs R outward from its end, two sides T down from
// theirs.
//
//      o S o          cells hang one under the other; the tip of a side lies where the next rung of
//    T R S R T        its side ends, so each pair of cells offers two loops: side k to rung k + 1
//      R S R
//
// Parts are numbered cell by cell (S, R right, R left, T right, T left); any number of them may be
// built.
#include "builtins.h"
#include "parts.h"

enum { CELL = 5, SPINE = 0, RUNG = 1, SIDE = 3 };
static const double edge = 0.2;

double tns_planar_web_loops(const double* values)
{
    const int beyond = (int)values[0] - CELL; // parts after the first cell
    if (beyond < 0) return 0;
    const int rest = beyond % CELL - RUNG;
    return 2 * (beyond / CELL) + (rest < 0 ? 0 : rest > 2 ? 2 : rest);
}

// Column -1, 0 or 1, and row from the top downward.
static tn_vec3 lattice(int column, int row)
{
    return tns_vec(edge * column, -edge * row, 0);
}

typedef struct part {
    int     parent; ///< number of the part it hangs on; -1: the ground
    tn_vec3 start, end;
} part;

static part part_at(int number)
{
    const int cell = number / CELL, kind = number % CELL, column = kind % 2 == 1 ? 1 : -1;
    if (kind == SPINE)
        return (part){cell == 0 ? -1 : number - CELL, lattice(0, cell), lattice(0, cell + 1)};
    if (kind < SIDE) return (part){number - kind, lattice(0, cell + 1), lattice(column, cell + 1)};
    return (part){number - 2, lattice(column, cell + 1), lattice(column, cell + 2)};
}

static tn_body_id body_of(int number)
{
    return (tn_body_id){(uint32_t)(number + 1)};
}

static void build(tn_scene* scene, const double* values)
{
    tns_setup(scene, "planar_web", 5);
    tn_scene_set_gravity(scene, tns_vec(0, -9.81, 0));
    for (int i = 0; i < (int)values[0]; ++i) {
        const part       p = part_at(i);
        const tn_body_id rod =
            tns_planar_rod(scene, tns_name("link%d", i + 1).text, p.start, p.end, 0.015, 0.2);
        tns_joint_at(scene, tns_name("j%d", i + 1).text, TN_JOINT_HINGE, body_of(p.parent), rod,
                     p.start, TNS_Z);
    }
    for (int i = 0; i < (int)values[1]; ++i) {
        const int rung = CELL * (i / 2 + 1) + RUNG + i % 2, side = rung - CELL + SIDE - RUNG;
        tns_joint_at(scene, tns_name("loop%d", i + 1).text, TN_JOINT_HINGE, body_of(side),
                     body_of(rung), part_at(rung).end, TNS_Z);
    }
}

const tns_builtin tns_planar_web = {
    "planar_web",
    "plane bodies hinged into a branching web: 54 joints of two rows, and loops when asked for",
    {{"joints", "rods, each hinged to the one before it", 54, 1, 1000000, true, NULL},
     {"loops", "further hinges that close loops", 0, 0, 400000, true, NULL}},
    build};
