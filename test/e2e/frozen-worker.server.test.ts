import { describe, expect, it } from "vitest";
import type { AppUnderTest } from "../support/app-under-test.ts";
import { shortTimes } from "../support/short-times.ts";
import { finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";

const long = process.env.HUNKWISE_LONG === "1";

/*
 * Two worker processes on one database. The one with the job is stopped past its lease, as on a machine that sleeps or swaps, until the
 * other one has finished the job; then it continues where it was.
 */

const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const head = { [path]: numbers(60, { 10: "const n10 = 0;", 40: "const n40 = 0;" }) };
const findings = turn(
  finding({ line: 10, quote: "const n10 = 0;" }),
  finding({ line: 40, quote: "const n40 = 0;" }),
  finish,
);
const env = shortTimes({ leaseMs: 3_000 });
const asItShallBe = {
  reviews: 1,
  comments: [`${path} RIGHT 10`, `${path} RIGHT 40`],
  summaries: 1,
  check: "neutral",
};

/** Stops the server, lets another process finish the job, then resumes the server until it notices that its lease is over. */
async function freeze({ server, addWorker, concluded }: AppUnderTest, wake: () => void): Promise<void> {
  server.process.kill("SIGSTOP");
  await addWorker();
  await concluded();
  wake();
  server.process.kill("SIGCONT");
  await until(() => server.log().includes("Job lost to another worker"));
}

const posted = ({ github }: AppUnderTest, route: RegExp) =>
  github.requests.filter(({ method, path }) => route.test(`${method} ${path}`)).length;

describe.concurrent("a worker that was frozen past its lease", patient, () => {
  it.runIf(long)("A worker that was frozen while the model thinks publishes nothing", () => {
    const thinking = Promise.withResolvers<void>();
    let asked = 0;
    const script = async () => {
      asked += 1;
      if (asked === 1) await thinking.promise;
      return findings;
    };
    return onApp({ base, head, env, script }, async (app) => {
      await app.send("opened");
      await until(() => asked === 1);
      await freeze(app, thinking.resolve);

      expect(app.end()).toEqual(asItShallBe);
      expect(posted(app, /^POST .*\/reviews$/)).toBe(1);
      // The turn in progress, and the same turn for the other worker.
      expect(app.reviewRequests).toHaveLength(2);
    });
  });

  it("A worker that was frozen right before GitHub gets its review removes it again", () => {
    const underWay = Promise.withResolvers<void>();
    return onApp({ base, head, env, script: () => findings }, async (app) => {
      const { github, pull, repository } = app;
      github.faults.add({ match: /^POST .*\/reviews$/, kind: { delay: underWay.promise } });
      await app.send("opened");
      await until(() => github.faults.struck.length === 1);
      await freeze(app, underWay.resolve);

      expect(posted(app, /^POST .*\/reviews$/)).toBe(2);
      expect(app.end()).toEqual({ ...asItShallBe, reviews: 2 });
      expect(pull.reviews.filter(({ body }) => body.includes("hunkwise:review"))).toHaveLength(1);
      expect(repository.checkRuns).toMatchObject([{ status: "completed", conclusion: "neutral" }]);
      expect(app.reviewRequests).toHaveLength(1);
    });
  });
});
