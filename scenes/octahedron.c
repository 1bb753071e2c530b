// octahedron: octahedra whose eight faces turn while the whole grows and shrinks, one alone and
// many joined to tubes and cubes.
//
// A cell has the corners  +-a e_i +- b e_j  for (i, j) = (x, y), (y, z), (z, x). The three corners
// of an octant make a face: an equilateral triangle, square to (+-1, +-1, +-1), with sides
//
//     L^2 = 2 (a^2 - a b + b^2)
//
// b = 0 is the octahedron, b = a the cuboctahedron. Between them the faces slide along their
// normals and spin about them, neighbours in opposite senses, and the corners, each shared by two
// faces, only move straight. So a small body, the knuckle, stands in each corner with a hinge along
// the normal of each face: a Cardan joint. The cell has one degree of freedom although 24 hinges
// should lock 20 bodies.
//
// Cells that share the knuckles of their sides keep this freedom, as all a and b agree and a
// knuckle never turns. In the cube, side x = a of one cell is side x = -a of the next, and so for y
// and z. In the tube the sides +-a e_x are tilted about the tube's axis y; the corners on them lie
// on z = 0, so a ring of m cells closes for every a on a circle of radius a / tan(pi / m). Rings
// share the corners of y = +-a.
//
//              bodies            rows           rank          (one knuckle is welded to the ground)
//     one      20                126            119
//     tube     16 m n + 2 m      120 m n + 6    6 bodies - 1  n rings of m cells
//     cube     14 n^3 + 6 n^2    120 n^3 + 6    6 bodies - 1
//
// It hangs from that knuckle. The hung length grows with a, which is greatest at b = a / 2: gravity
// makes the faces swing about that state. The start, a : b : L / sqrt 2 = 21 : 5 : 19, keeps the
// swing clear of b = 0 and b = a, where a cell may fold in more ways than one: it goes on to b = 0.16 m.
// For the cell alone b may be chosen, and a = (b + sqrt(2 L^2 - 3 b^2)) / 2.
//
// After R. Tomcin et al., 2014, fig. 1c and 6d-f, which name Cardan and revolute joints but not
// their arrangement. Their counts, 18981 rows for a tube of 8 rings and 576288 for a cube, do not
// follow from 120 rows a cell; 8 rings of 20 cells have 19206, a cube of n = 17 has 589566.
#include "builtins.h"
#include "linkage.h"

enum { AROUND_MAX = 40, CUBE_MAX = 17 };

static const double a = 0.21, b = 0.05;

typedef struct cell {
    tn_vec3 center, axes[3];
    double  a, b;
    bool    named; ///< thousands of cells have no names
    /// knuckles[i][s][t] stands at +-a along axis i and +-b along the next, + for s, t = 1. Null:
    /// to be made.
    tn_body_id knuckles[3][2][2];
} cell;

static tn_vec3 corner(const cell* k, int i, int s, int t)
{
    const tn_vec3 side  = tns_scale(s ? k->a : -k->a, k->axes[i]),
                  along = tns_scale(t ? k->b : -k->b, k->axes[(i + 1) % 3]);
    return tns_add(k->center, tns_add(side, along));
}

static void add_knuckles(tn_scene* scene, cell* k)
{
    for (int n = 0; n < 12; ++n) {
        const int   i = n / 4, s = n / 2 % 2, t = n % 2;
        tn_body_id* knuckle = &k->knuckles[i][s][t];
        if (knuckle->bits != 0) continue;
        *knuckle = tns_sphere(scene, k->named ? tns_name("knuckle%d", n + 1).text : NULL,
                              corner(k, i, s, t), 0.02, 0.1);
    }
}

// Faces + and - turn in opposite senses.
static tns_text face_name(int octant, const int sign[3])
{
    return tns_name("face%d%c", octant + 1, (sign[0] + sign[1] + sign[2]) % 2 ? '+' : '-');
}

static void add_faces(tn_scene* scene, const cell* k)
{
    for (int octant = 0; octant < 8; ++octant) {
        const int sign[3] = {octant & 1, octant >> 1 & 1, octant >> 2 & 1};
        tn_vec3   corners[3], normal = tns_vec(0, 0, 0);
        for (int i = 0; i < 3; ++i) {
            corners[i] = corner(k, i, sign[i], sign[(i + 1) % 3]);
            normal     = tns_add(normal, tns_scale(sign[i] ? 1 : -1, k->axes[i]));
        }
        const tn_body_id face = tns_triangle(scene, k->named ? face_name(octant, sign).text : NULL,
                                             corners[0], corners[1], corners[2], 0.008, 2700);
        for (int i = 0; i < 3; ++i) {
            tns_joint_at(scene, NULL, TN_JOINT_HINGE, k->knuckles[i][sign[i]][sign[(i + 1) % 3]],
                         face, corners[i], normal);
        }
    }
}

static void add_cell(tn_scene* scene, cell* k)
{
    add_knuckles(scene, k);
    add_faces(scene, k);
}

static void share(cell* k, int axis, int side, const tn_body_id from[2])
{
    k->knuckles[axis][side][0] = from[0];
    k->knuckles[axis][side][1] = from[1];
}

