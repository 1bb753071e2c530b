import { App } from "./app";
import type { Asked } from "./fragment";
import type { Source } from "./source";
export function startPlayground(source: Source, asked: Asked): void { new App(source, asked).start(); }
