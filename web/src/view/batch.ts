// batch: many copies of one form in one draw call, and sets of pieces that ride on bodies.
//
// Each copy has a matrix, a colour and a span; the shader moves each vertex by along * span, so that rods get longer
// and their caps stay round. Frames write into the arrays of the graphics card's copies; nothing is allocated.
import {
    type BufferGeometry, DynamicDrawUsage, Group, InstancedBufferAttribute, InstancedMesh, type Material, MeshDepthMaterial,
    RGBADepthPacking, type WebGLProgramParametersWithUniforms,
} from "three";
import type { Vec3 } from "../protocol";
import { makeGeometry } from "./geometries";
import { FRAME, frameAlong, length, multiplyFrames, scale, sub, add } from "./math";
import type { Form, Piece, Solid } from "./pieces";

/** A material whose vertices go with their ends. more: further changes of the shader. */
export function stretching<T extends Material>(material: T, more?: (shader: WebGLProgramParametersWithUniforms) => void): T {
    material.onBeforeCompile = (shader: WebGLProgramParametersWithUniforms): void => {
        shader.vertexShader = shader.vertexShader
            .replace("#include <common>", "#include <common>\nattribute float along;\nattribute float span;")
            .replace("#include <begin_vertex>", "#include <begin_vertex>\ntransformed.z += along * span;");
        more?.(shader);
    };
    material.customProgramCacheKey = (): string => `stretching ${more?.toString() ?? ""}`;
    return material;
}

/** From the colours people name to those light is added up in. */
export const linear = (x: number): number => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;

export class Batch {
    readonly mesh: InstancedMesh;
    readonly matrices: Float32Array;
    private readonly colors: Float32Array;
    private readonly spans: InstancedBufferAttribute;
    private readonly depth = stretching(new MeshDepthMaterial({ depthPacking: RGBADepthPacking }));
    private readonly local = new Float32Array(FRAME);
    private ghost: InstancedMesh | null = null;

    constructor(readonly geometry: BufferGeometry, material: Material, readonly room: number) {
        this.mesh = new InstancedMesh(geometry, material, room);
        this.mesh.frustumCulled = false;
        this.mesh.instanceMatrix.setUsage(DynamicDrawUsage);
        this.mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(3 * room).fill(1), 3);
        this.mesh.customDepthMaterial = this.depth;
        this.matrices = this.mesh.instanceMatrix.array as Float32Array;
        this.colors = this.mesh.instanceColor.array as Float32Array;
        this.spans = new InstancedBufferAttribute(new Float32Array(room), 1);
        geometry.setAttribute("span", this.spans);
    }

    /** The same copies once more, where they are hidden by something, in another material. */
    addGhost(material: Material): void {
        const ghost = new InstancedMesh(this.geometry, material, 0);
        ghost.instanceMatrix = this.mesh.instanceMatrix;
        ghost.instanceColor = this.mesh.instanceColor;
        ghost.count = this.mesh.count;
        ghost.frustumCulled = false;
        this.ghost = ghost;
    }

    get meshes(): InstancedMesh[] { return this.ghost ? [this.mesh, this.ghost] : [this.mesh]; }

    set count(count: number) {
        this.mesh.count = count;
        if (this.ghost) this.ghost.count = count;
    }
    get count(): number { return this.mesh.count; }

    setSpan(i: number, span: number): void { (this.spans.array as Float32Array)[i] = span; }
    setColor(i: number, color: Vec3): void { for (let k = 0; k < 3; ++k) this.colors[3 * i + k] = linear(color[k]); }

    setFrame(i: number, frame: number[]): void {
        this.local.set(frame);
        for (let c = 0; c < 4; ++c) {
            for (let k = 0; k < 3; ++k) this.matrices[16 * i + 4 * c + k] = this.local[3 * c + k];
            this.matrices[16 * i + 4 * c + 3] = c === 3 ? 1 : 0;
        }
    }

    /** One more copy, from a to b. Those of a frame begin with count = 0; what finds no room is left out. */
    pushRod(a: Vec3, b: Vec3, radius: number, color: Vec3): void {
        const d = sub(b, a);
        this.push(frameAlong(scale(add(a, b), 0.5), d, [radius, radius, radius]), length(d) / 2 / radius, color);
    }
    push(frame: number[], span: number, color: Vec3): void {
        const i = this.count;
        if (i >= this.room || !frame.every(Number.isFinite)) return;
        this.count = i + 1;
        this.setFrame(i, frame);
        this.setSpan(i, span);
        this.setColor(i, color);
    }

    /** The copies of a smaller batch. */
    take(other: Batch): void {
        this.count = other.count;
        this.matrices.set(other.matrices);
        this.colors.set(other.colors);
        (this.spans.array as Float32Array).set(other.spans.array as Float32Array);
    }

    /** To the graphics card. */
    moved(): void { this.mesh.instanceMatrix.needsUpdate = true; }
    spanned(): void { this.spans.needsUpdate = true; }
    colored(): void { this.mesh.instanceColor!.needsUpdate = true; }

    dispose(): void {
        this.mesh.dispose();
        this.geometry.dispose();
        this.depth.dispose();
    }
}

