import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import { below, stillRunning } from "../support/processes.ts";
import { finding, finish, numbers, turn, until } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/*
 * A server that is killed while it reviews, and what must be found when another one has ended its work.
 */

/** Turns of the reviewer; second looks come on top. */
const turns = 30;
const base = { "src/numbers.js": numbers(120) };
const head = {
  "src/numbers.js": numbers(120, { 10: "const n10 = 0;", 40: "const n40 = 0;" }),
};
const titles = ["Line 10 is wrong", "Line 40 is wrong", "Line 80 is wrong"];
const reports = [
  finding({ line: 10, quote: "const n10 = 0;" }),
  finding({ line: 40, quote: "const n40 = 0;" }),
  // Outside every hunk: a comment on the file.
  finding({ line: 80, quote: "const n80 = 80;" }),
];

/** Reads on and on, reports, and finishes. Knows by the request alone how far it is, as a model does. */
function reviewer({ messages }: ChatRequestBody): FakeTurn {
  const said = messages.filter(({ role }) => role === "assistant").length;
  if (said === turns - 1) return turn(finish);
  const report = reports[said - (turns - 1 - reports.length)];
  if (report) return turn(report);
  const part = { path: "src/numbers.js", start_line: 1 + 2 * said, end_line: 2 + 2 * said };
  return turn({ name: "read_file_part", arguments: part });
}

/** When a server is killed: so many milliseconds after the given number of requests that it sent to anybody. */
export interface Moment {
  steps: number;
  thenMs: number;
}

export interface KillableApp extends AsyncDisposable {
  /** Reviews a pull request, killing the server at each of the moments, counted from its start or its last restart. */
  review(moments: readonly Moment[]): Promise<Killed>;
}

export interface Killed {
  /** Requests that it took from the webhook to the end, to GitHub, git and the model together. */
  steps: number;
  /** How often it was killed: a review may be over before the last moment came. */
  kills: number;
  modelRequests: number;
}

/** An App whose server is killed. Its end is checked when it is disposed of: nothing is left in the data folder. */
export async function startKillableApp(env: Record<string, string> = {}): Promise<KillableApp> {
  const agreeing = withAgreeingSceptic(reviewer);
  let onRequest = () => {};
  const all = await startSharedApp({
    everyRole: async (body) => {
      onRequest();
      return agreeing.script(body);
    },
    env,
  });
  const { app } = all;
  let count = 0;
  /** What the servers said that were killed: the last of them may have ended the job. */
  let lastWords = "";

  async function review(moments: readonly Moment[]): Promise<Killed> {
    const title = `Killed ${++count}`;
    const pull = all.addRepository(base).open(head, { title });
    const began = stepsOf(all);
    let kills = 0;
    await pull.tell("opened");
    for (const moment of moments) {
      const from = stepsOf(all);
      const reached = Promise.withResolvers<void>();
      const look = () => stepsOf(all) - from >= moment.steps && reached.resolve();
      onRequest = look;
      const over = pull.concluded();
      const came = app.github.until(() => Boolean(look()), 500_000).catch(() => {});
      await Promise.race([reached.promise, over, came]);
      await sleep(moment.thenMs);
      const left = below(app.server.process.pid);
      await app.kill();
      lastWords += app.server.log();
      kills++;
      await app.restart();
      await until(() => stillRunning(left).length === 0);
    }
    onRequest = () => {};
    await pull.concluded();
    await until(() => saysEnded(lastWords + app.server.log(), pull));
    const asked =
      app.model?.requests.filter(({ body }) => JSON.stringify(body.messages).includes(title)) ?? [];
    expectOneReview(pull);
    return { steps: stepsOf(all) - began, kills, modelRequests: asked.length };
  }

  return {
    review,
    async [Symbol.asyncDispose]() {
      const { violations } = app.github;
      await app.server.stop();
      const left = leftovers(app.dataFolder);
      await all[Symbol.asyncDispose]();
      expect(left).toEqual([]);
      expect(violations).toEqual([]);
      expect(app.model?.complaints).toEqual([]);
    },
  };
}

const stepsOf = ({ app }: SharedApp) => app.github.requests.length + (app.model?.requests.length ?? 0);

/** The check run is concluded before the job is: only then nothing moves any more. */
const saysEnded = (log: string, { of }: PullOfCase) =>
  log.split("\n").some((line) => line.includes(`/${of.repository.name}"`) && line.includes("Job ended"));

function expectOneReview(pull: PullOfCase): void {
  // A comment on a file brings a review of its own.
  expect(pull.end()).toEqual({
    reviews: 2,
    comments: ["src/numbers.js RIGHT 10", "src/numbers.js RIGHT 40", "src/numbers.js"],
    summaries: 1,
    checks: ["neutral"],
  });
  const bodies = pull.pull.reviewComments.map(({ body }) => body);
  expect(titles.map((title) => bodies.filter((body) => body.includes(title)).length)).toEqual([1, 1, 1]);
  expect(pull.check()?.output.title).toMatch(/3 .*found|found/);
}

/** Files that only somebody at work has: locks, drafts, half-written packs, and places of a second job at a time. */
function leftovers(dataFolder: string): string[] {
  const files = readdirSync(dataFolder, { recursive: true, withFileTypes: true });
  return files
    .map((one) => join(one.parentPath, one.name).slice(dataFolder.length))
    .filter((path) => !path.includes("/tree/"))
    .filter((path) => isSecondPlace.test(path) || isOfWork.test(basename(path)));
}

const isSecondPlace = /^\/checkouts\/[^/]+\/[^/]+\/[^/]+\/[1-9]/;
const isOfWork = /\.lock$|\.new$|^pid|^hunkwise\.pid|heir-of|^tmp_/;
