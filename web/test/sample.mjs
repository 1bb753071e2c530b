// sample: a mechanism made up for tests: a chain that swings, with frames of any parts. Frames are written here byte by byte, apart
// from the page's own code, as docs/protocol.md has them.
const ALL = 31;

/** One frame. over: numbers of the head that are to be others. */
export function makeFrame({ time = 0, step = Math.round(time * 100), bodies = 3, joints = bodies, coordinates = joints, contacts = 0, handles = 0, parts = ALL, playing = true, stopped = false, ...over } = {}) {
    const sizes = [7 * bodies, parts & 1 ? joints : 0, parts & 2 ? 6 * joints : 0, parts & 4 ? coordinates : 0, parts & 8 ? Math.ceil(joints / 32) : 0, parts & 16 ? 10 * contacts : 0, 11 * handles];
    const bytes = Math.ceil((112 + 4 * sizes.reduce((a, b) => a + b, 0)) / 8) * 8, buffer = new ArrayBuffer(bytes), head = new DataView(buffer);
    const words = { 0: 0x31464e54, 4: bytes, 8: parts, 12: (playing ? 1 : 0) + (stopped ? 2 : 0), 88: bodies, 92: joints, 96: coordinates, 100: parts & 16 ? contacts : 0, 104: handles, 108: over.active ?? joints };
    for (const [at, value] of Object.entries(words)) head.setUint32(Number(at), value, true);
    const swing = Math.cos(3 * time), kinetic = 5 * (1 - swing * swing);
    const numbers = { 16: step, 24: time, 32: over.kinetic ?? kinetic, 40: over.gravity ?? -kinetic - 3, 48: over.elastic ?? 0, 56: over.error ?? 10 ** (-13 + 2 * Math.sin(time)), 64: 1e-12, 72: over.stepSeconds ?? 2e-4 * (1 + 0.3 * Math.sin(40 * time)), 80: over.realTime ?? 1 };
    for (const [at, value] of Object.entries(numbers)) head.setFloat64(Number(at), value, true);
    fill(buffer, sizes, { time, bodies, joints, parts, coordinates });
    return buffer;
}

function fill(buffer, sizes, { time, bodies, joints, parts, coordinates }) {
    const starts = sizes.map((_, i) => 112 + 4 * sizes.slice(0, i).reduce((a, b) => a + b, 0)), floats = sizes.map((size, i) => new Float32Array(buffer, starts[i], size));
    for (let b = 0, x = 0, z = 2; b < bodies; ++b) {
        const angle = Math.cos(3 * time) * (0.8 + 0.15 * b), half = 0.25;
        floats[0].set([x + half * Math.sin(angle), 0, z - half * Math.cos(angle), Math.cos(-angle / 2), 0, Math.sin(-angle / 2), 0], 7 * b);
        x += 2 * half * Math.sin(angle);
        z -= 2 * half * Math.cos(angle);
    }
    for (let j = 0; j < joints; ++j) {
        if (parts & 1) floats[1][j] = 1e-13 * (1 + j);
        if (parts & 2) floats[2].set([Math.sin(3 * time), 0, 9.81 * (joints - j), 0, 0.2 * Math.cos(time), 0], 6 * j);
    }
    for (let k = 0; parts & 4 && k < coordinates; ++k) floats[3][k] = Math.cos(3 * time + k);
    if (parts & 8) new Uint32Array(buffer, starts[4], sizes[4]).fill(0x55555555);
}

export function makeSettings(over = {}) {
    const { joints = 3, ...rest } = over;
    return {
        type: "settings", method: "implicit", h: 0.01, gravity: [0, 0, -9.81], speed: 1, playing: true,
        values: { "adaptive.active": "0", "adaptive.error": "0", "implicit.tolerance": "1e-8", "implicit.iterations": "20", "impulse.tolerance": "1e-9", "multiplier.order": "4" },
        joints: Array.from({ length: joints }, (_, j) => ({ stiffness: j ? 10 : 0, damping: 1, rest: [0], velocity: j === 2 ? 1 : null })), ...rest,
    };
}

export function makeMechanism(bodies = 3, over = {}) {
    const name = (b) => `link${b + 1}`;
    return {
        type: "mechanism", tenon: "0.1.0", scene: "swinging chain", origin: "@chain", duration: 10, ground: true,
        counts: { bodies, joints: bodies, rows: 5 * bodies, dofs: bodies, loops: 0, moving: bodies, coordinates: bodies },
        bodies: Array.from({ length: bodies }, (_, b) => ({ name: name(b), kind: "rigid", mass: 1, com: [0, 0, 0],
            shapes: [{ type: "box", position: [0, 0, 0], orientation: [1, 0, 0, 0], size: [0.04, 0.04, 0.24] }] })),
        joints: Array.from({ length: bodies }, (_, j) => ({ name: `pin${j + 1}`, type: "hinge", bodies: [j - 1, j], anchors: [[0, 0, j ? -0.25 : 2], [0, 0, 0.25]],
            axes: [[0, 1, 0], [0, 1, 0]], coordinates: 1, start: j, ...(j === 1 ? { limit: [-1, 1] } : {}) })),
        springs: [], targets: [], settings: makeSettings({ joints: bodies }), ...over,
    };
}

/** What `tenon run --html` puts into the page. */
export function makeTape({ frames = 400, bodies = 3, parts = ALL, dt = 0.02, contacts = 0 } = {}) {
    const all = Array.from({ length: frames }, (_, i) => Buffer.from(makeFrame({ time: i * dt, bodies, parts, contacts })));
    return { source: "tape", mechanism: makeMechanism(bodies), frames: Buffer.concat(all).toString("base64") };
}
