"""A roller chain on two sprockets: rollers that lie between teeth, nothing else carries the motion. The large sprocket sits on a carriage that
a force pulls outwards: it keeps the chain tight.

The chain lies in the plane x, z. At the start it fits without play: five rollers are in the small sprocket, eleven in the large one, and
two straight spans of eight links run between them.
"""
import math

from machine import add, box, joint, middle, norm, sub

PITCH, ROLLER = 0.05, 0.015          # of the chain; radius of a roller [m]
SMALL_TEETH, LARGE_TEETH = 9, 18
SPAN = 8                             # links from sprocket to sprocket
LINK_MASS, SMALL_MASS, LARGE_MASS, CARRIAGE_MASS = 0.1, 2.0, 6.0, 2.0
WIDTH = 0.02
CLEARANCE = 0.0002                   # between a seated roller and the flanks
FLANK = math.radians(20)             # of the teeth, from the radius
ALONG_Y = [math.sqrt(0.5), math.sqrt(0.5), 0, 0]  # of a cylinder
TIGHTEN = 200.0                      # on the carriage [N]


def pitch_radius(teeth):
    return PITCH / (2 * math.sin(math.pi / teeth))


def seats(teeth, count, towards):
    """Angles of `count` neighbouring seats about the direction `towards`."""
    return [towards + (i - (count - 1) / 2) * 2 * math.pi / teeth for i in range(count)]


def on_circle(radius, angle, x=0.0):
    return [x + radius * math.cos(angle), 0.0, radius * math.sin(angle)]


def centre_distance():
    a, b = on_circle(pitch_radius(SMALL_TEETH), seats(SMALL_TEETH, 5, math.pi)[0]), on_circle(pitch_radius(LARGE_TEETH), seats(LARGE_TEETH, 11, 0)[-1])
    return a[0] - b[0] + math.sqrt((SPAN * PITCH)**2 - (a[2] - b[2])**2)


def pins():
    """Centres of all rollers, in order round the loop, against the clock: round the large one, along the top, round the small one, along below."""
    small = [on_circle(pitch_radius(SMALL_TEETH), a) for a in seats(SMALL_TEETH, 5, math.pi)]
    large = [on_circle(pitch_radius(LARGE_TEETH), a, centre_distance()) for a in seats(LARGE_TEETH, 11, 0)]
    def between(a, b):
        return [add(a, [(b[k] - a[k]) * i / SPAN for k in range(3)]) for i in range(1, SPAN)]
    return large + between(large[-1], small[0]) + small + between(small[-1], large[0])


def sprocket(name, mass, teeth, x, first_seat, friction):
    """A disc that the rollers lie on, and a prism for each tooth, halfway between two seats."""
    radius = pitch_radius(teeth)
    shapes = [{"type": "cylinder", "radius": radius - ROLLER, "half_length": WIDTH / 2, "orientation": ALONG_Y, "friction": friction,
               "group": 2, "collides_with": [1]}]
    level = radius * math.cos(math.pi / teeth)  # where a roller's centre is, seen from the tooth's middle line
    def half_width(v):
        return PITCH / 2 - (ROLLER + CLEARANCE) / math.cos(FLANK) - (v - level) * math.tan(FLANK)
    root, tip = level - 0.9 * ROLLER, level + 0.9 * ROLLER
    for i in range(teeth):
        angle = first_seat + (i + 0.5) * 2 * math.pi / teeth
        out, side = (math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))
        corners = [[v * out[0] + s * half_width(v) * side[0], y, v * out[1] + s * half_width(v) * side[1]]
                   for v in (root, tip) for s in (-1, 1) for y in (-WIDTH / 2, WIDTH / 2)]
        shapes.append({"type": "convex", "points": corners, "friction": friction, "group": 2, "collides_with": [1]})
    inertia = mass * radius**2 / 2
    return {"name": name, "mass": mass, "com": [0, 0, 0], "inertia": [inertia / 2, inertia, inertia / 2], "position": [x, 0, 0], "shapes": shapes}


def scene(torque, brake=None, friction=0.0, roller="cylinder"):
    """torque on the small sprocket [N m]; brake of the large one [N m s/rad], None: it is held"""
    y = [0, 1, 0]
    distance = centre_distance()
    bodies = [sprocket("small", SMALL_MASS, SMALL_TEETH, 0, math.pi, friction), sprocket("large", LARGE_MASS, LARGE_TEETH, distance, 0, friction),
              box("carriage", CARRIAGE_MASS, [0.1, 0.02, 0.05], [distance, 0.05, 0])]
    joints = [joint("hinge", "small axle", "ground", "small", [0, 0, 0], y, force=torque),
              joint("slider", "rail", "ground", "carriage", [distance, 0, 0], [1, 0, 0], force=TIGHTEN, damping=200),
              joint("hinge", "large axle", "carriage", "large", [distance, 0, 0], y, damping=brake) if brake is not None else
              joint("motor", "large axle", "carriage", "large", [distance, 0, 0], y, of="hinge", velocity=0)]
    at = pins()
    shape = {"type": "cylinder", "radius": ROLLER, "half_length": WIDTH / 2, "orientation": ALONG_Y} if roller == "cylinder" else \
        {"type": "sphere", "radius": ROLLER}
    for i, pin in enumerate(at):
        after = at[(i + 1) % len(at)]
        assert abs(norm(sub(after, pin)) - PITCH) < 1e-9
        centre = middle(pin, after)
        link = box("link %d" % i, LINK_MASS, [PITCH, WIDTH, ROLLER], centre)
        link["inertia"] = [1e-5, 2e-5, 2e-5]
        link["shapes"] = [{**shape, "position": sub(pin, centre), "friction": friction, "group": 1, "collides_with": [2]}]
        bodies.append(link)
        joints.append(joint("hinge", "pin %d" % i, "link %d" % ((i - 1) % len(at)), "link %d" % i, pin, y))
    return {"tenon_scene": 1, "name": "chain", "bodies": bodies, "joints": joints}
