// strandbeest: Theo Jansen's walking machine, its frame held in the air or walking on a floor, its
// crank driven.
//
// A leg, seen along y with the crank's axis at the origin, P being the crank pin. The lengths are
// Jansen's numbers, in centimetres:
//
//     B = (-a, -l) on the frame    |P| = m          upper triangle B X Z:  BX = b  BZ = d  XZ = e
//     bars  PX = j  PY = k  BY = c  ZW = f          lower triangle Y W F:  YW = g  WF = h  YF = i
//
// Each point is where two circles meet, in the order X, Y, Z, W, F; F is the foot. The second leg
// of a pair is the mirror image in x = 0 on the same crank pin. Pairs stand side by side along y,
// their pins a third of a turn apart.
//
// A leg has 6 bodies and 9 hinges: 45 rows of rank 36, so it adds no freedom and 9 redundant rows.
// All legs share the frame and the crank; frame and crank are joined by one hinge, or a motor (one
// row more), and the weld to the ground has 6 rows: 45 legs + 11, or + 12 with the motor, or + 5
// when free. Tomcin (2014, fig. 6b) has 4482 rows for 50 legs, which must be 50 of the pairs: legs =
// 100 has 4505 to 4512 rows here, legs = 50 only half of that. Where the 23 others are saved cannot
// be told from the paper.
//
// On the floor a leg ends in a ball about F, which is all that touches. The lowest foot stands `drop`
// over the floor at the start. Pairs are then a mirror image of themselves in the middle of the
// crank, so that it walks straight on by and large; six pairs have feet of three phases on either
// side, and some stand at any time. While it walks the frame goes up and down by 5 mm; a turn of the
// crank takes it 1.4 m.
//
// A load of k adds k times the mass of the whole machine to the frame, as a slab of even density
// between its beams (Tomcin, section 7: k = 0, 5, 10, 20).
#include "builtins.h"
#include "linkage.h"

enum { LEGS_MAX = 100, PAIRS_MAX = LEGS_MAX / 2 };

static const double a = 0.38, b = 0.415, c = 0.393, d = 0.401, e = 0.558, f = 0.394, g = 0.367,
                    h = 0.657, i = 0.49, j = 0.5, k = 0.619, l = 0.078, m = 0.15;
static const double  pair_distance = 0.2;
static const tn_vec3 axle_end      = {0, 0.1, 0}; ///< from the last pair's plane to the bearing

// Bars by their mass a metre, the others by their density [kg/m^3].
static const double part_radius = 0.008, bar_per_metre = 0.5, plate_density = 2500;
static const double frame_radius = 0.015, frame_density = 2500;
static const double crank_radius = 0.012, crank_density = 7800;

static const double foot_radius = 0.02, foot_friction = 0.8;

enum { WALK_OFF, WALK_ON, WALK_STAND };

typedef struct machine {
    int    legs, pair_count;
    double height; ///< of the crank
    bool   floor;  ///< its feet may touch
} machine;

typedef struct leg_points {
    tn_vec3 P, B, X, Y, Z, W, F;
} leg_points;

static tn_vec3 mirrored(tn_vec3 p)
{
    return tns_vec(-p.x, p.y, p.z);
}

static tn_vec3 crank_center(const machine* w, int pair)
{
    return tns_vec(0, pair_distance * pair, w->height);
}

// In the direction (3, 4) / 5, turned by 0, 1 or 2 thirds: upright, the legs would balance.
static tn_vec3 crank_pin(const machine* w, int pair)
{
    const int           from_end  = w->pair_count - 1 - pair;
    const int           phase     = (w->floor && from_end < pair ? from_end : pair) % 3;
    static const double cosine[3] = {1, -0.5, -0.5};
    static const double sine[3]   = {0, 0.86602540378443865, -0.86602540378443865};
    const double        x         = 0.6 * cosine[phase] - 0.8 * sine[phase];
    const double        z         = 0.8 * cosine[phase] + 0.6 * sine[phase];
    return tns_add(crank_center(w, pair), tns_vec(m * x, 0, m * z));
}

