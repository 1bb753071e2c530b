"""A rope bridge: planks that hang between two abutments, neighbours tied by a rope at either side; a truck that drives on to it and stops."""
import math

from machine import box, joint, root

PLANKS, PLANK, ROPE = 20, 0.90, 0.10       # number; length of a plank and of the rope to the next [m]
PLANK_MASS, THICKNESS, BREADTH = 60.0, 0.10, 2.4
SLACK = 0.12                               # how much longer than the gap all of it is
SPAN = PLANKS * PLANK + (PLANKS + 1) * ROPE - SLACK
SIDE = 1.0                                 # of the ropes from the middle
DRAG = 1000.0                              # on each plank: what wood and ropes take [N s/m]
TRUCK, WHEEL, WHEEL_RADIUS, WHEELBASE, TRACK = 2600.0, 100.0, 0.40, 2.0, 1.6
SILL = 1.0                                 # height of the truck's centre of mass over the road


def hang(gravity, pull, lift, loads=()):
    """From the left end, where the ropes pull with (pull, lift), plank by plank to the right: centres, slopes, and where the last rope ends.
    loads: (plank, how far right of its middle along it, force x, force z). A rope lies along the force; a plank where moments balance."""
    x = z = 0.0
    planks = []
    for i in range(PLANKS):
        t = math.hypot(pull, lift)
        x, z = x + ROPE * pull / t, z - ROPE * lift / t
        weight = PLANK_MASS * gravity
        mine = [l for l in loads if l[0] == i]
        fx, fz = sum(l[2] for l in mine), sum(l[3] for l in mine) - weight
        # the plank is pulled with (-pull, lift) on the left, and with (pull_next, -lift_next) on the right
        pull_next, lift_next = pull - fx, lift + fz
        # moments about the middle: both ends pull with half the length as arm, loads with their own; their line of action is on the plank's top
        def moment(a):
            c, s = math.cos(a), math.sin(a)
            m = PLANK / 2 * (c * (lift_next + lift) + s * (pull_next + pull)) * -1
            for _, along, gx, gz in mine:
                px, pz = along * c - THICKNESS / 2 * s, along * s + THICKNESS / 2 * c
                m += px * gz - pz * gx
            return m
        a = root(moment, -1.4, 1.4)
        planks.append((x + PLANK / 2 * math.cos(a), z + PLANK / 2 * math.sin(a), a))
        x, z = x + PLANK * math.cos(a), z + PLANK * math.sin(a)
        pull, lift = pull_next, lift_next
    t = math.hypot(pull, lift)
    return planks, (x + ROPE * pull / t, z - ROPE * lift / t), (pull, lift)


def statics(gravity, loads=()):
    """The bridge at rest: planks (x, z, angle) and the pull of the ropes at both ends, as (horizontal, vertical upwards)."""
    pull, lift = 2e4, PLANKS * PLANK_MASS * gravity / 2 - sum(l[3] for l in loads) / 2
    for _ in range(60):
        _, end, _ = hang(gravity, pull, lift, loads)
        e = (end[0] - SPAN, end[1])
        if abs(e[0]) + abs(e[1]) < 1e-11:
            break
        dp, dl = 1e-3, 1e-3
        p, l = hang(gravity, pull + dp, lift, loads)[1], hang(gravity, pull, lift + dl, loads)[1]
        a, c, b, d = (p[0] - end[0]) / dp, (p[1] - end[1]) / dp, (l[0] - end[0]) / dl, (l[1] - end[1]) / dl
        det = a * d - b * c
        pull -= max(-0.3 * pull, min(0.3 * pull, (e[0] * d - b * e[1]) / det))
        lift -= (a * e[1] - e[0] * c) / det
    planks, _, right = hang(gravity, pull, lift, loads)
    return planks, (pull, lift), right


