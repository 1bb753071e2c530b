// colors: what bodies are painted in, the scale of joint errors, and the two themes. No three, no DOM.
import type { Body, Vec3 } from "../protocol";
import { clamp, mix, scale } from "./math";

export type ThemeName = "dark" | "light";

const hex = (text: string): Vec3 => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16) / 255) as Vec3;
export const css = (color: Vec3): string => `rgb(${color.map((x) => Math.round(255 * clamp(x, 0, 1))).join(", ")})`;

/** All colours of a theme that the view needs. */
export interface Theme {
    top: Vec3; bottom: Vec3;         // the background, from above to below
    grid: Vec3; floor: Vec3;
    gridAlpha: number; floorAlpha: number; shadow: number;
    joint: Vec3; bearing: Vec3; strand: Vec3; still: Vec3; // marks of joints, what carries them, springs and ropes, bodies that stand still
    accent: Vec3; hover: Vec3; trail: Vec3; force: Vec3; torque: Vec3; contact: Vec3; target: Vec3;
    text: string; halo: string;
    sky: number; sun: number;        // how bright
}

export const themes: Record<ThemeName, Theme> = {
    dark: {
        top: hex("#242a35"), bottom: hex("#171b21"), grid: hex("#9fb0cc"), floor: hex("#2a313d"), gridAlpha: 0.34, floorAlpha: 0.75,
        shadow: 0.42,
        joint: hex("#c9d1dd"), bearing: hex("#6d7888"), strand: hex("#b4bdca"), still: hex("#697383"),
        accent: hex("#6ea0ff"), hover: hex("#ffffff"), trail: hex("#d08be0"), force: hex("#ffb454"), torque: hex("#c792ea"),
        contact: hex("#5fd0c5"),
        target: hex("#6ea0ff"), text: "#e6e9ee", halo: "#14171c", sky: 2.0, sun: 2.1,
    },
    light: {
        top: hex("#fdfefe"), bottom: hex("#e3e8ef"), grid: hex("#5a6982"), floor: hex("#f3f5f8"), gridAlpha: 0.36, floorAlpha: 0.8,
        shadow: 0.24,
        joint: hex("#4a5464"), bearing: hex("#8b95a5"), strand: hex("#5d6878"), still: hex("#a9b2bf"),
        accent: hex("#2f6fde"), hover: hex("#1d2430"), trail: hex("#a243b5"), force: hex("#d9731a"), torque: hex("#8e44ad"),
        contact: hex("#0c8f86"),
        target: hex("#2f6fde"), text: "#1d2430", halo: "#ffffff", sky: 2.3, sun: 1.9,
    },
};

/** Joints that are simulated, and those that are held. */
export const ACTIVE: Vec3 = hex("#2f7bea"), HELD: Vec3 = hex("#a8b0ba");

const palette = ["#4c84d6", "#e8944a", "#55aa7f", "#a377c9", "#d9695f", "#4fa9bd", "#c9ab52", "#8a97ab"].map(hex);

/** Bodies whose names differ only in numbers and sides do the same work. */
export function roleOf(body: Body): string {
    const name = body.name.toLowerCase().replace(/left|right|\d+/g, "").replace(/(^|[_.\- ])[lr](?=[_.\- ]|$)/g, "$1");
    return `${name} ${body.shapes[0]?.type ?? ""}`;
}

/** One colour a body; the same role, nearly the same colour. null: it stands still, and the theme says. */
export function bodyColors(bodies: Body[]): (Vec3 | null)[] {
    const roles = new Map<string, number>();
    for (const body of bodies) if (body.kind !== "static" && !roles.has(roleOf(body))) roles.set(roleOf(body), roles.size);
    return bodies.map((body, i) => {
        if (body.kind === "static") return null;
        if (roles.size < 2) return palette[i % palette.length];
        return scale(palette[roles.get(roleOf(body))! % palette.length], [1, 0.93, 1.06][i % 3]);
    });
}

const GOOD = hex("#2fa866"), FAIR = hex("#f2c230"), BAD = hex("#e5383b");

/** Green up to 1e-9, yellow at 1e-6, red from 1e-3 on [m or rad]; by powers of ten in between. */
export function errorRgb(error: number): Vec3 {
    const size = Math.abs(error);
    if (!(size < 1e-3)) return BAD; // so written, it catches NaN too
    if (size <= 1e-9) return GOOD;
    const s = (Math.log10(size) + 9) / 3;
    return s < 1 ? mix(GOOD, FAIR, s) : mix(FAIR, BAD, s - 1);
}

/** The same for a legend. */
export const errorColor = (error: number): string => css(errorRgb(error));
