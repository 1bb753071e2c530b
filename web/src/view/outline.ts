// outline: a line of some pixels around bodies and joints that are meant: selected, or under the pointer.
// The pieces are drawn once more from behind, a little larger.
import { BackSide, BufferAttribute, Group, MeshBasicMaterial, Vector2 } from "three";
import { Batch, stretching } from "./batch";
import { makeGeometry } from "./geometries";
import { FRAME, multiplyFrames } from "./math";
import type { Piece, Solid } from "./pieces";

const WIDTH = 2.5; // pixels

export class Outline {
    readonly group = new Group();
    private pieces: Piece[] = [];
    private batches: Batch[] = [];
    private readonly size = { value: new Vector2(1, 1) };
    private readonly material = stretching(new MeshBasicMaterial({ side: BackSide }), (shader) => {
        shader.uniforms.viewSize = this.size;
        shader.vertexShader = `uniform vec2 viewSize;\n${shader.vertexShader}`.replace("#include <project_vertex>", `#include <project_vertex>
            mat3 turned = mat3(instanceMatrix);
            vec3 outward = turned * (normal / vec3(dot(turned[0], turned[0]), dot(turned[1], turned[1]), dot(turned[2], turned[2])));
            vec2 aside = (projectionMatrix * modelViewMatrix * vec4(outward, 0.0)).xy * viewSize;
            gl_Position.xy += aside / max(length(aside), 1e-9) * ${(2 * WIDTH).toFixed(1)} / viewSize * gl_Position.w;`);
    });

    /** Of the whole picture, in CSS pixels. */
    setSize(width: number, height: number): void { this.size.value.set(width, height); }

    /** Other pieces than before, in colours of their own. */
    set(pieces: Piece[], solids: Solid[], fine: number): void {
        this.clear();
        this.pieces = pieces;
        this.batches = pieces.map((piece) => {
            const geometry = makeGeometry(piece.form, solids, fine);
            if (piece.form === "box" || piece.form.startsWith("solid")) { // corners shall stay closed
                geometry.computeBoundingSphere();
                const at = geometry.getAttribute("position"), middle = geometry.boundingSphere!.center,
                    normal = new Float32Array(3 * at.count);
                for (let k = 0; k < at.count; ++k) normal.set([at.getX(k) - middle.x, at.getY(k) - middle.y, at.getZ(k) - middle.z], 3 * k);
                geometry.setAttribute("normal", new BufferAttribute(normal, 3));
            }
            const batch = new Batch(geometry, this.material, 1);
            batch.setSpan(0, piece.span);
            if (piece.color) batch.setColor(0, piece.color);
            this.group.add(batch.mesh);
            return batch;
        });
    }

    ride(frames: Float32Array): void {
        this.batches.forEach((batch, i) => {
            multiplyFrames(batch.matrices, 0, frames, FRAME * (this.pieces[i].body + 1), Float32Array.from(this.pieces[i].frame), 0);
            batch.moved();
        });
    }

    clear(): void {
        for (const batch of this.batches.splice(0)) {
            this.group.remove(batch.mesh);
            batch.dispose();
        }
        this.pieces = [];
    }

    dispose(): void {
        this.clear();
        this.material.dispose();
    }
}
