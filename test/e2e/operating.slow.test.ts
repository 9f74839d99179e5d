import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { AppUnderTest } from "../support/app-under-test.ts";
import type { ChatRequestBody, FakeAnswer } from "../support/fake-openai.ts";
import { fullName } from "../support/github-double/model.ts";
import { below, gone } from "../support/processes.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const report = finding({ line: 24, quote: "const n24 = 0;", title: "Zero is wrong" });

/** Reads in three turns, then reports; two of the turns never end, and the last one waits for the test. */
function slowModel() {
  const hangsAt = new Set([1, 2]);
  const thought = Promise.withResolvers<void>();
  const seen = { thinking: 0, isAtLast: false, end: thought.resolve };
  const script = async ({ messages }: ChatRequestBody): Promise<FakeAnswer> => {
    const turnsDone = messages.filter(({ role }) => role === "assistant").length;
    if (hangsAt.delete(turnsDone)) {
      seen.thinking++;
      return { fault: "hang" };
    }
    if (turnsDone < 3) {
      const part = { path, start_line: 1 + 5 * turnsDone, end_line: 5 + 5 * turnsDone };
      return turn({ name: "read_file_part", arguments: part });
    }
    seen.isAtLast = true;
    await thought.promise;
    return turn(report, finish);
  };
  return { seen, script };
}

const operatorPort = (server: ServerProcess) => /Metrics and health on port (\d+)/.exec(server.log())?.[1];
const ask = (server: ServerProcess, page: string) => fetch(`http://127.0.0.1:${operatorPort(server)}${page}`);
/** Our own metrics, without Node's process metrics. */
async function metrics(server: ServerProcess): Promise<string[]> {
  const text = await (await ask(server, "/metrics")).text();
  return text.split("\n").filter((line) => line.startsWith("hunkwise_"));
}

function jobs({ dataFolder }: AppUnderTest) {
  using database = new DatabaseSync(join(dataFolder, "queue.db"), { readOnly: true });
  return database.prepare("SELECT state, attempts FROM job").all();
}

/** Holds a write lock on the database, as another writer would. */
function lockDatabase({ dataFolder }: AppUnderTest): () => void {
  const database = new DatabaseSync(join(dataFolder, "queue.db"));
  database.exec("BEGIN IMMEDIATE");
  return () => database.close();
}

/** Runs the health check from the image's Dockerfile. */
async function healthcheck(env: Record<string, string | undefined>): Promise<number> {
  const dockerfile = readFileSync(resolve(import.meta.dirname, "../../Dockerfile"), "utf8");
  const [, command = "[]"] = /^\s*CMD (\["node", "-e".*\])$/m.exec(dockerfile) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  return promisify(execFile)(process.execPath, args, { env: given as Record<string, string> }).then(
    () => 0,
    (error: { code: number }) => error.code,
  );
}

describe("a server under an operator", patient, () => {
  it("A server stops, dies, starts and loses its database for a while, and pays for no turn twice", () => {
    const { seen, script } = slowModel();
    const env = { HUNKWISE_METRICS_PORT: "0" };
    return onApp({ base, head, env, script }, async (app) => {
      await app.send("opened");
      await until(() => seen.thinking === 1);
      expect(await metrics(app.server)).toContain('hunkwise_queue_jobs{state="active"} 1');
      const children = below(app.server.process.pid);
      expect(await app.server.stop()).toBe(0);
      await until(() => app.reviewRequests.at(-1)?.hungUp === true);
      expect(jobs(app)).toEqual([{ state: "waiting", attempts: 0 }]);
      await gone(children);

      await app.restart();
      await until(() => seen.thinking === 2);
      await app.killAndRestart();
      await until(() => seen.isAtLast);

      const unlock = lockDatabase(app);
      seen.end();
      const refused = app.send("opened");
      const ready = async () => (await ask(app.server, "/readyz")).json() as Promise<{ reason?: string }>;
      while ((await ready()).reason !== "locked") await sleep(50);
      expect(await refused).toBe(503);
      unlock();
      await app.concluded();
      await app.idle();
      // An answer is cached for a second, and all of this may take less.
      while ((await ready()).reason === "locked") await sleep(50);
      expect(await ready()).toEqual({ ready: true, oldestWaitingMs: null });

      expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
      const paid = app.reviewRequests.filter(({ hungUp }) => !hungUp);
      expect(paid).toHaveLength(4);
      expect(new Set(paid.map(({ body }) => JSON.stringify(body.messages))).size).toBe(4);

      const counted = await metrics(app.server);
      expect(counted).toContain('hunkwise_jobs_total{kind="review",outcome="done"} 1');
      expect(counted).toContainEqual(
        expect.stringMatching(/^hunkwise_model_tokens_total\{.*"completion"\} [1-9]/),
      );
      expect(counted).toContainEqual(
        expect.stringMatching(/^hunkwise_deliveries_total\{event="pull_request",/),
      );
      for (const phase of ["fetch", "review", "publish"]) {
        expect(counted).toContain(`hunkwise_job_duration_seconds_count{kind="review",phase="${phase}"} 1`);
      }
      expect(counted.join()).not.toContain(fullName(app.repository));

      const { port } = new URL(app.server.url);
      expect(await healthcheck({ PORT: port })).toBe(0);
      expect(await healthcheck({ PORT: "1", HUNKWISE_METRICS_PORT: operatorPort(app.server) })).toBe(0);
      expect(await healthcheck({ PORT: "1" })).toBe(1);

      expect(await endTwice(app.server)).toBe(143);
    });
  });
});

/** An unfinished delivery delays the server's stop; the second signal stops it at once. */
async function endTwice({ url, process: child, log }: ServerProcess): Promise<number | null> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  const delivery = [
    "POST /api/github/webhooks HTTP/1.1",
    ...["host: x", "content-type: application/json", "content-length: 10", "expect: 100-continue"],
    ...["x-github-event: ping", "x-github-delivery: 1", `x-hub-signature-256: sha256=${"0".repeat(64)}`],
  ];
  socket.write(`${delivery.join("\r\n")}\r\n\r\n`);
  // The server announces that it waits for the body.
  await once(socket, "data");
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await until(() => log().includes('"Stopping"'));
  child.kill("SIGTERM");
  await exited;
  return child.exitCode;
}