static void hang(tn_scene* scene, tn_body_id knuckle, tn_vec3 at)
{
    tns_joint_at(scene, "hold", TN_JOINT_WELD, TNS_GROUND, knuckle, at, TNS_Z);
}

static void build_one(tn_scene* scene, const double* values)
{
    const double own_b = values[0], diagonal = 0.38 * 0.38; // 2 L^2
    const double own_a = (own_b + sqrt(diagonal - 3 * own_b * own_b)) / 2;
    cell         k     = {.axes = {TNS_X, TNS_Y, TNS_Z}, .a = own_a, .b = own_b, .named = true};
    tns_setup(scene, "octahedron", 5);
    add_cell(scene, &k);
    hang(scene, k.knuckles[2][1][1], corner(&k, 2, 1, 1));
}

static void build_cube(tn_scene* scene, const double* values)
{
    const int n = (int)values[0];
    cell      x_before[1], y_before[CUBE_MAX], z_before[CUBE_MAX][CUBE_MAX];
    tns_setup(scene, "octahedron_cube", 5);
    for (int z = 0; z < n; ++z) { // from the top down
        for (int y = 0; y < n; ++y) {
            for (int x = 0; x < n; ++x) {
                cell k = {.center = tns_vec(2 * a * x, 2 * a * y, -2 * a * z),
                          .axes   = {TNS_X, TNS_Y, TNS_Z},
                          .a      = a,
                          .b      = b};
                if (x > 0) share(&k, 0, 0, x_before->knuckles[0][1]);
                if (y > 0) share(&k, 1, 0, y_before[x].knuckles[1][1]);
                if (z > 0) share(&k, 2, 1, z_before[y][x].knuckles[2][0]);
                add_cell(scene, &k);
                if (z == 0 && y == n / 2 && x == n / 2)
                    hang(scene, k.knuckles[2][1][1], corner(&k, 2, 1, 1));
                *x_before = y_before[x] = z_before[y][x] = k;
            }
        }
    }
}

typedef struct turn {
    double cosine, sine;
} turn;

// Half a turn divided by m >= 3. By power series: sums and products give the same bits everywhere.
static turn half_turn_over(int m)
{
    const double x = 3.14159265358979324 / m;
    turn         t = {0, 0};
    double       power[24];
    power[0] = 1;
    for (int n = 1; n < 24; ++n) power[n] = power[n - 1] * x / n;
    for (int n = 22; n >= 0; n -= 2) { // smallest first
        t.sine += (n % 4 == 0 ? 1 : -1) * power[n + 1];
        t.cosine += (n % 4 == 0 ? 1 : -1) * power[n];
    }
    return t;
}

static turn turn_on(turn p, turn q)
{
    return (turn){p.cosine * q.cosine - p.sine * q.sine, p.sine * q.cosine + p.cosine * q.sine};
}

// Axes of a cell: along the ring, up the tube, away from its axis.
static cell place_in_tube(turn at, double radius, int ring)
{
    const tn_vec3 out = tns_vec(at.cosine, at.sine, 0), along = tns_vec(-at.sine, at.cosine, 0);
    return (cell){.center = tns_above(tns_scale(radius, out), -2 * a * ring),
                  .axes   = {along, TNS_Z, out},
                  .a      = a,
                  .b      = b};
}

static void build_tube(tn_scene* scene, const double* values)
{
    const int    rings = (int)values[0], around = (int)values[1];
    const turn   half = half_turn_over(around), full = turn_on(half, half);
    const double radius = a * half.cosine / half.sine;
    cell         cells[AROUND_MAX]; // of the ring above, then of this one
    tns_setup(scene, "octahedron_tube", 5);
    for (int ring = 0; ring < rings; ++ring) { // from the top down
        turn at = {1, 0};
        for (int n = 0; n < around; ++n) {
            cell k = place_in_tube(at, radius, ring);
            if (n > 0) share(&k, 0, 0, cells[n - 1].knuckles[0][1]);
            if (n == around - 1) share(&k, 0, 1, cells[0].knuckles[0][0]);
            if (ring > 0) share(&k, 1, 1, cells[n].knuckles[1][0]);
            add_cell(scene, &k);
            if (ring == 0 && n == 0) hang(scene, k.knuckles[1][1][1], corner(&k, 1, 1, 1));
            cells[n] = k;
            at       = turn_on(at, full);
        }
    }
}

const tns_builtin tns_octahedron = {
    "octahedron",
    "an octahedron whose faces turn on Cardan joints at its corners: one degree of freedom",
    {{"b", "half the way between two corners of a pair [m]; 0: octahedron, 0.19: cuboctahedron", b,
      0.01, 0.18, false, NULL}},
    build_one,
};

const tns_builtin tns_octahedron_tube = {
    "octahedron_tube",
    "turning octahedra in a tube: thousands of loops, one degree of freedom",
    {{"rings", "one below the other", 2, 1, 150, true, NULL},
     {"around", "octahedra in a ring", 12, 3, AROUND_MAX, true, NULL}},
    build_tube,
};

const tns_builtin tns_octahedron_cube = {
    "octahedron_cube",
    "a cube of n^3 turning octahedra: thousands of loops, one degree of freedom",
    {{"n", "octahedra along each edge", 2, 1, CUBE_MAX, true, NULL}},
    build_cube,
};
