/** A place of the product's source, and what is written there instead. */
export interface Change {
  /** Below the project's root. */
  file: string;
  /** Source text that stands exactly once in the file. */
  from: string;
  /** What is written in its place: the product without the guard. It compiles. */
  to: string;
}

/** A guard of the product that can be taken away, and the test that has to notice. */
export interface Guard extends Change {
  /** What it keeps out, in words. */
  guard: string;
  /** Name of the row in `rows.ts` that rests on it. */
  row: string;
  /** The guards behind it, in other files: where several stand in a row, nothing comes through before all are gone. */
  also?: readonly Change[];
  /** The test file below the project's root that must fail then. */
  test: string;
  /** Title of the test in it, or a part of its full name that no other test there has. */
  title: string;
}
