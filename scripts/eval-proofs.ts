/**
 * Measures proofs: `npm run eval:proofs -- --claims FOLDER --repos FOLDER` lets a model prove each claim of a folder, and prints one JSON
 * line for each: what was shown, why not, how long it took and how many tokens. docs/quality.md describes the format of a claim.
 */
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { eachRole, factsOf, type Models } from "../src/agent/llm/model.ts";
import { runTask } from "../src/border/run-task.ts";
import { createCommandSandbox, createFindTestPlace } from "../src/border/test-place.ts";
import { createModels } from "../src/cli/create-model.ts";
import { openRange } from "../src/cli/open-range.ts";
import { write } from "../src/cli/output.ts";
import { useProxy } from "../src/cli/use-proxy.ts";
import { readLocalEnv } from "../src/config/env.ts";
import { environmentsFolder } from "../src/config/folders.ts";
import { programPath } from "../src/config/process-env.ts";
import { defaultRepoConfig, RepoConfig } from "../src/config/repo-config.ts";
import { AppError, errorLine } from "../src/core/errors.ts";
import { ProveTarget, proveTask } from "../src/tasks/prove/prove-input.ts";
import { limitsOf } from "../src/tasks/shapes/review-input.ts";
import { parseJson } from "./eval/case-format.ts";
import { runScript } from "./eval/run-script.ts";

/** A claim about a pull request, true or false. Other keys, such as what the judges know, are ignored. */
const Claim = ProveTarget.omit({ id: true, text: true, symbol: true }).extend({
  /** Folder below `--repos` with the branches `main` and `pull`. */
  repository: z.string(),
  pull: z.object({ title: z.string(), body: z.string() }),
  body: z.string(),
  failing_input: z.string().default(""),
  symbol: z.string().nullable().default(null),
  /** How tests run there; omitted: as they are. */
  prove: z
    .object({ run: RepoConfig.shape.prove.unwrap().shape.run, prepare: z.string().nullable() })
    .partial()
    .default({}),
});
type Claim = z.infer<typeof Claim>;

const say = (line: string) => void process.stderr.write(`${line}\n`);

async function prove(name: string, claim: Claim, repos: string, models: Models, signal: AbortSignal) {
  const env = readLocalEnv();
  const repo = join(repos, claim.repository);
  await using range = await openRange({ repo, base: "main", head: "pull", signal });
  const config: RepoConfig = {
    ...defaultRepoConfig,
    prove: {
      ...defaultRepoConfig.prove,
      run: claim.prove.run ?? [],
      prepare: claim.prove.prepare ?? null,
      enabled: true,
    },
    budget: { ...defaultRepoConfig.budget, minutes: 120 },
  };
  const findSandbox = createCommandSandbox({
    ...{ searchPath: programPath(), ...env.sandbox },
    warn: (why, remedy) => say(`no test can be run: ${why}. ${remedy}`),
  });
  const testPlace = await createFindTestPlace({
    findSandbox,
    folder: environmentsFolder(env.runsFolder ?? tmpdir()),
    registries: env.sandbox.registries,
  })({ place: range.place, repository: repo, config }, signal);
  const began = performance.now();
  if ("why" in testPlace) return { name, kind: "not_shown", reason: testPlace.why };
  const { severity, title, body, failing_input, path, side, line, start_line, symbol, suggestion } = claim;
  const text = [body, failing_input].filter((part) => part !== "").join("\n\n");
  const input = {
    targetBranch: "main",
    pull: { number: 1, ...claim.pull },
    targets: [{ id: name, severity, title, text, path, side, line, start_line, symbol, suggestion }],
    config,
    limits: limitsOf(config),
    models: eachRole(models, factsOf),
  };
  const { proofs, usage } = await runTask(proveTask, input, {
    ...{ place: range.place, models, testPlace, signal },
    trajectory: { append: async () => {} },
    onProgress: (event) => {
      if (event.type === "crash" || event.type === "model_failed") say(`${name}: ${event.error}`);
    },
  });
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  return {
    name,
    ...proofs[0]?.proof,
    seconds: Math.round((performance.now() - began) / 1_000),
    requests: usage.requests,
    tokens,
  };
}

async function main(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: { claims: { type: "string" }, repos: { type: "string" }, only: { type: "string" } },
  });
  if (values.claims === undefined || values.repos === undefined)
    throw new AppError("usage", "--claims and --repos are needed");
  const env = readLocalEnv();
  useProxy(env);
  if (env.model === null) throw new AppError("usage", "no model is configured");
  const options = { pricesFile: env.pricesFile, folder: env.modelFolder, warn: say };
  const { models, ready } = await createModels(env.model, options);
  await ready(signal);
  const names = (await readdir(values.claims)).filter((name) => name.endsWith(".json")).toSorted();
  for (const file of names) {
    const name = file.slice(0, -".json".length);
    if (values.only !== undefined && !values.only.split(",").includes(name)) continue;
    const claim = parseJson(Claim, await readFile(join(values.claims, file), "utf8"), file);
    const line = await prove(name, claim, values.repos, models, signal).catch((error: unknown) => ({
      ...{ name, kind: "failed" },
      reason: errorLine(error),
    }));
    await write(process.stdout, `${JSON.stringify(line)}\n`);
  }
  return 0;
}

await runScript("eval:proofs", main);
