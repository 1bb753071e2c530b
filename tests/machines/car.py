"""A car on four double wishbones: at each corner two arms on pins along the car, an upright between them on balls, a track rod that holds its
direction, a wheel, a spring with its damper. The track rod lies beside the lower arm and is as long: the wheels do not steer as they go up.
"""
import math

from machine import GRAVITY, box, joint, local, lowest, rod

CHASSIS, ARM, UPRIGHT, WHEEL = 1200.0, 4.0, 8.0, 20.0  # masses [kg]
RADIUS, WIDTH = 0.30, 0.20                             # of a wheel [m]
WHEELBASE, TRACK = 2.6, 1.5
STIFFNESS, DAMPING = 60000.0, 4000.0                   # of a spring [N/m], [N s/m]
# in the plane of an axle, y outwards from the middle of the car, z from the floor, as designed
LOWER_IN, LOWER_OUT = (0.35, 0.22), (0.68, 0.20)
UPPER_IN, UPPER_OUT = (0.42, 0.44), (0.65, 0.45)
HUB = (TRACK / 2, RADIUS)
SPRING_TOP, SPRING_LOW = (0.45, 0.65), (0.58, 0.206)   # on the chassis; on the lower arm
MIDDLE = 0.55                                          # height of the chassis' centre of mass
CORNERS = {"front left": (1, 1), "front right": (1, -1), "rear left": (-1, 1), "rear right": (-1, -1)}
ROD_AHEAD = 0.12                                       # of the track rod before the arms


def spring_force():
    """What a spring has to push with, as designed, by the principle of virtual work: a quarter of the car."""
    step = 1e-6

    def energy(angle):
        # the wheel's contact stays on the floor and the chassis goes up or down with the arm's angle
        up, _, middle = corner(angle)
        return GRAVITY * (CHASSIS / 4 * up + sum(m * z for m, z in middle))
    rise = (energy(step) - energy(-step)) / (2 * step)
    stretch = (corner(step)[1] - corner(-step)[1]) / (2 * step)
    return rise / stretch


def corner(angle):
    """With the lower arm turned by an angle from its design (outer end up being positive): how far the chassis has come up,
    the spring's length, masses and heights of what is in the corner. Everything moves in the plane of the axle."""
    def turned(p, about, a):
        y, z = p[0] - about[0], p[1] - about[1]
        return (about[0] + math.cos(a) * y - math.sin(a) * z, about[1] + math.sin(a) * y + math.cos(a) * z)
    low = turned(LOWER_OUT, LOWER_IN, angle)
    # the upper ball: on the circle of the upper arm, at the upright's length from the lower ball
    arm, upright = math.dist(UPPER_IN, UPPER_OUT), math.dist(LOWER_OUT, UPPER_OUT)
    d = math.dist(low, UPPER_IN)
    inside = math.acos((d * d + arm * arm - upright * upright) / (2 * d * arm))
    towards = math.atan2(low[1] - UPPER_IN[1], low[0] - UPPER_IN[0]) + inside
    high = (UPPER_IN[0] + arm * math.cos(towards), UPPER_IN[1] + arm * math.sin(towards))
    lean = math.atan2(high[1] - low[1], high[0] - low[0]) - math.atan2(UPPER_OUT[1] - LOWER_OUT[1], UPPER_OUT[0] - LOWER_OUT[0])
    moved = lambda p: turned((p[0] + low[0] - LOWER_OUT[0], p[1] + low[1] - LOWER_OUT[1]), low, lean)
    hub = moved(HUB)
    bottom = hub[1] - RADIUS * math.cos(lean) - WIDTH / 2 * abs(math.sin(lean))
    up = -bottom
    mean = lambda a, b: (a[1] + b[1]) / 2 + up
    carrier = moved(((LOWER_OUT[0] + UPPER_OUT[0]) / 2, (LOWER_OUT[1] + UPPER_OUT[1]) / 2))
    middle = [(ARM, mean(LOWER_IN, low)), (ARM, mean(UPPER_IN, high)), (ARM / 4, mean(LOWER_IN, low)), (UPRIGHT, carrier[1] + up), (WHEEL, hub[1] + up)]
    length = math.dist(SPRING_TOP, turned(SPRING_LOW, LOWER_IN, angle))
    return up, length, middle


def ride(slack, chassis):
    """Height of the chassis over its design where potential energy is lowest, the floor being without friction."""
    def energy(angle):
        up, length, middle = corner(angle)
        return GRAVITY * (chassis / 4 * up + sum(m * z for m, z in middle)) + STIFFNESS / 2 * (length - slack)**2
    return corner(lowest(energy, -0.3, 0.3))[0]


def slack_length():
    """Of the springs, so that the car stands as designed."""
    return math.dist(SPRING_TOP, SPRING_LOW) + spring_force() / STIFFNESS


def scene(floor_friction=0.9, payload=0.0, torque=0.0, drop=0.0):
    """payload: mass over the chassis' own, at its middle [kg]; torque on each rear wheel [N m]; drop: how high it begins above its place [m]"""
    x, y = [1, 0, 0], [0, 1, 0]
    bodies, joints, springs = [box("chassis", CHASSIS + payload, [4.0, 0.8, 0.4], [0, 0, MIDDLE + drop])], [], []
    for name, (ahead, left) in CORNERS.items():
        def at(p, forward=0.0):
            return [ahead * WHEELBASE / 2 + forward, left * p[0], p[1] + drop]
        lower, upper, upright, wheel, track = (name + " " + part for part in ("lower arm", "upper arm", "upright", "wheel", "track rod"))
        bodies += [rod(lower, ARM, at(LOWER_IN), at(LOWER_OUT), 0.02), rod(upper, ARM, at(UPPER_IN), at(UPPER_OUT), 0.02),
                   box(upright, UPRIGHT, [0.08, 0.06, 0.3], at(((LOWER_OUT[0] + UPPER_OUT[0]) / 2, (LOWER_OUT[1] + UPPER_OUT[1]) / 2))),
                   rod(track, ARM / 4, at(LOWER_IN, ROD_AHEAD), at(LOWER_OUT, ROD_AHEAD), 0.01),
                   {"name": wheel, "mass": WHEEL, "position": at(HUB),
                    "shapes": [{"type": "cylinder", "radius": RADIUS, "half_length": WIDTH / 2, "friction": floor_friction,
                                "orientation": [math.sqrt(0.5), math.sqrt(0.5), 0, 0]}]}]
        joints += [joint("hinge", lower + " pin", "chassis", lower, at(LOWER_IN), x), joint("hinge", upper + " pin", "chassis", upper, at(UPPER_IN), x),
                   joint("ball", name + " lower ball", lower, upright, at(LOWER_OUT)), joint("ball", name + " upper ball", upper, upright, at(UPPER_OUT)),
                   joint("ball", name + " inner track ball", "chassis", track, at(LOWER_IN, ROD_AHEAD)),
                   joint("ball", name + " outer track ball", track, upright, at(LOWER_OUT, ROD_AHEAD)),
                   joint("hinge", name + " axle", upright, wheel, at(HUB), y, force=torque if ahead < 0 else 0.0)]
        by_name = {b["name"]: b for b in bodies}
        springs.append({"name": name + " spring", "bodies": ["chassis", lower], "stiffness": STIFFNESS, "damping": DAMPING, "length": slack_length(),
                        "anchors": [local(by_name["chassis"], at(SPRING_TOP)), local(by_name[lower], at(SPRING_LOW))]})
    return {"tenon_scene": 1, "name": "car", "bodies": bodies, "joints": joints, "springs": springs,
            "contact": {"ground": {"friction": floor_friction}}}
