// light: sky, sun and background. The sun's shadows are kept around the mechanism as it moves.
import { DirectionalLight, Group, HemisphereLight, Mesh, PlaneGeometry, ShaderMaterial, Color } from "three";
import type { Vec3 } from "../protocol";
import type { Theme } from "./colors";
import { add, length, scale, sub, unit } from "./math";

const SUN = unit([0.42, -0.5, 0.95]);

/** The whole picture in one colour that changes from above to below, with a little noise: no bands. */
function makeBackground(): Mesh<PlaneGeometry, ShaderMaterial> {
    const material = new ShaderMaterial({
        depthTest: false, depthWrite: false, uniforms: { top: { value: new Color() }, bottom: { value: new Color() } },
        vertexShader: "varying float high;\nvoid main() {\n    high = 0.5 + 0.5 * position.y;\n    gl_Position = vec4(position.xy, 1.0, 1.0);\n}",
        fragmentShader: `uniform vec3 top, bottom;
            varying float high;
            void main() {
                float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - 0.5;
                gl_FragColor = vec4(mix(bottom, top, smoothstep(0.0, 1.0, high)) + noise / 255.0, 1.0);
            }`,
    });
    const mesh = new Mesh(new PlaneGeometry(2, 2), material);
    mesh.frustumCulled = false;
    mesh.renderOrder = -100;
    return mesh;
}

export class Light {
    readonly group = new Group();
    private readonly sky = new HemisphereLight();
    private readonly sun = new DirectionalLight();
    private readonly fill = new DirectionalLight(0xffffff, 0.35);
    private readonly background = makeBackground();
    private middle: Vec3 = [0, 0, 0];
    private radius = 0;

    constructor() {
        this.sky.position.set(0, 0, 1);
        this.fill.position.set(-0.8, 0.5, 0.25);
        const { shadow } = this.sun;
        shadow.mapSize.set(2048, 2048);
        shadow.radius = 2.5;
        this.group.add(this.sky, this.sun, this.sun.target, this.fill, this.background);
    }

    setTheme(theme: Theme): void {
        this.sky.color.set(0xffffff);
        this.sky.groundColor.setRGB(0.66, 0.68, 0.74, "srgb");
        this.sky.intensity = theme.sky;
        this.sun.intensity = theme.sun;
        const { top, bottom } = this.background.material.uniforms;
        top.value.setRGB(...theme.top);
        bottom.value.setRGB(...theme.bottom);
    }

    set shadows(on: boolean) { this.sun.castShadow = on; }

    /** Something new to light: the next aim is taken. */
    forget(): void { this.radius = 0; }

    /** The sun follows what it lights, in leaps: shadows that creep shimmer. */
    aim(middle: Vec3, radius: number): void {
        if (length(sub(middle, this.middle)) + radius <= this.radius && radius > 0.4 * this.radius) return;
        this.middle = middle;
        this.radius = 1.35 * radius;
        const camera = this.sun.shadow.camera, r = this.radius;
        this.sun.target.position.set(...middle);
        this.sun.position.set(...add(middle, scale(SUN, 4 * r)));
        camera.left = camera.bottom = -r;
        camera.right = camera.top = r;
        camera.near = 0.5 * r;
        camera.far = 9 * r;
        this.sun.shadow.normalBias = 0.004 * r;
        this.sun.shadow.bias = -0.0006;
        camera.updateProjectionMatrix();
    }

    dispose(): void {
        this.sun.dispose();
        this.sky.dispose();
        this.fill.dispose();
        this.background.geometry.dispose();
        this.background.material.dispose();
    }
}
