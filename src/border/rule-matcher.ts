import { unlessAborted, within } from "../core/async.ts";
import { RuleAnswer } from "../tasks/rules/analyzers/match-rule.ts";
import type { RuleMatcher } from "../tasks/rules/own/rule-run.ts";
import { type StartedProcess, startRuleProcess } from "./start-process.ts";

type Answer = Awaited<ReturnType<RuleMatcher["ask"]>>;

/** Time limit for starting the process. */
const START_MS = 10_000;

/** Matches rules in a process that is killed when it takes too long. One task at a time; after a failure it answers nothing more. */
export function startRuleMatcher(start: () => StartedProcess = startRuleProcess): RuleMatcher {
  const started = start();
  const { child, ended } = started;
  const nextMessage = () =>
    new Promise<Answer>((resolve) => {
      child.once("message", (raw) => resolve(RuleAnswer.safeParse(raw).data ?? { type: "died" }));
      void ended.then(() => resolve({ type: "died" }));
    });
  const inTime = (answer: Promise<Answer>, milliseconds: number, signal: AbortSignal) =>
    unlessAborted(
      within<Answer, Answer>(milliseconds, answer, () => ({ type: "slow" })),
      signal,
    );
  const ready = nextMessage();
  /** The process has not answered an earlier task, and its late answer must not be taken for that to the next one. */
  let isBusy = false;
  return {
    async ask(task, milliseconds, signal) {
      signal.throwIfAborted();
      const first = await inTime(ready, START_MS, signal);
      if (isBusy || first.type !== "ready") return { type: "died" };
      const answer = nextMessage();
      if (child.connected) child.send(task, () => {});
      isBusy = true;
      const found = await inTime(answer, milliseconds, signal);
      isBusy = found.type === "slow";
      return found;
    },
    [Symbol.dispose]: () => started[Symbol.dispose](),
  };
}
