import type { Guard } from "../guard.ts";

const threads = { file: "src/ledger/thread-state.ts", test: "test/ledger/thread-state.test.ts" };

const commit = { file: "src/reporters/commit-check.ts", test: "test/reporters/commit-check.test.ts" };

/** Of who decides what becomes of findings, and of what counts as read. */
export const guards: readonly Guard[] = [
  {
    ...threads,
    row: "own-thread-resolved",
    guard: "only people with write access dismiss a finding by resolving its thread",
    from: "if (by !== null && (await mayDecide(by)))",
    to: "if (by !== null)",
    title: "stays as its code says if it was",
  },
  {
    ...threads,
    row: "undone-fix",
    guard: "only people with write access take back that a finding is fixed",
    from: "return (await somebodySaid(later, mayDecide, ({ body }) => !acknowledges(body)))",
    to: "return later.some(({ body }) => !acknowledges(body))",
    title: "that it is fixed outlives what a person answers who may not decide",
  },
  {
    ...threads,
    row: "flooded-dismissal",
    guard: "a decision that was read once is remembered",
    from: "if (known) return dismissed(known.how, known.by, known.at);",
    to: "",
    title: "is found behind more people than GitHub is asked about",
  },
  {
    ...threads,
    row: "stranger-in-thread",
    guard: "a stranger's word does not make a thread theirs",
    from: "if ((await mayDecide(author.login)) !== false) return true;",
    to: "return true;",
    title: "that it is fixed outlives what a person answers who may not decide",
  },
  {
    file: "src/review/known/surroundings.ts",
    test: "test/review/known/surroundings.test.ts",
    row: "same-lines-elsewhere",
    guard: "the same lines in another function are other lines",
    from: "const around = body ? [places.around(body), all.get(body)] : places.beside(run);",
    to: "const around = body ? [] : places.beside(run);",
    title: "is new after a check that goes from another function of the same text",
  },
  {
    file: "src/review/known/surroundings.ts",
    test: "test/review/known/surroundings.test.ts",
    row: "comment-to-code",
    guard: "of a file that no parser understands all surrounds each change",
    from: 'digestOf("whole file", oldOid, newOid, hunk, at, run)',
    to: "run",
    title: "is new after a key that moves in a file without a grammar",
  },
  {
    file: "src/review/known/known-change.ts",
    test: "test/review/known/known-change.property.test.ts",
    row: "harmless-part-gone",
    guard: "a change of which something is gone and nothing is new is read again",
    from: "if (isFileGone || (gone.has(fileMark(firstName(file))) && !hasNew(file)))",
    to: "if (isFileGone)",
    title: "is what a comparison of all its lines with those that were read says",
  },
  {
    ...commit,
    row: "covered-check",
    guard: "a check run shows the worst that the open pull requests of its commit came to",
    from: "const worst = (isHere || verdicts.length === 0 ? [byItself, ...verdicts] : verdicts).reduce(worse);",
    to: "const worst = byItself;",
    title: "stays red under the draft of a stranger, and says whose finding it is",
  },
  {
    ...commit,
    row: "retargeted",
    guard: "a pull request comes to the worst that it came to, if nobody reviewed it for its branch",
    from: "others.reduce(worse)",
    to: "(others[0] ?? null)",
    title:
      "stays red for a branch that is not reviewed, is new for one that is, and red again on its way back",
  },
  {
    ...commit,
    row: "unread-commit",
    guard: "a check run waits for the review of another pull request with its commit",
    from: 'if (awaited === undefined || worst.conclusion === "failure") return worst;',
    to: "if (awaited !== null) return worst;",
    title: "is not passed by a draft while the other is being read, and is when that is done",
  },
  {
    file: "src/reporters/conclusions.ts",
    test: "test/reporters/conclusions.test.ts",
    row: "limit-reached",
    guard: "what a limit left unread is as red as findings are",
    from: "isLimited ? limitConclusion(policy)",
    to: 'isLimited ? "neutral"',
    title: "is red for what a limit left unread if findings are red",
  },
  {
    file: "src/diff/text-as-binary.ts",
    test: "test/tools/generated-files.test.ts",
    row: "text-as-binary",
    guard: "what has the name of a text or is valid UTF-8 is no binary file",
    from: 'return encoding === "utf8" || named.test(path) ||',
    to: "return",
    title: "by a NUL byte, for which git shows no diff",
  },
];
