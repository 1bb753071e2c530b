// decimate: a long history as the few points that a plot can show. Each bucket keeps the least and the largest value of
// every line, in the order they came, so that no peak is lost.
export type Column = (number | null)[];

/** Points from..to (not included) of x and of several lines over it, in at most 2 * buckets points. */
export function decimate(from: number, to: number, x: (i: number) => number, lines: ((i: number) => number | null)[], buckets: number):
    [number[], ...Column[]] {
    const count = Math.max(0, to - from), xs: number[] = [], columns: Column[] = lines.map(() => []);
    if (count <= 2 * buckets) {
        for (let i = from; i < to; ++i) {
            xs.push(x(i));
            lines.forEach((line, k) => columns[k].push(finite(line(i))));
        }
        return [xs, ...columns];
    }
    for (let b = 0; b < buckets; ++b) {
        const first = from + Math.floor(count * b / buckets), end = from + Math.floor(count * (b + 1) / buckets);
        xs.push(x(first), x(end - 1));
        lines.forEach((line, k) => columns[k].push(...extremes(line, first, end)));
    }
    return [xs, ...columns];
}

function extremes(line: (i: number) => number | null, first: number, end: number): Column {
    let low: number | null = null, high: number | null = null, lowAt = first, highAt = first;
    for (let i = first; i < end; ++i) {
        const y = finite(line(i));
        if (y === null) continue;
        if (low === null || y < low) { low = y; lowAt = i; }
        if (high === null || y > high) { high = y; highAt = i; }
    }
    return lowAt <= highAt ? [low, high] : [high, low];
}

const finite = (y: number | null): number | null => y !== null && Number.isFinite(y) ? y : null;
