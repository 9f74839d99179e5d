import type { Guard } from "../guard.ts";

export const guards: Guard[] = [
  {
    guard: "Node refuses the review process every file but code and checkout",
    row: "environment-by-tools",
    file: "src/process/confinement.ts",
    from: '"--permission",',
    to: '"--permission", "--allow-fs-read=*",',
    test: "test/process/confinement.test.ts",
    title: "is refused by Node whatever is neither code nor its checkout",
  },
  {
    guard: "only the checkout of its own job is opened to the review process",
    row: "environment-by-tools",
    file: "src/process/confinement.ts",
    from: "...readable.flatMap(namesOf).map(wholeFolder)",
    to: `...readable.map((path) => join(path, "../../*"))`,
    test: "test/process/confinement.test.ts",
    title: "is refused by Node whatever is neither code nor its checkout",
  },
  {
    guard: "the review process is started under that refusal",
    row: "environment-by-tools",
    file: "src/process/start-review-process.ts",
    from: "...walls]",
    to: "]",
    test: "test/process/confinement.test.ts",
    title: "is started like that",
  },
  {
    guard: "the review process has an environment of its own",
    row: "environment-by-tools",
    file: "src/process/start-review-process.ts",
    from: "env: { ...ownerVariable, ...compiledCodeVariable, TMPDIR",
    to: "env: { ...process.env, ...ownerVariable, ...compiledCodeVariable, TMPDIR",
    test: "test/process/run-review-process.test.ts",
    title: "starts with nothing in its environment but whose child it is",
  },
];
