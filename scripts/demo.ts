/**
 * The whole line, end to end, on this machine: a simulated GitHub with one pull request, the real App as a process of its
 * own, one signed webhook. Prints the posted review as a person sees it and holds it against the faults that are planted.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import pc from "picocolors";
import { TempFolder } from "../test/support/git-repo.ts";
import { deliver } from "../test/support/github-double/deliver.ts";
import { pullRequestPayload } from "../test/support/github-double/payloads.ts";
import { printPullRequest } from "../test/support/github-double/print-pull-request.ts";
import { createScenario } from "../test/support/github-double/scenario.ts";
import { startServerProcess } from "../test/support/server-process.ts";
import { planted } from "./demo-faults.ts";

const fixtures = join(import.meta.dirname, "../fixtures/demo");
const MODEL_VARIABLES = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "HUNKWISE_MODEL", "HUNKWISE_CONTEXT_TOKENS"];

function filesBelow(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path), readFileSync(path, "utf8")];
    }),
  );
}

const say = (text: string) => console.log(text);

const modelEnv = Object.fromEntries(
  MODEL_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
) as Record<string, string>;
const withModel = Boolean(modelEnv.OPENAI_API_KEY ?? modelEnv.OPENAI_BASE_URL);

say(pc.bold("Hunkwise demo"));
say("GitHub is simulated on this machine; the App, git, the checkout and the review are the real ones.");
say(
  withModel
    ? `The review is made by the model ${modelEnv.HUNKWISE_MODEL ?? "that is the default"}, which is called for real and costs money.`
    : "No OPENAI_API_KEY is set, so no model reads the change: the built-in analyzers review alone.",
);

const head = filesBelow(join(fixtures, "head"));
await using scenario = await createScenario({
  repository: "octo-org/night-report",
  base: filesBelow(join(fixtures, "base")),
  head,
  title: "Percentiles, retries and settings for the night report",
  body: "Adds the 95th percentile and the median, tells people on duty with retries, and lets agents fetch their settings.",
});
using data = new TempFolder("demo");
const { github, pull, repository, webhookSecret } = scenario;
await using server = await startServerProcess({ ...scenario.env, ...modelEnv, HUNKWISE_DATA_DIR: data.path });

say(`\n${pc.dim("1.")} A simulated GitHub runs at ${github.url}, with one repository and one pull request`);
say(`${pc.dim("2.")} The App listens at ${server.webhookUrl}`);
const started = performance.now();
const { status } = await deliver(
  github.state,
  "pull_request",
  await pullRequestPayload(github.state, "opened", pull),
  {
    url: server.webhookUrl,
    secret: webhookSecret,
  },
);
say(`${pc.dim("3.")} A signed pull_request webhook was delivered and answered with ${status}`);
await github.until(() => repository.checkRuns.some((run) => run.status === "completed"), 20 * 60_000);
say(`${pc.dim("4.")} The review was posted ${((performance.now() - started) / 1000).toFixed(1)} s later\n`);

const width = Math.min(process.stdout.columns ?? 100, 110);
say(await printPullRequest(pull, { color: pc.isColorSupported, width }));

const places = pull.reviewComments.flatMap(({ path, anchor }) => (anchor ? [`${path}:${anchor.line}`] : []));
const found = planted.filter((fault) => fault.lines.some((line) => places.includes(`${fault.path}:${line}`)));
const known = new Set(planted.flatMap((fault) => fault.lines.map((line) => `${fault.path}:${line}`)));
const others = places.filter((place) => !known.has(place));

say(pc.bold(`${found.length} of ${planted.length} planted faults were found on their lines`));
for (const fault of planted)
  say(`  ${found.includes(fault) ? pc.green("✓") : pc.dim("–")} ${fault.path}: ${fault.what}`);
if (found.length < planted.length && !withModel)
  say("  What no rule can see takes a model: set OPENAI_API_KEY and run this again.");
say(
  others.length === 0
    ? "No comment stands anywhere else."
    : `Comments elsewhere, to be judged by you: ${others.join(", ")}`,
);

if (github.violations.length > 0)
  say(`Requests that GitHub would refuse: ${JSON.stringify(github.violations)}`);
const enough = withModel || (found.length >= 3 && others.length === 0);
process.exitCode = enough && github.violations.length === 0 && places.length > 0 ? 0 : 1;
