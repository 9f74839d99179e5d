/** A guard of the product that can be taken away, and the test that has to notice. */
export interface Guard {
  /** What it keeps out, in words. */
  guard: string;
  /** Name of the row in `rows.ts` that rests on it. */
  row: string;
  /** Below the project's root. */
  file: string;
  /** Source text that stands exactly once in the file. */
  from: string;
  /** What is written in its place: the product without the guard. It compiles. */
  to: string;
  /** The test file below the project's root that must fail then. */
  test: string;
  /** Title of the test in it, or a part of its full name that no other test there has. */
  title: string;
}
