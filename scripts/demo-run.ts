import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { TempFolder } from "../test/support/git-repo.ts";
import { deliver } from "../test/support/github-double/deliver.ts";
import { pullRequestPayload } from "../test/support/github-double/payloads.ts";
import { createScenario, type Scenario } from "../test/support/github-double/scenario.ts";
import { type ServerProcess, startServerProcess } from "../test/support/server-process.ts";

const fixtures = join(import.meta.dirname, "../fixtures/demo");

/** A simulated GitHub with the demo's pull request, and the real App in a separate process. */
export interface DemoRun extends AsyncDisposable {
  scenario: Scenario;
  server: ServerProcess;
  /** Delivers the signed webhook about the opened pull request; resolves to the status of the answer. */
  deliverOpened(): Promise<number>;
  /** Resolves when the review is completely posted: the conclusion of the check run comes last. */
  reviewed(): Promise<void>;
}

/** Starts both; `env` adds to the variables for this GitHub, and names the model, if there is one. */
export async function startDemo(env: Record<string, string> = {}): Promise<DemoRun> {
  await using stack = new AsyncDisposableStack();
  const scenario = stack.use(
    await createScenario({
      repository: "octo-org/night-report",
      base: filesBelow(join(fixtures, "base")),
      head: filesBelow(join(fixtures, "head")),
      title: "Percentiles, retries and settings for the night report",
      body: "Adds the 95th percentile and the median, tells people on duty with retries, and lets agents fetch their settings.",
    }),
  );
  const data = stack.use(new TempFolder("demo"));
  const server = stack.use(
    await startServerProcess({ ...scenario.env, ...env, HUNKWISE_DATA_DIR: data.path }),
  );
  const { github, pull, repository, webhookSecret } = scenario;
  const started = stack.move();
  return {
    scenario,
    server,
    async deliverOpened() {
      const payload = await pullRequestPayload(github.state, "opened", pull);
      const target = { url: server.webhookUrl, secret: webhookSecret };
      return (await deliver(github.state, "pull_request", payload, target)).status;
    },
    reviewed: () =>
      github.until(() => repository.checkRuns.some((run) => run.status === "completed"), 20 * 60_000),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

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
