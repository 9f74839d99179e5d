import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { TempFolder } from "../test/support/git-repo.ts";
import { deliver } from "../test/support/github-double/deliver.ts";
import { fullName } from "../test/support/github-double/model.ts";
import { pullRequestPayload } from "../test/support/github-double/payloads.ts";
import { createScenario, type Scenario } from "../test/support/github-double/scenario.ts";
import { type ServerProcess, startServerProcess } from "../test/support/server-process.ts";
import { writeHistory } from "./demo-history.ts";

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

/**
 * Starts both; `env` adds to the variables for this GitHub, and names the model, if there is one. With `pages`, people can log in as octocat,
 * who operates the server, and the pages have a made-up history.
 */
export async function startDemo(env: Record<string, string> = {}, { pages = false } = {}): Promise<DemoRun> {
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
  const { github, app, installation, pull, repository, webhookSecret } = scenario;
  if (pages) {
    const [owner = "", name = ""] = fullName(repository).split("/");
    await writeHistory(
      data.path,
      { installation: installation.id, id: repository.id, owner, name },
      Date.now(),
    );
    github.state.visitor = github.state.account("octocat");
  }
  const login = pages && github.state.enableLogin(app);
  const loginEnv = login && {
    GITHUB_CLIENT_ID: login.clientId,
    GITHUB_CLIENT_SECRET: login.clientSecret,
    HUNKWISE_OPERATORS: String(github.state.account("octocat").id),
  };
  const server = stack.use(
    await startServerProcess({ ...scenario.env, ...loginEnv, ...env, HUNKWISE_DATA_DIR: data.path }),
  );
  // Known only now. Browsers take secure cookies without TLS from this name alone.
  app.oauth?.callbackUrls.push(`${server.url.replace("127.0.0.1", "localhost")}/login/callback`);
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
