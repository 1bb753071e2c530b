"""A sprung leg that hops on the spot: a body on a vertical guide, a leg that slides in it against a spring up to a stop, a round foot."""
from machine import box, joint

BODY, FOOT = 10.0, 0.5     # [kg]
STIFFNESS = 4000.0         # [N/m]
LENGTH = 0.6               # from the foot's centre to the body, the spring being slack
RADIUS = 0.05              # of the foot


def scene(drop=0.0, damping=0.0, name="leg"):
    """drop: how high the foot begins above the floor [m]; damping of the leg [N s/m]"""
    foot = RADIUS + drop
    bodies = [box("body", BODY, [0.3, 0.2, 0.2], [0, 0, foot + LENGTH]),
              {"name": "foot", "mass": FOOT, "position": [0, 0, foot], "shapes": [{"type": "sphere", "radius": RADIUS}]}]
    joints = [joint("slider", "guide", "ground", "body", [0, 0, foot + LENGTH], [0, 0, 1]),
              joint("slider", "leg", "body", "foot", [0, 0, foot], [0, 0, 1], stiffness=STIFFNESS, damping=damping, limit={"lower": 0, "hard": True})]
    return {"tenon_scene": 1, "name": name, "bodies": bodies, "joints": joints, "contact": {"ground": {}}}
