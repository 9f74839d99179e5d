/** A fault or an attack that a review bot has to withstand, and the tests that prove that this one does. */
export interface Row {
  name: string;
  /** 0 blocks a release, 1 comes next, 2 after that. */
  priority: 0 | 1 | 2;
  attack: string;
  expected: string;
  /** Empty where what could be attacked does not exist yet. */
  provenBy: readonly Proof[];
  /** Why nothing proves it. */
  outOfScope?: string;
}

export interface Proof {
  /** Below the project's root. */
  file: string;
  /** The test's own title, without those of its groups. Without one: the tests whose titles begin with the row's name. */
  title?: string;
}

/** A row as a file of one priority lists it. */
export type Listed = Omit<Row, "priority">;

/** Tests written for the row, whose titles begin with its name. */
export const here = (name: string): Proof => ({ file: `test/attacks/${name}.test.ts` });
/** A test that proves other things beside it. */
export const at = (file: string, title: string): Proof => ({ file: `test/${file}.test.ts`, title });
