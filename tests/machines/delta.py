"""A Delta robot: three driven arms on a base above, each with a parallelogram of two rods down to a platform that never tilts."""
import math

from machine import add, box, cross, dot, joint, norm, rod, root, scale, sub

BASE, PLATFORM = 0.2, 0.05   # from the axis to the arms' pins, and to the rods' lower ends [m]
ARM, FOREARM = 0.3, 0.6      # [m]
WIDTH = 0.1                  # between the two rods of a parallelogram
ARM_MASS, ROD_MASS, PLATFORM_MASS, PAYLOAD = 0.4, 0.05, 0.3, 1.0  # [kg]
HEIGHT = 1.0                 # of the arms' pins
SIDES = [2 * math.pi * i / 3 for i in range(3)]


def outwards(side):
    return [math.cos(side), math.sin(side), 0.0]


def along(side):
    """The axis of an arm's pin: a positive angle lowers the elbow."""
    return [-math.sin(side), math.cos(side), 0.0]


def elbow(side, angle):
    pin = add(scale(BASE, outwards(side)), [0, 0, HEIGHT])
    return add(pin, add(scale(ARM * math.cos(angle), outwards(side)), [0, 0, -ARM * math.sin(angle)]))


def platform_at(angles):
    """Forward kinematics: where three spheres about the elbows, moved inwards by the platform's size, meet below."""
    a, b, c = (sub(elbow(s, q), scale(PLATFORM, outwards(s))) for s, q in zip(SIDES, angles))
    ex = scale(1 / norm(sub(b, a)), sub(b, a))
    i = dot(ex, sub(c, a))
    ey = sub(sub(c, a), scale(i, ex))
    ey = scale(1 / norm(ey), ey)
    ez = cross(ex, ey)
    d, j = norm(sub(b, a)), dot(ey, sub(c, a))
    x = d / 2
    y = (i * i + j * j - 2 * i * x) / (2 * j)
    z = math.sqrt(FOREARM**2 - x * x - y * y)
    if ez[2] > 0:
        z = -z
    return add(a, add(add(scale(x, ex), scale(y, ey)), scale(z, ez)))


def arm_angle(side, place):
    """Inverse kinematics: the angle of an arm whose rods reach the platform at this place."""
    end = add(place, scale(PLATFORM, outwards(side)))
    return root(lambda q: norm(sub(elbow(side, q), end)) - FOREARM, -1.2, 1.2)


def weight_torque(angles, index, gravity):
    """Torque that holds an arm: how the potential energy changes with its angle, by differences."""
    def energy(change):
        q = [a + (change if k == index else 0) for k, a in enumerate(angles)]
        z = platform_at(q)[2]
        ends = [elbow(s, a)[2] for s, a in zip(SIDES, q)]
        return gravity * ((PLATFORM_MASS + PAYLOAD) * z + sum(ARM_MASS * (HEIGHT + e) / 2 + 2 * ROD_MASS * (e + z) / 2 for e in ends))
    return (energy(1e-5) - energy(-1e-5)) / 2e-5


def scene(start, speeds):
    """start: angles of the arms; speeds: for each arm the speeds over the time, as a motor takes them"""
    centre = platform_at(start)
    bodies = [box("platform", PLATFORM_MASS + PAYLOAD, [0.1, 0.1, 0.02], centre)]
    joints = []
    for n, (side, angle, keys) in enumerate(zip(SIDES, start, speeds)):
        pin, end = add(scale(BASE, outwards(side)), [0, 0, HEIGHT]), elbow(side, angle)
        bodies.append(rod("arm %d" % n, ARM_MASS, pin, end, 0.01))
        joints.append(joint("motor", "drive %d" % n, "ground", "arm %d" % n, pin, along(side), of="hinge", velocity={"keys": keys}))
        for letter, half in (("a", -WIDTH / 2), ("b", WIDTH / 2)):
            upper = add(end, scale(half, along(side)))
            lower = add(add(centre, scale(PLATFORM, outwards(side))), scale(half, along(side)))
            name = "rod %d%s" % (n, letter)
            bodies.append(rod(name, ROD_MASS, upper, lower, 0.005))
            joints += [joint("ball", name + " upper", "arm %d" % n, name, upper), joint("ball", name + " lower", name, "platform", lower)]
    return {"tenon_scene": 1, "name": "delta", "bodies": bodies, "joints": joints}