static leg_points place_leg(const machine* w, int pair, bool right)
{
    const tn_vec3 center = crank_center(w, pair), pin = crank_pin(w, pair);
    leg_points    p;
    p.P = right ? mirrored(pin) : pin;
    p.B = tns_vec(-a, center.y, center.z - l);
    p.X = tns_meet(p.P, j, p.B, b, false);
    p.Y = tns_meet(p.P, k, p.B, c, true);
    p.Z = tns_meet(p.B, d, p.X, e, true);
    p.W = tns_meet(p.Z, f, p.Y, g, false);
    p.F = tns_meet(p.W, h, p.Y, i, false);
    if (!right) return p;
    return (leg_points){mirrored(p.P), mirrored(p.B), mirrored(p.X), mirrored(p.Y),
                        mirrored(p.Z), mirrored(p.W), mirrored(p.F)};
}

static tn_body_id add_part(tn_scene* scene, int leg, const char* part, tn_vec3 from, tn_vec3 to)
{
    return tns_bar(scene, tns_name("leg%d.%s", leg, part).text, from, to, part_radius,
                   bar_per_metre);
}

static tn_body_id add_plate(tn_scene* scene, int leg, const char* part, tn_vec3 p, tn_vec3 q,
                            tn_vec3 r)
{
    return tns_triangle(scene, tns_name("leg%d.%s", leg, part).text, p, q, r, part_radius,
                        plate_density);
}

static void add_pin(tn_scene* scene, int leg, const char* pin, tn_body_id body1, tn_body_id body2,
                    tn_vec3 at)
{
    tns_pin(scene, tns_name("leg%d.%s", leg, pin).text, body1, body2, at);
}

static tn_body_id add_lower(tn_scene* scene, const machine* w, int leg, const leg_points* p)
{
    if (!w->floor) return add_plate(scene, leg, "lower", p->Y, p->W, p->F);
    return tns_footed_triangle(scene, tns_name("leg%d.lower", leg).text, p->Y, p->W, p->F,
                               part_radius, plate_density, foot_radius, foot_friction);
}

static void add_leg(tn_scene* scene, const machine* w, int leg, tn_body_id frame, tn_body_id crank)
{
    const leg_points p     = place_leg(w, leg / 2, leg % 2 == 1);
    const tn_body_id upper = add_plate(scene, leg, "upper", p.B, p.X, p.Z);
    const tn_body_id lower = add_lower(scene, w, leg, &p);
    const tn_body_id PX    = add_part(scene, leg, "j", p.P, p.X),
                     PY    = add_part(scene, leg, "k", p.P, p.Y);
    const tn_body_id BY    = add_part(scene, leg, "c", p.B, p.Y),
                     ZW    = add_part(scene, leg, "f", p.Z, p.W);
    add_pin(scene, leg, "P1", crank, PX, p.P);
    add_pin(scene, leg, "P2", crank, PY, p.P);
    add_pin(scene, leg, "B1", frame, upper, p.B);
    add_pin(scene, leg, "B2", frame, BY, p.B);
    add_pin(scene, leg, "X", PX, upper, p.X);
    add_pin(scene, leg, "Y1", PY, lower, p.Y);
    add_pin(scene, leg, "Y2", BY, lower, p.Y);
    add_pin(scene, leg, "Z", upper, ZW, p.Z);
    add_pin(scene, leg, "W", ZW, lower, p.W);
}

// From one bearing to the other.
static double axle_length(int pair_count)
{
    return 2 * axle_end.y + pair_distance * (pair_count - 1);
}

// Of all but the load.
static double machine_mass(const machine* w)
{
    const double axle = axle_length(w->pair_count), strut = sqrt(a * a + l * l);
    const double plate_sides[6] = {b, d, e, g, h, i};
    const double beams[4]       = {axle, 2 * a, strut, strut}; // and as many again
    double       leg = bar_per_metre * (j + k + c + f), frame = 0;
    for (int n = 0; n < 6; ++n)
        leg += tns_truss_rod_mass(plate_sides[n], part_radius, plate_density);
    for (int n = 0; n < 4; ++n)
        frame += 2 * tns_truss_rod_mass(beams[n], frame_radius, frame_density);
    const double crank = tns_truss_rod_mass(axle, crank_radius, crank_density) +
                         w->pair_count * tns_truss_rod_mass(m, crank_radius, crank_density);
    return w->legs * leg + frame + crank;
}

