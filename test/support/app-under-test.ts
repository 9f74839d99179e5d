import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type LaterRounds, withAgreeingSceptic } from "./agreeing-sceptic.ts";
import type { FakeOpenAi, FakeRequest, FakeScript } from "./fake-openai.ts";
import { startFakeOpenAi } from "./fake-openai.ts";
import { TempFolder } from "./git-repo.ts";
import { deliver } from "./github-double/deliver.ts";
import type { ReviewComment } from "./github-double/model.ts";
import {
  issueCommentPayload,
  type PullAction,
  pullRequestPayload,
  reviewCommentPayload,
} from "./github-double/payloads.ts";
import { createScenario, type Scenario, type ScenarioOptions } from "./github-double/scenario.ts";
import { query } from "./postgres.ts";
import { below, gone } from "./processes.ts";
import { type ServerProcess, startServerProcess, startWorkerProcess } from "./server-process.ts";
import { shortTimes } from "./short-times.ts";

/** The only key that the model's endpoint accepts. */
export const modelKey = "sk-e2e-canary-1234567890";

/** The whole App: the real server process between a simulated GitHub and a scripted model endpoint. */
export interface AppUnderTest extends Scenario {
  readonly server: ServerProcess;
  /** Sends SIGKILL to the server; resolves when it is dead. */
  kill(): Promise<void>;
  /**
   * Starts another server on the same data folder, after a kill or a stop. After a kill, it resolves when all that the dead server started
   * has ended, and the leases of its jobs are over then: a test does not wait for the half minute of a lease.
   */
  restart(): Promise<void>;
  killAndRestart(): Promise<void>;
  /** Starts a worker on the same data folder; it stops together with the rest. */
  addWorker(env?: Record<string, string>): Promise<ServerProcess>;
  /** Null if the App runs without a model. */
  model: FakeOpenAi | null;
  /** Requests to the reviewer, without second looks and merging, which agree with it. */
  readonly reviewRequests: readonly FakeRequest[];
  dataFolder: string;
  /** URL of the database if the jobs are in Postgres and not in the data folder. */
  databaseUrl: string | null;
  /** Sends GitHub's webhook about the pull request. */
  send(action: PullAction, id?: string): Promise<number>;
  /** Writes a comment in the conversation and sends its webhook. */
  comment(login: string, body: string): Promise<number>;
  /** Replies in the thread of a comment and sends the webhook. */
  reply(to: ReviewComment, login: string, body: string): Promise<number>;
  /** Resolves when the pull request's current head has a concluded check run of this trigger. */
  concluded(trigger?: string): Promise<void>;
}

export interface AppOptions extends ScenarioOptions {
  /** The model's answers as the reviewer; a sceptic agrees with them. Without any script, the App has no model. */
  script?: FakeScript;
  /** Its answers to what later rounds ask. */
  later?: LaterRounds;
  /** The model's answers in every role. */
  everyRole?: FakeScript;
  env?: Record<string, string>;
  /** More variables, of what is on GitHub before the server starts. */
  prepare?: (scenario: Scenario) => Record<string, string>;
  /** Starts a proxy between the server and GitHub, and returns its host and port. */
  proxy?: (github: URL) => Promise<string>;
}

export async function startApp({
  script,
  later,
  everyRole,
  env,
  prepare,
  proxy,
  ...options
}: AppOptions): Promise<AppUnderTest> {
  const scenario = await createScenario(options);
  const data = new TempFolder("data");
  const agreeing = script && withAgreeingSceptic(script, later);
  const answers = agreeing?.script ?? everyRole;
  const model = answers ? await startFakeOpenAi({ script: answers, apiKey: modelKey }) : null;
  const modelEnv = model && {
    OPENAI_API_KEY: modelKey,
    OPENAI_BASE_URL: model.url,
    HUNKWISE_MODEL: "fake-model",
    // A probe would take the first answer of the script.
    HUNKWISE_PROTOCOL: "native",
  };
  // Pushes are reviewed at once and writes are not spaced, except in tests of these features.
  const soon = {
    HUNKWISE_PUSH_WINDOW_SECONDS: "0",
    // No webhook is missed, except in tests of reconciliation.
    ...shortTimes(),
    // Indexing after each review runs in a separate process.
    HUNKWISE_GRAPH: "off",
  };
  const between = proxy && { GHE_HOST: await proxy(new URL(scenario.github.state.origin)) };
  const serverEnv = {
    ...{ ...scenario.env, ...between, HUNKWISE_DATA_DIR: data.path },
    ...{ ...soon, ...modelEnv, ...env, ...prepare?.(scenario) },
  };
  let server = await startServerProcess(serverEnv);
  const workers: ServerProcess[] = [];
  let killed: { pid: number | undefined; children: string[] } | null = null;
  const kill = async () => {
    const { pid } = server.process;
    killed = { pid, children: below(pid) };
    await server.kill();
  };
  const databaseUrl = env?.DATABASE_URL ?? null;
  const restart = async () => {
    server = await startServerProcess(serverEnv);
    if (killed === null) return;
    await gone(killed.children);
    await endLeases(killed.pid, databaseUrl, data.path);
    killed = null;
  };
  const { github, pull, repository, people, webhookSecret } = scenario;
  const target = () => ({ url: server.webhookUrl, secret: webhookSecret });

  return {
    ...scenario,
    get server() {
      return server;
    },
    kill,
    restart,
    async killAndRestart() {
      await kill();
      await restart();
    },
    async addWorker(more = {}) {
      const worker = await startWorkerProcess({ ...serverEnv, ...more });
      workers.push(worker);
      return worker;
    },
    model,
    get reviewRequests() {
      return model?.requests.filter(({ body }) => agreeing?.isReview(body)) ?? [];
    },
    dataFolder: data.path,
    databaseUrl,
    async send(action, id) {
      const payload = await pullRequestPayload(github.state, action, pull);
      return (await deliver(github.state, "pull_request", payload, { ...target(), ...(id ? { id } : {}) }))
        .status;
    },
    async comment(login, body) {
      const written = people.comment(pull, login, body);
      const payload = issueCommentPayload(github.state, written);
      return (await deliver(github.state, "issue_comment", payload, target())).status;
    },
    async reply(to, login, body) {
      const payload = await reviewCommentPayload(github.state, people.reply(to, login, body));
      return (await deliver(github.state, "pull_request_review_comment", payload, target())).status;
    },
    concluded: (trigger = `event#${pull.number}@${pull.baseRef}`) =>
      github.until(
        () =>
          repository.checkRuns.some(
            (run) => run.externalId === `${pull.heads.at(-1)}:${trigger}` && run.status === "completed",
          ),
        600_000,
      ),
    async [Symbol.asyncDispose]() {
      await Promise.all([server, ...workers].map((one) => one.stop()));
      await model?.close();
      data.dispose();
      await github.close();
    },
  };
}

/** Ends the leases of a dead worker's jobs, as time would. */
async function endLeases(pid: number | undefined, databaseUrl: string | null, dataFolder: string) {
  // A worker's name is its host, its process and a random part.
  const sql = `UPDATE job SET lease_until = ${Date.now()} WHERE state = 'active' AND worker LIKE '% ${pid} %'`;
  if (databaseUrl !== null) return void (await query(databaseUrl, sql));
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { timeout: 10_000 });
  database.exec(sql);
}
