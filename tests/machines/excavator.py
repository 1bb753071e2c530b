"""An excavator's arm on its turning house: boom, stick and bucket, each moved by a hydraulic cylinder; the bucket through a rocker and a link.

All of it is drawn in the plane x, z of the arm; the house turns about z.
"""
import math

from machine import box, joint, norm, rod, scale, sub

# points at the start [m]: x forward, z up
BOOM_FOOT, BOOM_TIP = (0.5, 1.5), (4.0, 4.0)
STICK_TIP = (6.0, 1.5)
BOOM_CYLINDER = (1.1, 1.2), (2.2, 3.2)        # on the house, on the boom
STICK_CYLINDER = (2.4, 3.5), (3.7, 4.6)       # on the boom, on the stick (behind the boom's tip)
BUCKET_CYLINDER = (4.2, 4.45), (5.9, 2.5)     # on the stick, on the rocker
ROCKER_FOOT = (5.5, 2.0)                      # of the rocker, on the stick
LINK_END = (6.35, 1.75)                       # of the link, on the bucket
BUCKET = (6.4, 0.9)                           # middle of the bucket with its load
HOUSE_MASS, BOOM_MASS, STICK_MASS, BUCKET_MASS = 8000.0, 1500.0, 800.0, 1600.0
ROCKER_MASS, LINK_MASS = 60.0, 50.0
BARREL_MASS, ROD_MASS = 80.0, 50.0
CYLINDERS = {"boom": ("house", "boom", BOOM_CYLINDER), "stick": ("boom", "stick", STICK_CYLINDER), "bucket": ("stick", "rocker", BUCKET_CYLINDER)}


def at(point, y=0.0):
    return [point[0], y, point[1]]


def bar(name, mass, a, b, thickness=0.15):
    return rod(name, mass, at(a), at(b), thickness)


def mean(a, b):
    return ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)


# Masses at their centres: of the boom and of the stick in the middle of their ends.
CENTRES = {"boom": mean(BOOM_FOOT, BOOM_TIP), "stick": mean(BOOM_TIP, STICK_TIP), "bucket": BUCKET,
           "rocker": mean(ROCKER_FOOT, BUCKET_CYLINDER[1]), "link": mean(BUCKET_CYLINDER[1], LINK_END)}


def scene(speeds, turn):
    """speeds: of the three cylinders' rods, out being positive, as motors take them; turn: of the house about z"""
    y, z = [0, 1, 0], [0, 0, 1]
    bodies = [box("house", HOUSE_MASS, [3, 2.5, 1.5], [-0.5, 0, 1.2]), bar("boom", BOOM_MASS, BOOM_FOOT, BOOM_TIP), bar("stick", STICK_MASS, BOOM_TIP, STICK_TIP),
              box("bucket", BUCKET_MASS, [0.9, 1.2, 1.0], at(BUCKET)), bar("rocker", ROCKER_MASS, ROCKER_FOOT, BUCKET_CYLINDER[1], 0.05),
              bar("link", LINK_MASS, BUCKET_CYLINDER[1], LINK_END, 0.05)]
    joints = [joint("motor", "slew", "ground", "house", [0, 0, 0], z, of="hinge", velocity={"keys": turn}),
              joint("hinge", "boom foot", "house", "boom", at(BOOM_FOOT), y), joint("hinge", "boom tip", "boom", "stick", at(BOOM_TIP), y),
              joint("hinge", "stick tip", "stick", "bucket", at(STICK_TIP), y), joint("hinge", "rocker foot", "stick", "rocker", at(ROCKER_FOOT), y),
              joint("hinge", "link head", "rocker", "link", at(BUCKET_CYLINDER[1]), y), joint("hinge", "link end", "link", "bucket", at(LINK_END), y)]
    for name, (first, second, (a, b)) in CYLINDERS.items():
        along = scale(1 / norm(sub(at(b), at(a))), sub(at(b), at(a)))
        third = (a[0] + 0.6 * (b[0] - a[0]), a[1] + 0.6 * (b[1] - a[1]))
        quarter = (a[0] + 0.4 * (b[0] - a[0]), a[1] + 0.4 * (b[1] - a[1]))
        barrel, piston = name + " barrel", name + " rod"
        bodies += [bar(barrel, BARREL_MASS, a, third, 0.08), bar(piston, ROD_MASS, quarter, b, 0.04)]
        joints += [joint("hinge", name + " barrel pin", first, barrel, at(a), y),
                   joint("motor", name + " cylinder", barrel, piston, at(mean(a, b)), along, of="slider", velocity={"keys": speeds[name]}),
                   joint("hinge", name + " rod pin", piston, second, at(b), y)]
    return {"tenon_scene": 1, "name": "excavator", "bodies": bodies, "joints": joints}


