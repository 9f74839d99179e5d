/**
 * Takes away one guard of the product at a time, in a copy of the project, and has the test run that has to notice. Exits with
 * 1 when nobody noticed. `npm run test:guards -- --only WORDS` tries those alone whose guard, row, file or test holds the words;
 * it may be given several times.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import pc from "picocolors";
import { allGuards } from "../test/attacks/all-guards.ts";
import type { Guard } from "../test/attacks/guard.ts";
import { type Copy, copyTree } from "./remove-guards/copy-tree.ts";
import { runTests } from "./remove-guards/run-tests.ts";
import { isNoticed, type Outcome, troubleOf, tryGuard } from "./remove-guards/try-guard.ts";

const AT_A_TIME = 2;
const root = join(import.meta.dirname, "..");

const start = performance.now();
const say = (text: string) =>
  console.log(pc.dim(`${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s  `) + text);

/** Does all of it, each in the next copy that is free. */
async function share<Task>(
  tasks: readonly Task[],
  copies: readonly Copy[],
  run: (task: Task, copy: Copy) => Promise<void>,
): Promise<void> {
  const left = [...tasks];
  const work = async (copy: Copy) => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) await run(task, copy);
  };
  await Promise.all(copies.map(work));
}

/** Says of each guard whose test is not a green one what is wrong with it. */
async function findTrouble(guards: readonly Guard[], copies: readonly Copy[], signal: AbortSignal) {
  const files = Map.groupBy(guards, ({ test }) => test);
  const outcomes: Outcome[] = [];
  await share([...files], copies, async ([file, ofFile], copy) => {
    const names = ofFile.map(({ title }) => title);
    const run = await runTests(copy.root, file, names, { limitMs: 900_000, signal });
    for (const guard of ofFile) {
      const trouble = troubleOf(guard, run);
      if (trouble) outcomes.push({ guard, ...trouble, seconds: run.seconds });
    }
    say(`${file}: ${run.tests.filter(({ status }) => status === "passed").length} green as it is`);
  });
  return outcomes;
}

function renderOutcome(outcome: Outcome): string {
  const { guard, verdict, reason, seconds } = outcome;
  const colour = isNoticed(outcome) ? pc.green : pc.red;
  const time = seconds.toFixed(0).padStart(4);
  const what = isNoticed(outcome) ? "" : `\n${" ".repeat(18)}${guard.file} -> ${guard.test}: ${reason}`;
  return `${time} s  ${colour(verdict.padEnd(9))}  ${guard.row.padEnd(22)}  ${guard.guard}${what}`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { only: { type: "string", multiple: true, default: [""] } } });
  const words = values.only.map((one) => one.toLowerCase());
  const guards = (await allGuards()).filter(({ guard, row, file, test }) =>
    words.some((one) => [guard, row, file, test].join("\n").toLowerCase().includes(one)),
  );
  if (guards.length === 0) {
    console.error(`No guard, row, file or test holds ${JSON.stringify(words)}.`);
    return 1;
  }
  const calledOff = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => calledOff.abort(new Error(name)));
  const { signal } = calledOff;

  say(`${guards.length} guards: are their tests green as they are?`);
  await using copies = new AsyncDisposableStack();
  const all: Copy[] = [];
  for (let count = 0; count < Math.min(AT_A_TIME, guards.length); count++)
    all.push(copies.use(await copyTree(root)));
  const outcomes = await findTrouble(guards, all, signal);
  const sound = guards.filter((guard) => !outcomes.some((outcome) => outcome.guard === guard));
  await share(sound, all, async (guard, copy) => {
    const outcome = await tryGuard(guard, copy.root, signal);
    outcomes.push(outcome);
    say(`${outcomes.length}/${guards.length} ${outcome.verdict}: ${guard.guard}`);
  });

  const noticed = outcomes.filter(isNoticed);
  const others = outcomes.filter((outcome) => !isNoticed(outcome));
  console.log(
    ["", ...noticed, ...others].map((one) => (one ? renderOutcome(one as Outcome) : "")).join("\n"),
  );
  say(`${noticed.length} of ${guards.length} guards are noticed once they are gone`);
  return others.length > 0 ? 1 : 0;
}

process.exitCode = await main();
