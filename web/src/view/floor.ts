// floor: planes that fade out, with a grid on them and shadows. The scene's floor, its plane shapes, or, where it has
// neither, a grid below everything. Planes end where another begins: each shows what borders on the free side of all.
import { Color, DoubleSide, Group, Matrix4, Mesh, Plane, PlaneGeometry, ShaderMaterial, ShadowMaterial, Vector2, Vector3 } from "three";
import type { Vec3 } from "../protocol";
import type { Theme } from "./colors";
import { add, cross, dot, place, rotate, scale, sub, turn } from "./math";
import type { Plate } from "./pieces";

const vertexShader = `
#include <clipping_planes_pars_vertex>
uniform float radius;
varying vec2 at;
void main() {
    at = position.xy * radius;
    #include <begin_vertex>
    #include <project_vertex>
    #include <clipping_planes_vertex>
}`;

// Lines are one pixel wide; where cells become smaller than some pixels they fade.
const fragmentShader = `
#include <clipping_planes_pars_fragment>
uniform float radius, cell, gridAlpha, fillAlpha;
uniform vec2 centre;
uniform vec3 lineColor, fillColor;
varying vec2 at;
float lines(float size) {
    vec2 p = (at + centre) / size, width = fwidth(p), d = abs(fract(p - 0.5) - 0.5) / max(width, 1e-6);
    vec2 line = (1.0 - min(d, 1.0)) * (1.0 - smoothstep(0.15, 0.5, width));
    return max(line.x, line.y);
}
void main() {
    #include <clipping_planes_fragment>
    float far = length(at) / radius, fade = 1.0 - smoothstep(0.15, 1.0, far), side = gl_FrontFacing ? 1.0 : 0.35;
    float grid = gridAlpha * max(lines(cell), 0.22 * lines(cell / 5.0)), fill = fillAlpha * side;
    float alpha = grid + fill * (1.0 - grid);
    if (alpha * fade < 0.002) discard;
    gl_FragColor = vec4(mix(fillColor, lineColor, grid / max(alpha, 1e-4)), alpha * fade);
    #include <colorspace_fragment>
}`;

/** A round length near x: 1, 2 or 5 times a power of ten. */
export function roundLength(x: number): number {
    const base = 10 ** Math.floor(Math.log10(x));
    return base * (x / base >= 5 ? 5 : x / base >= 2 ? 2 : 1);
}

interface Sheet { plate: Plate; filled: boolean; mesh: Mesh; shade: Mesh; material: ShaderMaterial; shadow: ShadowMaterial; plane: Plane }

const square = (): PlaneGeometry => new PlaneGeometry(2, 2);

export class Floor {
    readonly group = new Group();
    private readonly sheets: Sheet[] = [];
    private readonly geometry = square();
    private grid = true;
    private below: Plate | null = null;

    /** plates: all planes of the scene; height: of a grid where none of them is a floor, null: there is one. */
    constructor(plates: Plate[], height: number | null, private readonly reach: number) {
        for (const plate of plates) this.add(plate, true);
        if (height !== null) this.add(this.below = { body: -1, position: [0, 0, height], orientation: [1, 0, 0, 0], color: null }, false);
    }

    /** The grid that stands for a floor goes down, well below what has come below it. */
    lower(low: number, reach: number): void {
        if (this.below && low < this.below.position[2] - 1e-3 * this.reach) this.below.position = [0, 0, low - 0.25 * reach];
    }

    private add(plate: Plate, filled: boolean): void {
        const material = new ShaderMaterial({
            vertexShader, fragmentShader, transparent: true, depthWrite: false, side: DoubleSide, clipping: true,
            uniforms: {
                radius: { value: 1 }, cell: { value: roundLength(this.reach / 2) }, gridAlpha: { value: 0 }, fillAlpha: { value: 0 },
                centre: { value: new Vector2() }, lineColor: { value: new Color() }, fillColor: { value: new Color() },
            },
        });
        const shadow = new ShadowMaterial({ transparent: true, depthWrite: false, side: DoubleSide });
        const mesh = new Mesh(this.geometry, material), shade = new Mesh(this.geometry, shadow);
        for (const m of [mesh, shade]) {
            m.matrixAutoUpdate = false;
            m.frustumCulled = false;
        }
        mesh.renderOrder = -2;
        shade.renderOrder = -1;
        shade.receiveShadow = true;
        this.sheets.push({ plate, filled, mesh, shade, material, shadow, plane: new Plane() });
        this.group.add(mesh, shade);
    }

    setTheme(theme: Theme): void {
        for (const { plate, filled, material, shadow } of this.sheets) {
            const line = plate.color ?? theme.grid, fill = plate.color ?? theme.floor, u = material.uniforms;
            u.lineColor.value.setRGB(...line, "srgb");
            u.fillColor.value.setRGB(...fill, "srgb");
            u.fillAlpha.value = filled ? (plate.color ? 0.3 : theme.floorAlpha) : 0;
            u.gridAlpha.value = this.grid ? theme.gridAlpha : 0;
            shadow.opacity = theme.shadow * (filled ? 1 : 0.6);
        }
    }

    setGrid(on: boolean, theme: Theme): void {
        this.grid = on;
        this.setTheme(theme);
    }

    setShadows(on: boolean): void { for (const { shade } of this.sheets) shade.visible = on; }

    /** Planes where their bodies are, around the point of each that is nearest to `middle`. */
    update(poses: Float32Array, middle: Vec3, distance: number): void {
        const radius = 2.4 * Math.max(this.reach, 0.45 * distance);
        for (const sheet of this.sheets) {
            const { plate, mesh, shade, material, plane } = sheet, { body, orientation: q } = plate;
            const o = place(poses, body, plate.position), u = turn(poses, body, rotate(q, [1, 0, 0])),
                v = turn(poses, body, rotate(q, [0, 1, 0])), n = cross(u, v);
            const d = sub(middle, o), x = dot(d, u), y = dot(d, v), at = add(o, add(scale(u, x), scale(v, y)));
            mesh.matrix.set(
                radius * u[0], radius * v[0], n[0], at[0], radius * u[1], radius * v[1], n[1], at[1],
                radius * u[2], radius * v[2], n[2], at[2], 0, 0, 0, 1);
            shade.matrix.copy(mesh.matrix).premultiply(lifted.makeTranslation(...scale(n, 2e-4 * this.reach)));
            material.uniforms.radius.value = radius;
            material.uniforms.centre.value.set(x, y);
            plane.setFromNormalAndCoplanarPoint(new Vector3(...n), new Vector3(...sub(o, scale(n, 1e-4 * this.reach))));
        }
        for (const { material, shadow, plane } of this.sheets) {
            const others = this.sheets.map((sheet) => sheet.plane).filter((other) => other !== plane);
            material.clippingPlanes = shadow.clippingPlanes = others;
        }
    }

    dispose(): void {
        this.geometry.dispose();
        for (const { material, shadow } of this.sheets) {
            material.dispose();
            shadow.dispose();
        }
    }
}
const lifted = new Matrix4();