def wheel_loads(gravity, places, planks):
    """Loads of the two axles on the bridge, for statics(), from where the truck stands: places of the truck and of two wheels, poses of the planks."""
    def under(wheel):
        best = None
        for i, (place, q) in enumerate(planks):
            angle = -2 * math.atan2(q[2], q[0])
            along = math.cos(angle) * (wheel[0] - place[0]) + math.sin(angle) * (wheel[2] - place[2])
            if best is None or abs(along) < abs(best[1]):
                best = (i, along, angle)
        i, along, angle = best
        return i, along, (wheel[0] + WHEEL_RADIUS * math.sin(angle), wheel[2] - WHEEL_RADIUS * math.cos(angle)), (-math.sin(angle), math.cos(angle))
    rear, front = under(places["rear left"]), under(places["front left"])
    # moments about the rear wheels' contact
    weights = [(TRUCK, places["truck"]), (2 * WHEEL, places["front left"]), (2 * WHEEL, places["rear left"])]
    turning = sum(m * gravity * (p[0] - rear[2][0]) for m, p in weights)
    arm = (front[2][0] - rear[2][0]) * front[3][1] - (front[2][1] - rear[2][1]) * front[3][0]
    push = turning / arm
    total = gravity * sum(m for m, _ in weights)
    fx, fz = -push * front[3][0], -push * front[3][1]
    return [(front[0], front[1], fx, fz), (rear[0], rear[1], -fx, -total - fz)]

def scene(gravity, truck=None, tie="rope"):
    """truck: None, or the speeds of its rear wheels' rims over the time; it starts with the front axle half a metre before the edge.
    tie: `rope`, or `distance` for rods in place of the ropes"""
    y = [0, 1, 0]
    planks, _, _ = statics(gravity)
    bodies = [box("left abutment", 1.0, [8.0, 4.0, 1.0], [-4.0, 0, THICKNESS / 2 - 0.5], collide=True, friction=0.8),
              box("right abutment", 1.0, [8.0, 4.0, 1.0], [SPAN + 4.0, 0, THICKNESS / 2 - 0.5], collide=True, friction=0.8)]
    for b in bodies:
        b["kind"] = "static"
        del b["mass"]
    drags = []
    for i, (x, z, a) in enumerate(planks):
        bodies.append(box("plank %d" % i, PLANK_MASS, [PLANK, BREADTH, THICKNESS], [x, 0, z], [math.cos(a / 2), 0, -math.sin(a / 2), 0], collide=True, friction=0.8))
        drags.append({"body": "plank %d" % i, "linear": DRAG})
    joints = []
    for i in range(PLANKS + 1):
        for side, s in (("left", 1), ("right", -1)):
            first = ("plank %d" % (i - 1), [PLANK / 2, s * SIDE, 0]) if i > 0 else ("ground", [0, s * SIDE, 0])
            second = ("plank %d" % i, [-PLANK / 2, s * SIDE, 0]) if i < PLANKS else ("ground", [SPAN, s * SIDE, 0])
            joints.append({"type": tie, "name": "%s rope %d" % (side, i), "bodies": [first[0], second[0]], "anchors": [first[1], second[1]], "length": ROPE})
    if truck is not None:
        front, road = -0.5, THICKNESS / 2
        drags.append({"body": "truck", "angular": 20000})  # instead of its dampers
        bodies.append(box("truck", TRUCK, [3.5, 1.2, 0.8], [front - WHEELBASE / 2, 0, road + SILL]))
        for name, x, s in (("front left", front, 1), ("front right", front, -1), ("rear left", front - WHEELBASE, 1), ("rear right", front - WHEELBASE, -1)):
            centre = [x, s * TRACK / 2, road + WHEEL_RADIUS]
            bodies.append({"name": name, "mass": WHEEL, "position": centre, "shapes": [{"type": "cylinder", "radius": WHEEL_RADIUS, "half_length": 0.12,
                           "orientation": [math.sqrt(0.5), math.sqrt(0.5), 0, 0], "friction": 0.8}]})
            if name.startswith("rear"):
                keys = [{"time": k["time"], "value": k["value"] / WHEEL_RADIUS} for k in truck]
                joints.append(joint("motor", name + " axle", "truck", name, centre, y, of="hinge", velocity={"keys": keys}))
            else:
                joints.append(joint("hinge", name + " axle", "truck", name, centre, y))
    # neighbours among the planks are tied by ropes only, and would touch at their edges
    apart = [["plank %d" % i, "plank %d" % (i + 1)] for i in range(PLANKS - 1)] + [["left abutment", "plank 0"], ["right abutment", "plank %d" % (PLANKS - 1)]]
    return {"tenon_scene": 1, "name": "bridge", "bodies": bodies, "joints": joints, "drag": drags, "contact": {"exclude": apart}}
