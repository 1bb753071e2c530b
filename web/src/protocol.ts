// protocol: what a page is told and what it says. See docs/protocol.md; stage/ is the other side.

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w x y z

export interface Shape {
    type: "sphere" | "box" | "capsule" | "cylinder" | "convex" | "mesh" | "plane" | "heights";
    position: Vec3;
    orientation: Quat;
    /** Radius and half length, half sizes, points, or points and triangles. */
    size: number[] | Vec3[] | [Vec3[], Vec3[]];
    color?: Vec3;
}

export interface Body {
    name: string;
    kind: "rigid" | "particle" | "planar" | "affine" | "static" | "kinematic" | "user";
    mass: number;
    com: Vec3;
    shapes: Shape[];
}

export interface Joint {
    name: string;
    type: string;
    /** -1: the ground. */
    bodies: [number, number];
    /** In the frame of each body. */
    anchors: [Vec3, Vec3];
    axes: [Vec3, Vec3];
    /** Free coordinates, and where they stand in a frame's. */
    coordinates: number;
    start: number;
    limit?: [number, number];
    length?: number;
}

export interface Spring {
    bodies: [number, number];
    anchors: [Vec3, Vec3];
}

export interface JointSettings {
    stiffness: number;
    damping: number;
    rest: number[];
    velocity: number | null;
}

export interface Settings {
    type: "settings";
    method: string;
    h: number;
    gravity: Vec3;
    speed: number;
    playing: boolean;
    values: Record<string, string>;
    /** Absent: as they were. */
    joints?: (JointSettings | null)[];
}

export interface Counts {
    bodies: number;
    joints: number;
    rows: number;
    dofs: number;
    loops: number;
    moving: number;
    coordinates: number;
}

export interface Mechanism {
    type: "mechanism";
    tenon: string;
    scene: string;
    origin: string;
    duration: number;
    ground: boolean;
    counts: Counts;
    bodies: Body[];
    joints: (Joint | null)[];
    springs: (Spring | null)[];
    targets: { body: number; point: Vec3 }[];
    settings: Settings;
}

export interface Notice {
    type: "notice";
    level: "error" | "info";
    text: string;
    line?: number;
    column?: number;
}

export interface Stopped {
    type: "stopped";
    step: number;
    time: number;
    joint: string;
    text: string;
}

/** Built-in scenes and what can be chosen of each; the playground's. */
export interface Gallery {
    type: "gallery";
    scenes: {
        name: string;
        help: string;
        /** words: it is one of these; else a number. */
        params: { name: string; help: string; value: number | string; lower: number; upper: number; whole: boolean; words: string[] | null }[];
    }[];
}

export type Message = Mechanism | Settings | Notice | Stopped | Gallery | { type: "source"; text: string } | { type: "hello"; tenon: string };

export const Part = { errors: 1, forces: 2, coordinates: 4, active: 8, contacts: 16 } as const;

export const POSE = 7, FORCE = 6, CONTACT = 10, HANDLE = 11;
const MAGIC = 0x31464e54, HEAD = 112;

/** One moment. Arrays are views of the message: nothing is copied. */
export interface Frame {
    bytes: number;
    parts: number;
    playing: boolean;
    stopped: boolean;
    step: number;
    time: number;
    kinetic: number;
    gravity: number;
    elastic: number;
    jointError: number;
    velocityError: number;
    stepSeconds: number;
    realTime: number;
    activeCount: number;
    poses: Float32Array;
    errors: Float32Array | null;
    forces: Float32Array | null;
    coordinates: Float32Array | null;
    active: Uint32Array | null;
    contacts: Float32Array | null;
    handles: Float32Array;
}

/** The frame that begins at `at`, a multiple of 8; null where there is none, or a broken one. */
export function decodeFrame(buffer: ArrayBuffer, at = 0): Frame | null {
    if (buffer.byteLength - at < HEAD) return null;
    const head = new DataView(buffer, at, HEAD);
    const word = (i: number): number => head.getUint32(i, true), number = (i: number): number => head.getFloat64(i, true);
    const bytes = word(4), parts = word(8), joints = word(92);
    if (word(0) !== MAGIC || bytes < HEAD || bytes > buffer.byteLength - at) return null;
    const sizes = [
        POSE * word(88), parts & Part.errors ? joints : 0, parts & Part.forces ? FORCE * joints : 0,
        parts & Part.coordinates ? word(96) : 0, parts & Part.active ? Math.ceil(joints / 32) : 0,
        parts & Part.contacts ? CONTACT * word(100) : 0, HANDLE * word(104),
    ];
    if (HEAD + 4 * sizes.reduce((a, b) => a + b, 0) > bytes) return null;
    let from = at + HEAD;
    const floats = sizes.map((size) => { // every part is of 32-bit numbers
        const view = new Float32Array(buffer, from, size);
        from += 4 * size;
        return view;
    });
    const bits = floats[4];
    return {
        bytes, parts, playing: (word(12) & 1) !== 0, stopped: (word(12) & 2) !== 0,
        step: number(16), time: number(24), kinetic: number(32), gravity: number(40), elastic: number(48),
        jointError: number(56), velocityError: number(64), stepSeconds: number(72), realTime: number(80), activeCount: word(108),
        poses: floats[0],
        errors: parts & Part.errors ? floats[1] : null,
        forces: parts & Part.forces ? floats[2] : null,
        coordinates: parts & Part.coordinates ? floats[3] : null,
        active: parts & Part.active ? new Uint32Array(buffer, bits.byteOffset, bits.length) : null,
        contacts: parts & Part.contacts ? floats[5] : null,
        handles: floats[6],
    };
}
