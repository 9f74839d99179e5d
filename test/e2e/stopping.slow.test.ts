import { describe, expect, it } from "vitest";
import type { ChatRequestBody, FakeAnswer } from "../support/fake-openai.ts";
import { startPostgres } from "../support/postgres.ts";
import { below, gone } from "../support/processes.ts";
import { shortTimes } from "../support/short-times.ts";
import { finding, finish, numbers, onApp, turn, until } from "./conformance-fixture.ts";
import { type SharedApp, startSharedApp } from "./shared-app.ts";

/** Every step of a review takes some minutes; `npm test` stops a server once, in operating.test.ts. */
const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
/** A process that waits for this lease never ends. */
const longLease = shortTimes({ leaseMs: 3_600_000 });
const saidIn = ({ messages }: ChatRequestBody) => messages.filter(({ role }) => role === "assistant").length;

/** Reads twice, reports and finishes. Derives its progress from the request only. */
function reviewer(body: ChatRequestBody): FakeAnswer {
  const turnsDone = saidIn(body);
  if (turnsDone < 2) {
    const part = { path, start_line: 1 + 5 * turnsDone, end_line: 5 + 5 * turnsDone };
    return turn({ name: "read_file_part", arguments: part });
  }
  return turn(finding({ line: 24, quote: "const n24 = 0;", title: "Zero is wrong" }), finish);
}

const stepsOf = ({ app }: SharedApp) => app.github.requests.length + (app.model?.requests.length ?? 0);

describe("a server that gets the stop signal after any of the requests of a review", () => {
  it("A stopped server ends with 0, leaves no process, and its next start ends the review", {
    timeout: 3_600_000,
  }, async () => {
    await using all = await startSharedApp({ script: reviewer, env: longLease });
    const { app } = all;
    for (let step = 1, isOver = false; !isOver; step++) {
      const pull = all.addRepository(base).open(head, { title: `Stopped at ${step}` });
      const from = stepsOf(all);
      await pull.deliver("opened");
      await until(() => stepsOf(all) - from >= step || pull.check()?.status === "completed");
      isOver = pull.check()?.status === "completed";
      const children = below(app.server.process.pid);
      expect(await app.server.stop()).toBe(0);
      await gone(children);
      await app.restart();
      await pull.concluded();
      await pull.of.idle();
      expect(pull.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
      const asked = app.reviewRequests.filter(({ body }) =>
        JSON.stringify(body).includes(`Stopped at ${step}`),
      );
      // Only requests in flight at the stop are repeated.
      expect(asked.length).toBeLessThanOrEqual(4);
    }
    expect(app.github.violations).toEqual([]);
  });
});

describe("a Postgres that is away while the model thinks", () => {
  it("A Postgres that is away is waited for, by the process and by the next one where it stopped", {
    timeout: 600_000,
  }, async () => {
    await using postgres = await startPostgres();
    const thought = Promise.withResolvers<void>();
    const seen = { thinks: false, hangs: false };
    const script = async (body: ChatRequestBody): Promise<FakeAnswer> => {
      if (saidIn(body) === 0) {
        seen.thinks = true;
        await thought.promise;
      }
      if (saidIn(body) === 1 && !seen.hangs) {
        seen.hangs = true;
        return { fault: "hang" };
      }
      return reviewer(body);
    };
    // A job that could not be handed back continues when its lease has ended.
    const env = { ...shortTimes({ leaseMs: 30_000 }), DATABASE_URL: await postgres.createDatabase() };
    await onApp({ base, head, env, script }, async (app) => {
      const isReady = async () => (await fetch(`${app.server.url}/readyz`)).status === 200;
      await app.send("opened");
      await until(() => seen.thinks);
      await postgres.stop();
      thought.resolve();
      while (await isReady());
      expect(await app.send("opened")).toBe(503);
      await postgres.start();
      await until(() => seen.hangs);
      while (!(await isReady()));

      await postgres.stop();
      expect(await app.server.stop()).toBe(0);
      await postgres.start();
      await app.restart();
      await app.concluded();
      expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
      expect(app.reviewRequests.map(({ hungUp }) => hungUp)).toEqual([false, true, false, false]);
    });
  });
});
