// geometries: the unit forms as triangles. Every one has position, normal, color and `along`: how far a vertex goes with
// the end of its piece when the piece is made longer (see batch.ts). Round things are light and dark in quarters: one sees them turn.
import {
    BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, ConeGeometry, CylinderGeometry, LatheGeometry, SphereGeometry,
    TorusGeometry, Vector2, Vector3,
} from "three";
import { ConvexGeometry } from "three/addons/geometries/ConvexGeometry.js";
import { mergeGeometries, toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import type { Vec3 } from "../protocol";
import { boxAround, type Form, type Solid } from "./pieces";

const DARK = 0.8;

/** Sets along, and takes it out of z. */
function stretchable(geometry: BufferGeometry, along: (z: number) => number): BufferGeometry {
    const at = geometry.getAttribute("position"), values = new Float32Array(at.count);
    for (let i = 0; i < at.count; ++i) {
        values[i] = along(at.getZ(i));
        at.setZ(i, at.getZ(i) - values[i]);
    }
    geometry.setAttribute("along", new BufferAttribute(values, 1));
    return geometry;
}

/** Only the attributes all forms have; white and unstretched where nothing else is said. */
function finished(geometry: BufferGeometry): BufferGeometry {
    const count = geometry.getAttribute("position").count;
    geometry.deleteAttribute("uv");
    if (!geometry.getAttribute("color")) geometry.setAttribute("color", new BufferAttribute(new Float32Array(3 * count).fill(1), 3));
    if (!geometry.getAttribute("along")) geometry.setAttribute("along", new BufferAttribute(new Float32Array(count), 1));
    return geometry;
}

/** Triangles light or dark by their middles. */
function twoTone(geometry: BufferGeometry, dark: (x: number, y: number, z: number) => boolean): BufferGeometry {
    const flat = geometry.index ? geometry.toNonIndexed() : geometry, at = flat.getAttribute("position"),
        color = new Float32Array(3 * at.count);
    for (let i = 0; i < at.count; i += 3) {
        const mean = (get: (k: number) => number): number => get(i) + get(i + 1) + get(i + 2);
        color.fill(dark(mean((k) => at.getX(k)), mean((k) => at.getY(k)), mean((k) => at.getZ(k))) ? DARK : 1, 3 * i, 3 * i + 9);
    }
    flat.setAttribute("color", new BufferAttribute(color, 3));
    if (flat !== geometry) geometry.dispose();
    return flat;
}

const upright = (geometry: BufferGeometry): BufferGeometry => geometry.rotateX(Math.PI / 2); // from y to z

/** A spring: a wire in turns, straight for a little at both ends. */
function coil(sides: number): BufferGeometry {
    const turns = 11, steps = turns * sides, wire = 0.13, ring = 6, position: number[] = [], normal: number[] = [], along: number[] = [],
        index: number[] = [];
    const centre = (s: number): Vector3 => {
        const ends = Math.min(1, 14 * Math.min(s, 1 - s)), angle = 2 * Math.PI * turns * s;
        return new Vector3(ends * Math.cos(angle), ends * Math.sin(angle), 0);
    };
    for (let i = 0; i <= steps; ++i) {
        const s = i / steps, p = centre(s), out = new Vector3(Math.cos(2 * Math.PI * turns * s), Math.sin(2 * Math.PI * turns * s), 0);
        for (let k = 0; k < ring; ++k) {
            const a = 2 * Math.PI * k / ring, n = out.clone().multiplyScalar(Math.cos(a)).add(new Vector3(0, 0, Math.sin(a)));
            position.push(p.x + wire * n.x, p.y + wire * n.y, wire * n.z);
            normal.push(n.x, n.y, n.z);
            along.push(2 * s - 1);
            if (i < steps) index.push(i * ring + k, i * ring + (k + 1) % ring, (i + 1) * ring + k, (i + 1) * ring + k,
                i * ring + (k + 1) % ring, (i + 1) * ring + (k + 1) % ring);
        }
    }
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(position), 3));
    geometry.setAttribute("normal", new BufferAttribute(new Float32Array(normal), 3));
    geometry.setAttribute("along", new BufferAttribute(new Float32Array(along), 1));
    geometry.setIndex(index);
    return geometry;
}

