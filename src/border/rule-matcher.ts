import { RuleAnswer, type RuleTask } from "../tasks/rules/analyzers/match-rule.ts";
import type { RuleMatcher } from "../tasks/rules/own/rule-run.ts";
import { type StartedProcess, startRuleProcess } from "./start-process.ts";

/** Time limit for starting the process. */
const START_MS = 10_000;

/** Matches rules in a process that is killed when it takes too long. One task at a time; after a failure it answers nothing more. */
export function startRuleMatcher(start: () => StartedProcess = startRuleProcess): RuleMatcher {
  const started = start();
  const { child, ended } = started;
  const queue: RuleAnswer[] = [];
  let wake: ((answer: RuleAnswer | "invalid") => void) | null = null;
  child.on("message", (raw) => {
    const answer = RuleAnswer.safeParse(raw);
    if (wake === null && answer.success) queue.push(answer.data);
    else wake?.(answer.success ? answer.data : "invalid");
  });

  async function next(milliseconds: number, signal: AbortSignal): ReturnType<RuleMatcher["ask"]> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<RuleAnswer | "invalid" | "slow" | "died">();
    const timer = setTimeout(() => resolve("slow"), milliseconds);
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    void ended.then(() => resolve("died"));
    wake = resolve;
    const waiting = queue.shift();
    if (waiting) resolve(waiting);
    try {
      const answer = await promise;
      return typeof answer === "string" ? { type: answer === "slow" ? "slow" : "died" } : answer;
    } finally {
      wake = null;
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
    }
  }

  let ready: ReturnType<RuleMatcher["ask"]> | null = null;
  return {
    async ask(task: RuleTask, milliseconds, signal) {
      ready ??= next(START_MS, signal);
      const first = await ready;
      if (first.type !== "ready") return { type: "died" };
      if (child.connected) child.send(task, () => {});
      return next(milliseconds, signal);
    },
    [Symbol.dispose]: () => started[Symbol.dispose](),
  };
}
