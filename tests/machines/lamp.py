"""A balanced lamp: two arms, each a parallelogram, so that the plates at their ends keep upright, each carried by a spring that is slack
at length zero. Such a spring from a height H over a pivot to a point R along the arm gives the moment k H R cos(angle) of a weight, with the other
sign: the lamp stands in every pose.
"""
import math

from machine import GRAVITY, add, box, joint, local, rod, scale

LOWER, UPPER = 0.40, 0.35          # lengths of the arms [m]
ARM_MASS, BAR_MASS, PLATE_MASS, HEAD_MASS = 0.25, 0.10, 0.15, 0.5  # [kg]
OFFSET = [-0.04, 0, 0.0]           # of a parallelogram's bar from its arm
POST, ALONG = 0.12, 0.10           # H and R of both springs [m]
HEAD = [0.06, 0, -0.03]            # the head's middle from the upper arm's end
FOOT = 0.3                         # height of the lower pivot


def stiffness():
    """Of the two springs: what their arms carry, by its moment about each pivot."""
    end = PLATE_MASS + HEAD_MASS
    upper = ((ARM_MASS + BAR_MASS) / 2 + end) * UPPER
    lower = ((ARM_MASS + BAR_MASS) / 2 + PLATE_MASS + ARM_MASS + BAR_MASS + end) * LOWER
    return lower * GRAVITY / (POST * ALONG), upper * GRAVITY / (POST * ALONG)


def arm_direction(angle):
    return [math.cos(angle), 0.0, math.sin(angle)]


def scene(lower, upper, damping=0.0, friction=0.0, extra=0.0, loads=()):
    """lower, upper: angles of the arms over the horizontal [rad]; damping and friction of the two arms' pins;
    extra: mass that the head has too much [kg]"""
    y = [0, 1, 0]
    foot = [0, 0, FOOT]
    elbow = add(foot, scale(LOWER, arm_direction(lower)))
    end = add(elbow, scale(UPPER, arm_direction(upper)))
    pin = {"damping": damping, "friction": friction}
    bodies = [rod("lower arm", ARM_MASS, foot, elbow, 0.008), rod("lower bar", BAR_MASS, add(foot, OFFSET), add(elbow, OFFSET), 0.005),
              box("elbow plate", PLATE_MASS, [0.05, 0.01, 0.03], elbow),
              rod("upper arm", ARM_MASS, elbow, end, 0.008), rod("upper bar", BAR_MASS, add(elbow, OFFSET), add(end, OFFSET), 0.005),
              box("end plate", PLATE_MASS, [0.05, 0.01, 0.03], end), box("head", HEAD_MASS + extra, [0.12, 0.12, 0.1], add(end, HEAD))]
    joints = [joint("hinge", "foot pin", "ground", "lower arm", foot, y, **pin), joint("hinge", "foot bar pin", "ground", "lower bar", add(foot, OFFSET), y),
              joint("hinge", "elbow pin", "lower arm", "elbow plate", elbow, y), joint("hinge", "elbow bar pin", "lower bar", "elbow plate", add(elbow, OFFSET), y),
              joint("hinge", "shoulder pin", "elbow plate", "upper arm", elbow, y, **pin),
              joint("hinge", "shoulder bar pin", "elbow plate", "upper bar", add(elbow, OFFSET), y),
              joint("hinge", "end pin", "upper arm", "end plate", end, y), joint("hinge", "end bar pin", "upper bar", "end plate", add(end, OFFSET), y),
              joint("weld", "head mount", "end plate", "head", end)]
    k_lower, k_upper = stiffness()
    by_name = {b["name"]: b for b in bodies}
    springs = [{"name": "lower spring", "bodies": ["ground", "lower arm"], "stiffness": k_lower, "length": 0,
                "anchors": [add(foot, [0, 0, POST]), local(by_name["lower arm"], add(foot, scale(ALONG, arm_direction(lower))))]},
               {"name": "upper spring", "bodies": ["elbow plate", "upper arm"], "stiffness": k_upper, "length": 0,
                "anchors": [[0, 0, POST], local(by_name["upper arm"], add(elbow, scale(ALONG, arm_direction(upper))))]}]
    return {"tenon_scene": 1, "name": "lamp", "bodies": bodies, "joints": joints, "springs": springs, **({"loads": list(loads)} if loads else {})}