# Kinematics of its own, in the plane: from the three cylinders' lengths to all poses.

def distance(a, b):
    return math.hypot(b[0] - a[0], b[1] - a[1])


def moved(point, about, to, angle):
    """A point that turns by the angle (from x to z) about `about`, which goes to `to`."""
    x, z = point[0] - about[0], point[1] - about[1]
    return (to[0] + math.cos(angle) * x - math.sin(angle) * z, to[1] + math.sin(angle) * x + math.cos(angle) * z)


def swing(pivot, far, near_point, length):
    """Angle by which a part turns about its pivot, so that its point comes to `length` from the point `far`: law of cosines."""
    r, d = distance(pivot, near_point), distance(pivot, far)
    inside = math.acos((r * r + d * d - length * length) / (2 * r * d))
    towards_far = math.atan2(far[1] - pivot[1], far[0] - pivot[0])
    was = math.atan2(near_point[1] - pivot[1], near_point[0] - pivot[0])
    side = 1 if math.remainder(was - towards_far, 2 * math.pi) > 0 else -1
    return math.remainder(towards_far + side * inside - was, 2 * math.pi)


def pose(lengths):
    """Angles of boom, stick, rocker, bucket, link (from the start, from x to z) and centres of all, for three cylinder lengths."""
    boom = swing(BOOM_FOOT, BOOM_CYLINDER[0], BOOM_CYLINDER[1], lengths["boom"])
    on_boom = lambda p: moved(p, BOOM_FOOT, BOOM_FOOT, boom)
    tip = on_boom(BOOM_TIP)
    carried = lambda p: moved(p, BOOM_TIP, tip, boom)  # of the stick, if it did not turn on the boom
    stick = boom + swing(tip, on_boom(STICK_CYLINDER[0]), carried(STICK_CYLINDER[1]), lengths["stick"])
    on_stick = lambda p: moved(p, BOOM_TIP, tip, stick)
    foot = on_stick(ROCKER_FOOT)
    rocker = stick + swing(foot, on_stick(BUCKET_CYLINDER[0]), on_stick(BUCKET_CYLINDER[1]), lengths["bucket"])
    head = moved(BUCKET_CYLINDER[1], ROCKER_FOOT, foot, rocker)
    end = on_stick(STICK_TIP)
    bucket = stick + swing(end, head, on_stick(LINK_END), distance(BUCKET_CYLINDER[1], LINK_END))
    link_end = moved(LINK_END, STICK_TIP, end, bucket)
    ends = {"boom": (BOOM_CYLINDER[0], on_boom(BOOM_CYLINDER[1])), "stick": (on_boom(STICK_CYLINDER[0]), on_stick(STICK_CYLINDER[1])),
            "bucket": (on_stick(BUCKET_CYLINDER[0]), head)}
    centres = {"boom": on_boom(CENTRES["boom"]), "stick": on_stick(CENTRES["stick"]), "bucket": moved(BUCKET, STICK_TIP, end, bucket),
               "rocker": mean(foot, head), "link": mean(head, link_end)}
    for name, (a, b) in ends.items():
        length, start = distance(a, b), distance(*CYLINDERS[name][2])
        barrel, piston = 0.3 * start / length, 1 - 0.3 * start / length  # the middle of each, along the line
        centres[name + " barrel"] = (a[0] + barrel * (b[0] - a[0]), a[1] + barrel * (b[1] - a[1]))
        centres[name + " rod"] = (a[0] + piston * (b[0] - a[0]), a[1] + piston * (b[1] - a[1]))
    return {"boom": boom, "stick": stick, "rocker": rocker, "bucket": bucket}, centres


MASSES = {"boom": BOOM_MASS, "stick": STICK_MASS, "bucket": BUCKET_MASS, "rocker": ROCKER_MASS, "link": LINK_MASS,
          **{c + " barrel": BARREL_MASS for c in CYLINDERS}, **{c + " rod": ROD_MASS for c in CYLINDERS}}


def thrust(lengths, name, gravity):
    """Force along a cylinder that holds the arm at rest, pushing out being positive: change of potential energy with its length."""
    def energy(change):
        _, centres = pose({**lengths, name: lengths[name] + change})
        return sum(gravity * MASSES[part] * centre[1] for part, centre in centres.items())
    return (energy(1e-5) - energy(-1e-5)) / 2e-5
