import pMap from "p-map";
import { createMasking } from "../agent/llm/masked-request.ts";
import { addUsage, noUsage } from "../agent/loop/limits.ts";
import { readLocalEnv } from "../config/env.ts";
import type { FileProblem } from "../config/load-config.ts";
import { namedRules } from "../config/named-rules.ts";
import type { RepoConfig } from "../config/repo-config.ts";
import { Masks } from "../core/secrets/masks.ts";
import { count } from "../core/text/count.ts";
import { usageSentence } from "../report/outcome.ts";
import { plainLine } from "../report/terminal-style.ts";
import { totalUsage } from "../tasks/loop/run-loop.ts";
import { examplesOf, tryExamplesOf } from "../tasks/rules/rule-examples.ts";
import type { CommandIo } from "./command.ts";
import { write } from "./output.ts";
import { connectModels } from "./review-range.ts";
import { useProxy } from "./use-proxy.ts";

/** Requests at the same time. */
const CONCURRENCY = 4;

/** Tries the examples of a file's named rules with the configured model: one that the model takes for the opposite is a problem. */
export async function tryExamples(
  { file, config }: { file: string; config: RepoConfig },
  { hasModel }: { hasModel: boolean },
  { stderr, signal }: CommandIo,
): Promise<{ problems: FileProblem[]; notes: string[] }> {
  const rules = namedRules(config).filter((rule) => examplesOf(rule).length > 0);
  if (rules.length === 0) return { problems: [], notes: [] };
  const examples = rules.reduce((sum, rule) => sum + examplesOf(rule).length, 0);
  const what = `${count(examples, "example")} of ${count(rules.length, "rule")}`;
  const untried = (why: string) => ({ problems: [], notes: [`${what} not tried: ${why}.`] });
  if (!hasModel) return untried("--no-model is set");
  const env = readLocalEnv();
  if (env.model === null) return untried("no model is configured");
  useProxy(env);
  const warn = (text: string) => void write(stderr, `warning: ${plainLine(text)}\n`);
  const connected = await connectModels(env, { warn, signal });
  if (connected === null) return untried("no model is configured");
  const model = connected.models.review;
  const tried = await pMap(
    rules,
    async (rule) => {
      const { mistaken, usage } = await tryExamplesOf(rule, model, createMasking(new Masks()), signal);
      const problems = mistaken.map(({ kind, at, why }): FileProblem => {
        const taken = kind === "right" ? "for a breach" : "for code that keeps the rule";
        const key = `rules.${rule.name}.examples.${kind}[${at}]:`;
        return { file, line: null, key, message: `the model takes this ${taken}: ${why}` };
      });
      return { problems, usage };
    },
    { concurrency: CONCURRENCY },
  );
  const usage = totalUsage(tried.flatMap((one) => one.usage).reduce(addUsage, noUsage));
  const problems = tried.flatMap((one) => one.problems);
  const cost = `${usageSentence({ usage })}`;
  await write(stderr, `${what} tried with ${plainLine(model.name)}: ${cost}\n`);
  return { problems, notes: [`${what} tried: the model judges them as the file says.`] };
}