/** A tapered rod, thickest in the middle. */
function bone(sides: number): BufferGeometry {
    const profile: [number, number, number][] = [[0, -1, -0.6], [0.5, -1, -0.4], [0.62, -1, 0], [0.85, -0.45, 0], [0.95, 0, 0],
        [0.85, 0.45, 0], [0.62, 1, 0], [0.5, 1, 0.4], [0, 1, 0.6]];
    const geometry = new LatheGeometry(profile.map(([r, , ], i) => new Vector2(r, i)), sides), at = geometry.getAttribute("position"),
        along = new Float32Array(at.count);
    for (let i = 0; i < at.count; ++i) {
        const [, end, cap] = profile[Math.round(at.getY(i))];
        along[i] = end;
        at.setY(i, 4 * end + cap);
    }
    geometry.computeVertexNormals();
    for (let i = 0; i < at.count; ++i) at.setY(i, at.getY(i) - 4 * along[i]);
    geometry.setAttribute("along", new BufferAttribute(along, 1));
    return upright(geometry);
}

/** A ring that is open, with an arrow head: which way something turns. */
function turnArrow(sides: number): BufferGeometry {
    const ring = new TorusGeometry(1, 0.09, 8, 2 * sides, 1.6 * Math.PI), head = new ConeGeometry(0.26, 0.6, sides);
    const end = 1.6 * Math.PI + 0.2;
    head.rotateZ(end).translate(Math.cos(end), Math.sin(end), 0);
    const all = mergeGeometries([ring, head]);
    ring.dispose();
    head.dispose();
    return all;
}

/** A hull, or a box around points that have none. */
function solidGeometry(solid: Solid): BufferGeometry {
    const vectors = solid.points.map((p) => new Vector3(...p));
    if (solid.kind === "mesh" && solid.triangles.length) {
        const geometry = new BufferGeometry(), corner = (p: Vec3 | undefined): Vec3 => p ?? [0, 0, 0];
        const corners = solid.triangles.flatMap((triangle) => triangle.flatMap((i) => corner(solid.points[i])));
        geometry.setAttribute("position", new BufferAttribute(new Float32Array(corners), 3));
        return toCreasedNormals(geometry, 0.6); // round where it is nearly flat, sharp at edges
    }
    if (vectors.length > 3) {
        const hull = new ConvexGeometry(vectors);
        if (hull.getAttribute("position")?.count) return hull;
    }
    const { middle, half } = boxAround(solid.points), thin = 0.01 * Math.max(...half, 1e-6);
    return new BoxGeometry(...half.map((x) => 2 * Math.max(x, thin)) as Vec3).translate(...middle);
}

/** The triangles of a form. fine: sides of round things, a multiple of 8. */
export function makeGeometry(form: Form, solids: Solid[], fine: number): BufferGeometry {
    const end = (z: number): number => Math.sign(z);
    const make = (): BufferGeometry => {
        switch (form) {
            case "ball": return twoTone(upright(new SphereGeometry(1, fine, fine / 2)), (x, y, z) => x * y * z > 0);
            case "knob": return upright(new SphereGeometry(1, fine, Math.max(6, fine / 2)));
            case "box": return new BoxGeometry(2, 2, 2);
            case "rod": return stretchable(upright(new CapsuleGeometry(1, 2, Math.max(2, fine / 4), fine)), end);
            case "drum": return stretchable(twoTone(upright(new CylinderGeometry(1, 1, 2, fine)), (x, y) => x * y > 0), end);
            case "pin": return stretchable(upright(new CylinderGeometry(1, 1, 2, Math.max(8, fine / 2))), end);
            case "bone": return bone(Math.max(8, fine / 2));
            case "ring": return new TorusGeometry(1, 0.12, 8, fine);
            case "turn": return turnArrow(fine);
            case "cone": return upright(new ConeGeometry(1, 2, fine));
            case "coil": return coil(Math.max(8, fine / 2));
            default: return solidGeometry(solids[Number(form.slice(5))]);
        }
    };
    return finished(make());
}