interface Load { batch: Batch; pieces: Piece[]; bodies: Int32Array; locals: Float32Array; radii: Float32Array; triangles: Float32Array | null }

const trianglesOf = (geometry: BufferGeometry): Float32Array =>
    (geometry.index ? geometry.toNonIndexed() : geometry).getAttribute("position").array as Float32Array;

/** Pieces that ride on bodies: a batch for each form. */
export class Riders {
    readonly group = new Group();
    readonly loads: Load[] = [];

    constructor(pieces: Piece[], solids: Solid[], material: Material, fine: number, ghost: Material | null = null) {
        const forms = new Map<Form, Piece[]>();
        for (const piece of pieces) {
            const list = forms.get(piece.form);
            if (list) list.push(piece); else forms.set(piece.form, [piece]);
        }
        for (const [form, list] of forms) {
            const batch = new Batch(makeGeometry(form, solids, fine), material, list.length), { geometry } = batch;
            geometry.computeBoundingSphere();
            const sphere = geometry.boundingSphere!, far = sphere.center.length() + sphere.radius;
            const load: Load = {
                batch, pieces: list, bodies: Int32Array.from(list, (piece) => piece.body),
                locals: Float32Array.from(list.flatMap((piece) => piece.frame)), radii: new Float32Array(list.length),
                triangles: form.startsWith("solid") ? trianglesOf(geometry) : null,
            };
            list.forEach((piece, i) => {
                const f = piece.frame, widest = Math.max(Math.hypot(f[0], f[1], f[2]), Math.hypot(f[3], f[4], f[5]),
                    Math.hypot(f[6], f[7], f[8]));
                load.radii[i] = widest * (far + piece.span);
                batch.setSpan(i, piece.span);
            });
            this.loads.push(load);
            if (ghost) batch.addGhost(ghost);
            this.group.add(...batch.meshes);
        }
    }

    /** Puts every piece where its body is. frames: of the ground and all bodies. */
    ride(frames: Float32Array): void {
        for (const { batch, bodies, locals } of this.loads) {
            for (let i = 0; i < bodies.length; ++i)
                multiplyFrames(batch.matrices, 16 * i, frames, FRAME * (bodies[i] + 1), locals, FRAME * i);
            batch.moved();
        }
    }

    paint(colorOf: (piece: Piece) => Vec3): void {
        for (const { batch, pieces } of this.loads) {
            pieces.forEach((piece, i) => batch.setColor(i, colorOf(piece)));
            batch.colored();
        }
    }

    setShadows(on: boolean): void { for (const { batch } of this.loads) batch.mesh.castShadow = batch.mesh.receiveShadow = on; }

    dispose(): void { for (const { batch } of this.loads) batch.dispose(); }
}
