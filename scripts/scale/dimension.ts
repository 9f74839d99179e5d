import type { Curve } from "../figures.ts";

/** What a measured dimension works with. */
export interface Measuring {
  /** A folder that is removed at the end. It is also the system's temporary folder while a dimension is measured. */
  temp: string;
  /** Prints progress. */
  say(text: string): void;
  /** Adds a point to a curve. Sizes of a curve must be added in order. */
  add(curve: string, unit: Curve["unit"], size: number, value: number): void;
}

/** A size on which costs depend. */
export interface Measured {
  title: string;
  /** The unit of the sizes. */
  axis: string;
  /** In ascending order. */
  sizes: readonly number[];
  /** Free disk that it needs. */
  diskGigabytes: number;
  measure(sizes: readonly number[], measuring: Measuring): Promise<void>;
}
