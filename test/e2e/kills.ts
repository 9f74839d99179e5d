import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { ChatRequestBody, FakeTurn } from "../support/fake-openai.ts";
import { finding, finish, numbers, turn, until } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/*
 * A server that is killed during a review, and the expected state when another one has finished its work.
 */

/** Turns of the reviewer, without second looks. */
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

/** Reads many times, reports, and finishes. Derives its progress from the request only, as a model does. */
function reviewer({ messages }: ChatRequestBody): FakeTurn {
  const turnsDone = messages.filter(({ role }) => role === "assistant").length;
  if (turnsDone === turns - 1) return turn(finish);
  const report = reports[turnsDone - (turns - 1 - reports.length)];
  if (report) return turn(report);
  const part = { path: "src/numbers.js", start_line: 1 + 2 * turnsDone, end_line: 2 + 2 * turnsDone };
  return turn({ name: "read_file_part", arguments: part });
}

/** The time of a kill: a number of milliseconds after the server has sent `steps` requests of any kind. */
export interface Moment {
  steps: number;
  thenMs: number;
}

export interface KillableApp extends AsyncDisposable {
  /** Reviews a pull request and kills the server at each of the moments, counted from its start or its last restart. */
  review(moments: readonly Moment[]): Promise<Killed>;
}

export interface Killed {
  /** Number of requests from the webhook to the end, to GitHub, git and the model together. */
  steps: number;
  /** Number of kills: a review may end before the last moment. */
  kills: number;
  modelRequests: number;
}

/** An App whose server is killed. Disposal checks its end: nothing is left in the data folder. */
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
  /** Logs of the killed servers: the last of them may have ended the job. */
  let lastWords = "";

  async function review(moments: readonly Moment[]): Promise<Killed> {
    const title = `Killed ${++count}`;
    const pull = all.addRepository(base).open(head, { title });
    const began = stepsOf(all);
    let kills = 0;
    await pull.deliver("opened");
    for (const moment of moments) {
      const from = stepsOf(all);
      const reached = Promise.withResolvers<void>();
      const look = () => stepsOf(all) - from >= moment.steps && reached.resolve();
      onRequest = look;
      const over = pull.concluded();
      const came = app.github.until(() => Boolean(look()), 500_000).catch(() => {});
      await Promise.race([reached.promise, over, came]);
      await sleep(moment.thenMs);
      await app.kill();
      lastWords += app.server.log();
      kills++;
      await app.restart();
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

/** The check run is concluded before the job ends: only then is everything done. */
const saysEnded = (log: string, { of }: PullOfCase) =>
  log.split("\n").some((line) => line.includes(`/${of.repository.name}"`) && line.includes("Job ended"));

function expectOneReview(pull: PullOfCase): void {
  // A file comment adds a separate review.
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

/** Files that exist only during work: locks, drafts, half-written packs, and folders of a second concurrent job. */
function leftovers(dataFolder: string): string[] {
  const files = readdirSync(dataFolder, { recursive: true, withFileTypes: true });
  return files
    .map((one) => join(one.parentPath, one.name).slice(dataFolder.length))
    .filter((path) => !path.includes("/tree/"))
    .filter((path) => isSecondPlace.test(path) || isOfWork.test(basename(path)));
}

const isSecondPlace = /^\/checkouts\/[^/]+\/[^/]+\/[^/]+\/[1-9]/;
const isOfWork = /\.lock$|\.new$|^pid|^hunkwise\.pid|heir-of|^tmp_/;
