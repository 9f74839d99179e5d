/** A fault planted in `fixtures/demo`, and the lines at head where a comment about it belongs. */
export interface PlantedFault {
  path: string;
  /** Any of these is correct: a comment may be on the statement or on the call within it. */
  lines: number[];
  what: string;
}

/** The six faults that `fixtures/demo/README.md` lists with their sources. */
export const planted: readonly PlantedFault[] = [
  { path: "web/src/stats.ts", lines: [10], what: "numbers sorted as text" },
  { path: "web/src/notify.ts", lines: [10, 11], what: "forEach does not wait for an async callback" },
  {
    path: "web/src/notify.ts",
    lines: [17, 18, 19, 20, 21, 22, 23, 24, 25],
    what: "the retry loop drops the last error",
  },
  { path: "web/test/stats.test.ts", lines: [15], what: "it.only keeps the other tests from running" },
  { path: "jobs/collect.py", lines: [4], what: "a mutable default argument" },
  { path: "agent/upload.go", lines: [26], what: "the body is closed before the error is looked at" },
];
