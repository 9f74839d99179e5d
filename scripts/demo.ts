/**
 * Runs everything end to end on this machine: a simulated GitHub with one pull request, the real App in a separate process, one signed
 * webhook. Prints the posted review as a person sees it and compares it with the planted faults. With `--pages`, the server's pages stay open
 * until Ctrl-C.
 */
import { once } from "node:events";
import pc from "picocolors";
import { styleOf } from "../src/cli/output.ts";
import { adviceOn, planted, printPull } from "./demo-report.ts";
import { startDemo } from "./demo-run.ts";

const MODEL_VARIABLES = [
  ...["OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"],
  ...["HUNKWISE_MODEL", "HUNKWISE_CONTEXT_TOKENS", "HUNKWISE_PROTOCOL", "HUNKWISE_REASONING_EFFORT"],
];

const say = (text: string) => console.log(text);

const modelEnv = Object.fromEntries(
  MODEL_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
) as Record<string, string>;
const withModel = Boolean(modelEnv.OPENAI_API_KEY ?? modelEnv.OPENAI_BASE_URL ?? modelEnv.ANTHROPIC_API_KEY);

say(pc.bold("Hunkwise demo"));
say("GitHub is simulated on this machine; the App, git, the checkout and the review are real.");
say(
  withModel
    ? `The reviewing model is ${modelEnv.HUNKWISE_MODEL ?? "the default one"}. Its requests are real and cost money.`
    : "No OPENAI_API_KEY or ANTHROPIC_API_KEY is set, so no model reads the change: only the built-in analyzers review.",
);

const withPages = process.argv.includes("--pages");
await using demo = await startDemo(modelEnv, { pages: withPages });
const { scenario, server } = demo;
const { github, pull } = scenario;

say(`\n${pc.dim("1.")} A simulated GitHub runs at ${github.url}, with one repository and one pull request`);
say(`${pc.dim("2.")} The App listens at ${server.webhookUrl}`);
const started = performance.now();
const status = await demo.deliverOpened();
say(`${pc.dim("3.")} A signed pull_request webhook was delivered and answered with ${status}`);
await demo.reviewed();
say(`${pc.dim("4.")} The review was posted ${((performance.now() - started) / 1000).toFixed(1)} s later\n`);

say(`${printPull(pull, styleOf(process.stdout))}\n`);

const places = pull.reviewComments.flatMap(({ path, anchor }) => (anchor ? [`${path}:${anchor.line}`] : []));
const found = planted.filter((fault) => fault.lines.some((line) => places.includes(`${fault.path}:${line}`)));
const known = new Set(planted.flatMap((fault) => fault.lines.map((line) => `${fault.path}:${line}`)));
const others = places.filter((place) => !known.has(place));

say(pc.bold(`${found.length} of ${planted.length} planted faults were found on their lines`));
for (const fault of planted)
  say(`  ${found.includes(fault) ? pc.green("✓") : pc.dim("–")} ${fault.path}: ${fault.what}`);
const { title = "", summary = "" } = scenario.repository.checkRuns.at(-1)?.output ?? {};
const check = { title: title ?? "", summary: summary ?? "" };
for (const line of adviceOn({ found: found.length, planted: planted.length, withModel, check }))
  say(`  ${line}`);
say(
  others.length === 0
    ? "There are no other comments."
    : `Other comments, for you to judge: ${others.join(", ")}`,
);

if (github.violations.length > 0)
  say(`Requests that GitHub would refuse: ${JSON.stringify(github.violations)}`);
const enough = withModel || (found.length >= 3 && others.length === 0);
process.exitCode = enough && github.violations.length === 0 && places.length > 0 ? 0 : 1;
if (withPages) {
  say(pc.bold("\nThe pages are open"));
  say(
    `  ${pc.cyan(server.url.replace("127.0.0.1", "localhost"))}: log in as octocat, on the simulated GitHub.`,
  );
  say("  The newest review is the one above; what is older is made up. Press Ctrl-C to end.");
  await once(process, "SIGINT");
} else say("\nTo open the dashboard too: npm run demo -- --pages");
