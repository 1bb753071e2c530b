"""A planetary gear: the sun is driven by a torque, the ring is held, the carrier drives a brake."""
import math

from machine import joint

SUN_TEETH, PLANET_TEETH, RING_TEETH = 20, 25, 70
MODULE = 0.002  # [m a tooth]
PLANETS = 3


def ratio():
    """Turns of the sun for one of the carrier, the ring being held."""
    return 1 + RING_TEETH / SUN_TEETH


def disc(name, mass, teeth, position):
    return {"name": name, "mass": mass, "position": position,
            "shapes": [{"type": "cylinder", "radius": MODULE * teeth / 2, "half_length": 0.005, "collide": False}]}


def scene(torque=1.0, brake=10.0, mass=0.2):
    """torque on the sun [N m], brake on the carrier [N m s/rad]"""
    up = [0, 0, 1]
    bodies = [disc("sun", mass, SUN_TEETH, [0, 0, 0]), disc("ring", 3 * mass, RING_TEETH, [0, 0, 0.02]), disc("carrier", mass, SUN_TEETH + PLANET_TEETH, [0, 0, 0.04])]
    joints = [joint("hinge", "sun shaft", "ground", "sun", [0, 0, 0], up, force=torque),
              joint("motor", "ring mount", "ground", "ring", [0, 0, 0], up, of="hinge", velocity=0),
              joint("hinge", "output", "ground", "carrier", [0, 0, 0], up, damping=brake)]
    couplings = []
    for i in range(PLANETS):
        angle = 2 * math.pi * i / PLANETS
        r = MODULE * (SUN_TEETH + PLANET_TEETH) / 2
        planet, pin = "planet %d" % i, "pin %d" % i
        at = [r * math.cos(angle), r * math.sin(angle), 0]
        bodies.append(disc(planet, mass, PLANET_TEETH, at))
        joints.append(joint("hinge", pin, "carrier", planet, at, up))
        # seen from the carrier, sun and planet turn against each other, planet and ring with each other
        couplings.append({"type": "coupler", "name": "sun mesh %d" % i, "joints": ["sun shaft", "output", pin],
                          "coefficients": [SUN_TEETH, -SUN_TEETH, PLANET_TEETH]})
        couplings.append({"type": "coupler", "name": "ring mesh %d" % i, "joints": ["ring mount", "output", pin],
                          "coefficients": [RING_TEETH, -RING_TEETH, -PLANET_TEETH]})
    return {"tenon_scene": 1, "name": "planetary", "bodies": bodies, "joints": joints, "couplings": couplings}
