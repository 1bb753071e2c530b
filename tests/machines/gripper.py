"""A gripper: two fingers on parallelograms, tied by gears, each driven by a torque; they hold a block between their pads by friction alone.

The cranks hang straight down when the pads touch, so a crank's torque over its length is the force on the pad.
"""
from machine import GRAVITY, add, box, joint, rod

CRANK = 0.12       # [m]
CRANK_GAP = 0.03   # between the two cranks of a finger
LOAD = 2.0         # [kg]
LOAD_SIZE = [0.06, 0.04, 0.08]
FRICTION = 0.5
PAD = [0.01, 0.03, 0.05]
HEIGHT = 0.5       # of the cranks' upper pins


def needed(lift=0.0):
    """Force on each pad that just holds the load while it is lifted with this acceleration."""
    return LOAD * (GRAVITY + lift) / (2 * FRICTION)


def scene(squeeze, lift=None):
    """squeeze: force on each pad [N]; lift: speeds of the palm over the time, as a motor takes them"""
    y = [0, 1, 0]
    bodies = [box("palm", 1.0, [0.3, 0.06, 0.02], [0, 0, HEIGHT]), box("load", LOAD, LOAD_SIZE, [0, 0, HEIGHT - CRANK - 0.04], collide=True, friction=FRICTION)]
    joints = [joint("weld", "mount", "ground", "palm", [0, 0, HEIGHT]) if lift is None else
              joint("motor", "mount", "ground", "palm", [0, 0, HEIGHT], [0, 0, 1], of="slider", velocity={"keys": lift})]
    for side, s in (("left", -1), ("right", 1)):
        face = s * LOAD_SIZE[0] / 2
        inner = [face + s * 0.03, 0, HEIGHT]
        outer = add(inner, [s * CRANK_GAP, 0, 0])
        down = [0, 0, -CRANK]
        pad = [face + s * PAD[0] / 2, 0, HEIGHT - CRANK - 0.04]
        finger = box(side + " finger", 0.2, [CRANK_GAP + 0.03, 0.02, 0.02], [face + s * 0.04, 0, HEIGHT - CRANK])
        # the pad belongs to the finger; its shape stands in the finger's frame
        finger["shapes"].append({"type": "box", "half_size": [e / 2 for e in PAD], "friction": FRICTION,
                                 "position": [pad[i] - finger["position"][i] for i in range(3)]})
        bodies += [finger, rod(side + " crank", 0.05, inner, add(inner, down), 0.005), rod(side + " follower", 0.05, outer, add(outer, down), 0.005)]
        # a turn by a positive angle about y takes the lower end of a crank to -x
        joints += [joint("hinge", side + " drive", "palm", side + " crank", inner, y, force=s * squeeze * CRANK),
                   joint("hinge", side + " pivot", "palm", side + " follower", outer, y),
                   joint("hinge", side + " crank pin", side + " crank", side + " finger", add(inner, down), y),
                   joint("hinge", side + " follower pin", side + " follower", side + " finger", add(outer, down), y)]
    return {"tenon_scene": 1, "name": "gripper", "bodies": bodies, "joints": joints,
            "couplings": [{"type": "gear", "name": "gears", "joints": ["left drive", "right drive"], "ratio": -1}]}
