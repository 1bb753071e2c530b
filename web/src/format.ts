// format: numbers as people read them.
/** So many digits, or fewer and a power of ten. */
export function short(x: number, digits = 4): string {
    if (!Number.isFinite(x)) return "\u2013";
    if (x === 0) return "0";
    const size = Math.abs(x);
    return size >= 1e5 || size < 1e-3 ? x.toExponential(Math.abs(x) < 1 ? 1 : 2).replace("e+", "e") : String(Number(x.toPrecision(digits)));
}

/** A time with a fixed number of digits, so that it does not dance. */
export const clock = (seconds: number): string => seconds.toFixed(seconds >= 1000 ? 1 : seconds >= 100 ? 2 : 3);

export function duration(seconds: number): string {
    if (seconds >= 1) return `${short(seconds)} s`;
    if (seconds >= 1e-3) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
    return `${Number((seconds * 1e6).toPrecision(3))} \u00b5s`;
}

export const many = (count: number, one: string, more = one + "s"): string => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