static tn_body_id add_frame(tn_scene* scene, const machine* w, double load)
{
    const tn_vec3     O0      = tns_sub(crank_center(w, 0), axle_end);
    const tn_vec3     O1      = tns_add(crank_center(w, w->pair_count - 1), axle_end);
    const tn_vec3     to_left = tns_vec(-a, 0, -l), to_right = mirrored(to_left);
    const tn_vec3     L0 = tns_add(O0, to_left), L1 = tns_add(O1, to_left);
    const tn_vec3     R0 = tns_add(O0, to_right), R1 = tns_add(O1, to_right);
    const tns_segment rods[8] = {{L0, L1}, {R0, R1}, {L0, R0}, {L1, R1},
                                 {O0, L0}, {O0, R0}, {O1, L1}, {O1, R1}};
    const tns_load    slab    = {
        tns_mix(L0, R1, 0.5), {0.9 * a, axle_length(w->pair_count) / 2, frame_radius}, load};
    return tns_loaded_truss(scene, "frame", tns_mix(O0, O1, 0.5), rods, 8, frame_radius,
                            frame_density, slab);
}

static tn_body_id add_crank(tn_scene* scene, const machine* w)
{
    tns_segment rods[1 + PAIRS_MAX];
    rods[0].a = tns_sub(crank_center(w, 0), axle_end);
    rods[0].b = tns_add(crank_center(w, w->pair_count - 1), axle_end);
    for (int pair = 0; pair < w->pair_count; ++pair) {
        rods[1 + pair] = (tns_segment){crank_center(w, pair), crank_pin(w, pair)};
    }
    return tns_truss(scene, "crank", crank_center(w, 0), rods, 1 + w->pair_count, crank_radius,
                     crank_density);
}

static double lowest_foot(const machine* w)
{
    double lowest = HUGE_VAL;
    for (int leg = 0; leg < w->legs; ++leg)
        lowest = fmin(lowest, place_leg(w, leg / 2, leg % 2 == 1).F.z);
    return lowest;
}

static machine machine_of(const double* values)
{
    const int legs = (int)values[0];
    machine   w    = {legs, (legs + 1) / 2, 1.0, values[4] != WALK_OFF};
    if (w.floor) w.height += values[5] + foot_radius - lowest_foot(&w);
    return w;
}

// A hinge about y that cannot turn is a weld.
static void hold_crank(tn_scene* scene, tn_body_id frame, tn_body_id crank, tn_vec3 bearing,
                       const double* values)
{
    if (values[4] == WALK_STAND)
        tns_joint_at(scene, "crank", TN_JOINT_WELD, frame, crank, bearing, TNS_Y);
    else tns_drive(scene, "crank", frame, crank, bearing, values[1]);
}

static void build(tn_scene* scene, const double* values)
{
    const machine w    = machine_of(values);
    const bool    held = values[2] == 0 && !w.floor;
    tns_setup(scene, "strandbeest", values[4] == WALK_ON ? 30 : 5);
    if (w.floor) tn_scene_set_ground(scene, foot_friction, 0);
    const tn_body_id frame   = add_frame(scene, &w, values[3] * machine_mass(&w));
    const tn_body_id crank   = add_crank(scene, &w);
    const tn_vec3    bearing = tns_sub(crank_center(&w, 0), axle_end);
    if (held) tns_joint_at(scene, "hold", TN_JOINT_WELD, TNS_GROUND, frame, bearing, TNS_Y);
    hold_crank(scene, frame, crank, bearing, values);
    for (int leg = 0; leg < w.legs; ++leg) add_leg(scene, &w, leg, frame, crank);
}

const tns_builtin tns_strandbeest = {
    "strandbeest",
    "Theo Jansen's walking machine, many legs on one crank",
    {{"legs", "single legs; two and two share a crank pin", 12, 1, LEGS_MAX, true, NULL},
     {"motor", "speed of the crank [rad/s]; 0: it swings freely", 3, -100, 100, false, NULL},
     {"frame", "welded to the ground, or free to fall", 0, 0, 1, true, "weld|free"},
     {"load", "added to the frame, in masses of the whole machine", 0, 0, 1e6, false, NULL},
     {"walk", "on: free, on a floor; stand: the same with its crank locked", WALK_OFF, 0, 2, true,
      "off|on|stand"},
     {"drop", "on the floor: height of the lowest foot at the start [m]", 0, 0, 100, false, NULL}},
    build,
};
