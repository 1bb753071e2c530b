"""A ragdoll that falls down a flight of stairs: sixteen parts, balls with hard cones and twists, hinges with hard stops."""
import math

from machine import add, joint, norm, rotate, sub, z_along

STEPS, RISE, TREAD, BREADTH = 6, 0.18, 0.28, 3.0
FRICTION = 0.6
# name: mass [kg], from, to (at the start, standing at (0, 0), facing +x), radius
PARTS = {
    "pelvis": (10.0, [0, -0.08, 0.95], [0, 0.08, 0.95], 0.09), "belly": (8.0, [0, -0.05, 1.10], [0, 0.05, 1.10], 0.10), "chest": (16.0, [0, -0.08, 1.30], [0, 0.08, 1.30], 0.12),
    "head": (5.0, [0, 0, 1.58], [0, 0, 1.66], 0.09),
    **{side + name: (mass, [a[0], s * a[1], a[2]], [b[0], s * b[1], b[2]], radius) for side, s in (("left ", 1), ("right ", -1)) for name, mass, a, b, radius in (
        ("upper arm", 2.2, (0, 0.26, 1.38), (0, 0.26, 1.12), 0.05), ("forearm", 1.6, (0, 0.26, 1.10), (0, 0.26, 0.86), 0.04), ("hand", 0.5, (0, 0.26, 0.80), (0, 0.26, 0.72), 0.035),
        ("thigh", 8.0, (0, 0.10, 0.88), (0, 0.10, 0.54), 0.07), ("shin", 4.0, (0, 0.10, 0.48), (0, 0.10, 0.14), 0.05), ("foot", 1.2, (-0.03, 0.10, 0.045), (0.14, 0.10, 0.045), 0.04))},
}


def steps():
    """Boxes of the stairs: (centre, half size). The top of the flight is at z = 0, at x < 0.3; below it there is a floor."""
    boxes = []
    for i in range(STEPS):
        near, far = (-2.0 if i == 0 else 0.3 + (i - 1) * TREAD), 0.3 + i * TREAD
        top, bottom = -i * RISE, -STEPS * RISE - 0.5
        boxes.append(([(near + far) / 2, 0, (top + bottom) / 2], [(far - near) / 2, BREADTH / 2, (top - bottom) / 2]))
    near, far = 0.3 + (STEPS - 1) * TREAD, 6.0
    boxes.append(([(near + far) / 2, 0, -STEPS * RISE - 0.25], [(far - near) / 2, BREADTH / 2, 0.25]))
    return boxes


def scene(push=2.5):
    """push: speed forwards at the start [m/s]"""
    bodies = [{"name": "stairs", "kind": "static", "shapes": [{"type": "box", "position": c, "half_size": h, "friction": FRICTION} for c, h in steps()]}]
    for name, (mass, a, b, radius) in PARTS.items():
        bodies.append({"name": name, "mass": mass, "position": [(p + q) / 2 for p, q in zip(a, b)], "orientation": z_along(sub(b, a)), "velocity": [push, 0, 0],
                       "shapes": [{"type": "capsule", "radius": radius, "half_length": norm(sub(b, a)) / 2, "friction": FRICTION}]})
    y = [0, 1, 0]
    def ball(name, first, second, anchor, axis, cone, twist):
        return joint("ball", name, first, second, anchor, axis, damping=0.5, limit={"cone": cone, "twist": [-twist, twist], "hard": True})
    def hinge(name, first, second, anchor, lower, upper):
        return joint("hinge", name, first, second, anchor, y, damping=0.5, limit={"lower": lower, "upper": upper, "hard": True})
    joints = [ball("loin", "pelvis", "belly", [0, 0, 1.02], [0, 0, 1], 0.4, 0.3), ball("waist", "belly", "chest", [0, 0, 1.18], [0, 0, 1], 0.4, 0.3),
              ball("neck", "chest", "head", [0, 0, 1.48], [0, 0, 1], 0.7, 0.8)]
    for side, s in (("left ", 1), ("right ", -1)):
        joints += [ball(side + "shoulder", "chest", side + "upper arm", [0, s * 0.26, 1.40], [0, 0, -1], 1.5, 0.8),
                   # about y a positive angle takes what hangs down backwards (to -x)
                   hinge(side + "elbow", side + "upper arm", side + "forearm", [0, s * 0.26, 1.11], -2.4, 0.0),
                   ball(side + "wrist", side + "forearm", side + "hand", [0, s * 0.26, 0.83], [0, 0, -1], 0.8, 0.4),
                   ball(side + "hip", "pelvis", side + "thigh", [0, s * 0.10, 0.92], [0, 0, -1], 1.2, 0.5),
                   hinge(side + "knee", side + "thigh", side + "shin", [0, s * 0.10, 0.51], 0.0, 2.4),
                   hinge(side + "ankle", side + "shin", side + "foot", [0, s * 0.10, 0.09], -0.6, 0.6)]
    return {"tenon_scene": 1, "name": "ragdoll", "bodies": bodies, "joints": joints}


def depth(position, orientation, part):
    """How deep a part is inside the stairs, by the distances of points of its axis from the boxes [m]; negative when it is clear of them."""
    _, a, b, radius = PARTS[part]
    half, worst = norm(sub(b, a)) / 2, -1.0
    for i in range(5):
        p = add(position, rotate(orientation, [0, 0, half * (i / 2 - 1)]))
        for centre, size in steps():
            out = [abs(p[k] - centre[k]) - size[k] for k in range(3)]
            distance = math.sqrt(sum(max(o, 0)**2 for o in out)) + min(max(out), 0)
            worst = max(worst, radius - distance)
    return worst
