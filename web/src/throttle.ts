// throttle: of many values in short order only some are passed on, and always the last one.
export class Throttle<T> {
    private waiting: { value: T } | null = null;
    private timer: unknown = null;

    constructor(private readonly ms: number, private readonly act: (value: T) => void,
        private readonly later: (act: () => void, ms: number) => unknown = (act, ms) => setTimeout(act, ms)) {}

    push(value: T): void {
        if (this.timer !== null) {
            this.waiting = { value };
            return;
        }
        this.act(value);
        this.arm();
    }

    private arm(): void {
        this.timer = this.later(() => {
            this.timer = null;
            const { waiting } = this;
            if (!waiting) return;
            this.waiting = null;
            this.act(waiting.value);
            this.arm();
        }, this.ms);
    }
}
