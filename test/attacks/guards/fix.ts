import type { Guard } from "../guard.ts";

const row = "fix-pushes";
const check = "src/review/fix/check-edits.ts";
const paths = "src/review/fix/protected-paths.ts";
const edits = "test/review/fix/check-edits.test.ts";
const job = "test/jobs/commands/fix.test.ts";

export const guards: readonly Guard[] = [
  {
    ...{ row, file: paths, test: edits },
    guard: "a fix changes no workflow",
    from:
      '  ["it decides what runs in CI, with the rights of the repository", /^\\.github\\/(?:workflows|actions)\\//],\n' +
      '  ["it configures the repository on GitHub", /^\\.github\\//],\n',
    to: "",
    title: "are refused in .github/actions/setup/test/action.yml",
  },
  {
    ...{ row, file: paths, test: edits },
    guard: "a fix does not change who approves",
    from: '["it says who has to approve what", /^codeowners$/],',
    to: "",
    title: "are refused in docs/codeowners",
  },
  {
    ...{ row, file: paths, test: edits },
    guard: "a fix changes no file in any spelling of its name",
    from: "const folded = foldedPath(path);",
    to: "const folded = path;",
    title: "are judged by what a path means, however it is written",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix stays in the files of the pull request, and tests",
    from: 'return "it is neither a file of the pull request nor a test";',
    to: "return null;",
    title: "are refused in any other file, and in one that is private",
  },
  {
    ...{ row, file: paths, test: edits },
    guard: "a fix has names alone that are the same file everywhere",
    from: "if (!isPlainPath(path)) return",
    to: "if (!isPlainPath(path) && path === '') return",
    title: "are refused in tests/CODEOW~1",
  },
  {
    ...{ row, file: paths, test: edits },
    guard: "a fix puts no folder in the place of a protected file",
    from: 'for (const name of folded.split("/")) {',
    to: 'for (const name of folded.split("/").slice(-1)) {',
    title: "are refused in package-lock.json/tests/a.test.js",
  },
  {
    ...{ row, file: "src/review/fix/plain-path.ts", test: edits },
    guard: "a fix changes no file in any letters of its name",
    from: 'path.normalize("NFKC").toUpperCase().toLowerCase()',
    to: "path.toLowerCase()",
    title: "are refused in tests/codeowner\u017f",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix takes away no test of others",
    from: "(isTakenAway(edit) ? reasonToKeep(edit.path, scope) : null) ??",
    to: "",
    title: "take away no test that the pull request leaves alone, nor all that is in it",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix brings no secret of several lines",
    from: "return added.some((line) => secret.has(line));",
    to: "return secret.has('\\n');",
    title: "bring no secret of several lines, of which some stand there already",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix says nothing twice in a package file",
    from: "isObject && keysIn(text) === keysOf(value)",
    to: "isObject",
    title: "leave alone what a package program runs and installs",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/commit-fix.ts", test: "test/jobs/commands/commit-fix.test.ts" },
    guard: "a commit changes what was judged, and nothing beside it",
    from: 'if (besides.length > 0) return { kind: "refused", refusals: besides };',
    to: "",
    title: 'is refused where it would put the folder of "src/other.js/deep/a.test.js" in the place of a file',
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix changes no mode",
    from: 'return "it changes whether the file can be executed";',
    to: "return null;",
    title: "keep each file's mode, and are text",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix changes no package script",
    from: '    return "it changes what a package program runs";',
    to: "    return null;",
    title: "leave alone what a package program runs and installs",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix brings no secret",
    from: '(await addsSecret(path, added, after)) ? "it adds what looks like a secret" : null',
    to: "(await addsSecret(path, added, after)) ? null : null",
    title: "bring no secret and no character that nobody sees, but may leave what stands",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix brings nothing that moves the pen of a terminal",
    from: "controls.test(line) || ",
    to: "",
    title: "bring no secret and no character that nobody sees, but may leave what stands",
  },
  {
    ...{ row, file: "src/review/fix/suggestions.ts", test: "test/review/fix/suggestions.test.ts" },
    guard: "a suggestion holds nothing that does not show",
    from: 'unseen.test(line.replaceAll("\\t", ""))',
    to: "unseen.test('')",
    title: 'is none where it does not show: "a\\u001b[31m"',
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix has one edit for each path",
    from: "reasonByOthers(edit, edits) ??",
    to: "",
    title: "are one for each path, and none stands in the way of another",
  },
  {
    ...{ row, file: check, test: edits },
    guard: "a fix is small",
    from: "if (lines > most.lines) {",
    to: "if (lines < 0) {",
    title: "are small",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/commit-fix.ts", test: "test/jobs/commands/commit-fix.test.ts" },
    guard: "what the process hands over is judged anew",
    from: 'if (refusals.length > 0) return { kind: "refused", refusals };',
    to: "",
    title: 'is refused as a whole for ".github/workflows/ci.yml"',
  },
  {
    ...{ row, file: "src/git/push.ts", test: "test/git/push.test.ts" },
    guard: "a push takes no commit away",
    from: "await requireDescendant(request);",
    to: "void requireDescendant;",
    title: "takes nothing away that stood on the branch, also of the commit it goes from",
  },
  {
    ...{ row, file: "src/git/push.ts", test: "test/git/push.test.ts" },
    guard: "a push goes from the commit that was read alone",
    from: "`--force-with-lease=$",
    to: '"--force", `--repo=$',
    title: "does nothing where the branch has moved on, or is gone",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/land-fix.ts", test: job },
    guard: "a fork is pushed to only where its owner allows it",
    from: "if (source.isFork && !source.maintainersMayPush)",
    to: "if (source.isFork && source.branch === '')",
    title: "stands as suggestions before a fork whose owner lets nobody push",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/land-fix.ts", test: job },
    guard: "nothing is pushed for whoever may not write any more",
    from: "if (!(await mayWrite(asked))) return",
    to: "if (asked.by === '' && !(await mayWrite(asked))) return",
    title: "is not pushed for whoever may not write any more when it is made",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/land-fix.ts", test: job },
    guard: "nothing is pushed to what is released",
    from: "if (source.isDefault)",
    to: "if (source.isDefault && source.branch === '')",
    title: "stands as suggestions before the default branch of the repository",
  },
  {
    ...{ row, file: "src/jobs/commands/fix/land-fix.ts", test: job },
    guard: "a worker that has lost the job pushes nothing",
    from: "  await requireOurs(asked);\n",
    to: "",
    title: "is pushed once and paid for once, wherever the process ends",
  },
  {
    ...{ row, file: "src/reporters/render-fix.ts", test: "test/reporters/render-fix.test.ts" },
    guard: "the message of a commit says nothing that GitHub acts on",
    from: "inertMessage(short)",
    to: "String(short)",
    title: "names nobody, closes nothing and calls off no check",
  },
];
