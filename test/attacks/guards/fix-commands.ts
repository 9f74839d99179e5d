import type { Guard } from "../guard.ts";

const loop = "test/review/fix/run-fix.test.ts";
const meanwhile = "test/jobs/commands/fix-meanwhile.test.ts";
const told = "test/reporters/render-fix.test.ts";
const before = "src/jobs/commands/fix/before-push.ts";

export const guards: readonly Guard[] = [
  {
    ...{ row: "fix-sandbox", file: "src/review/fix/run-fix.ts", test: loop },
    guard: "a command changes no more than the model may",
    from: "createTriedCommands(commands, scoped)",
    to: "createTriedCommands(commands, files)",
    title: "lets a command change no more than the model may",
  },
  {
    ...{ row: "fix-sandbox", file: "src/review/fix/tried-commands.ts", test: loop },
    guard: "a command speaks for the files alone that it was run on",
    from: "runs.filter(({ on }) => on === state)",
    to: "runs.filter(({ on }) => on !== '')",
    title: "counts nothing that was run before the last edit, and is asked once to run it again",
  },
  {
    ...{ row: "fix-sandbox", file: "src/reporters/render-fix.ts", test: told },
    guard: "a command that a model wrote is shown as code",
    from: "why_none && untrustedLine(why_none, mostLineBytes) }, untrustedCode)",
    to: "why_none && untrustedLine(why_none, mostLineBytes) }, String)",
    title: "lets no command and no reason be more than text",
  },
  {
    ...{ row: "fix-pushes", file: "src/review/fix/finish.ts", test: "test/review/fix/second-look.test.ts" },
    guard: "what a second look says is data to whoever repairs",
    from: 'wrapUntrusted("second look", wrong.join("\\n"))',
    to: 'wrong.join("\\n")',
    title: "is sent back once with the reason, and judged again by the code as it is then",
  },
  {
    ...{ row: "fix-pushes", file: before, test: meanwhile },
    guard: "nothing is pushed that was settled meanwhile",
    from: 'standing.has(id)) ? null : { kind: "settled" }',
    to: "standing.has(id)) ? null : null",
    title: "is not pushed where its findings are settled while it is made",
  },
  {
    ...{ row: "fix-pushes", file: before, test: meanwhile },
    guard: "nothing is pushed to a pull request that was closed meanwhile",
    from: 'if (now.state === "closed") return { kind: "closed" };',
    to: "",
    title: "is not pushed where the pull request is closed while it is made",
  },
  {
    ...{ row: "fix-pushes", file: "src/reporters/render-fix.ts", test: told },
    guard: "the message of a commit holds no part of a secret",
    from: "const line = publicPlain(written);",
    to: "const line = written;",
    title: "holds no secret, whole or in part, where it is cut or long words are broken up",
  },
  {
    ...{ row: "fix-pushes", file: "src/github/own-ids.ts", test: "test/github/reach.test.ts" },
    guard: "a commit is signed by nobody else's account",
    from: "if (user?.login.toLowerCase() === `$",
    to: "if (user && '' !== `$",
    title: "knows the id by what it has read to be of its bot, and nobody else's",
  },
];
