// scale: what the places of a slider, 0 to 1, mean.
export interface Scale {
    place(value: number): number;
    value(place: number): number;
}

const clamp = (x: number): number => Math.min(1, Math.max(0, x));
/** Three digits are as many as a hand can set. */
const round = (x: number): number => Number(x.toPrecision(3));

export const linear = (lower: number, upper: number): Scale => ({
    place: (value) => upper > lower ? clamp((value - lower) / (upper - lower)) : 0,
    value: (place) => Number((lower + (upper - lower) * clamp(place)).toFixed(Math.max(0, 3 - Math.floor(Math.log10(upper - lower || 1))))),
});

export const logarithmic = (lower: number, upper: number): Scale => ({
    place: (value) => value > 0 ? clamp(Math.log(value / lower) / Math.log(upper / lower)) : 0,
    value: (place) => round(lower * (upper / lower) ** clamp(place)),
});

/** The first twentieth is zero. */
export const logarithmicOrZero = (lower: number, upper: number): Scale => {
    const rest = logarithmic(lower, upper), ZERO = 0.05;
    return {
        place: (value) => value > 0 ? ZERO + (1 - ZERO) * rest.place(value) : 0,
        value: (place) => place < ZERO ? 0 : rest.value((place - ZERO) / (1 - ZERO)),
    };
};

/** Whole numbers. */
export const whole = (lower: number, upper: number): Scale => ({
    place: (value) => upper > lower ? clamp((value - lower) / (upper - lower)) : 0,
    value: (place) => Math.round(lower + (upper - lower) * clamp(place)),
});
