import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { sandboxFor } from "../sandbox/sandbox.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { AppOptions, AppUnderTest } from "../support/app-under-test.ts";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { deliver } from "../support/github-double/deliver.ts";
import type { ReviewComment } from "../support/github-double/model.ts";
import { reviewCommentPayload } from "../support/github-double/payloads.ts";
import { seeded } from "../support/seeded.ts";
import { type Case, onApp, patient } from "./conformance-fixture.ts";
import {
  baseWith,
  CountedSandbox,
  isOfProof,
  missing,
  onRequest,
  options,
  pathWithoutSandbox,
  proving,
  recordedIn,
  showing,
  testedIn,
  testPath,
  title,
} from "./proven.ts";

const { sandbox, skipped } = await sandboxFor("that the App proves findings");
const long = process.env.HUNKWISE_LONG === "1";

type Played = Case & AppUnderTest;
const play = <Seen>(over: Partial<AppOptions>, run: (app: Played) => Promise<Seen>): Promise<Seen> =>
  onApp({ ...options, script: proving(), ...over }, run);

const mark = "Regression shown by a test.";
const shown = [
  ...["returns 0", `node './${testPath}'`, showing.trim()],
  "TypeError: Reduce of empty array with no initial value",
];
const proofsOf = ({ model }: Played) => model?.requests.filter(({ body }) => isOfProof(body)) ?? [];

/** The only comment, after a review. */
async function reviewed(app: Played): Promise<string> {
  await app.review();
  await app.idle();
  const [body = "", ...more] = app.bodies();
  expect([body.includes(title), more]).toEqual([true, []]);
  return body;
}

describe.skipIf(!sandbox)(`a review of the App with proofs${skipped}`, patient, () => {
  it("A finding that a test shows has a mark, the test and its output, and the check stays the same", async () => {
    const { body, end, tested } = await play({}, async (app) => ({
      ...{ body: await reviewed(app), end: app.end() },
      tested: testedIn(app.dataFolder),
    }));
    expect(body).toContain(mark);
    for (const part of shown) expect(body).toContain(part);
    // Once on both sides as the model asked for it, and twice each to decide.
    expect([tested.length, new Set(tested).size]).toEqual([6, 6]);
    const without = await play({ base: baseWith(null) }, async (app) => {
      await reviewed(app);
      return app.end();
    });
    expect(end).toEqual(without);
  });

  it("A finding has no mark for what the runs do not show, whatever the model claims", () =>
    play({ script: proving({ test: missing }) }, async (app) => {
      const body = await reviewed(app);
      expect(body).not.toContain(mark);
      expect(body).toContain("Not shown by a test: the test does not show it: it passes at the head");
      // The model may try three times.
      expect(proofsOf(app)).toHaveLength(4);
    }));

  it("A finding has no mark for what the pull request asks for", () => {
    const asked = "An empty cart has no total any more and throws";
    const intent = { asks: "now", quote: asked };
    return play({ body: `${asked}.`, script: proving({ intent }) }, async (app) => {
      const body = await reviewed(app);
      expect(body).not.toContain(mark);
      expect(body).toContain(`the pull request asks for it: "${asked}"`);
    });
  });

  it("A review is published at once without proofs if the model fails while it proves", () => {
    const script = (body: ChatRequestBody) =>
      isOfProof(body) ? ({ fault: "status", status: 503 } as const) : proving()(body);
    return play({ script }, async (app) => {
      const body = await reviewed(app);
      expect(body).not.toContain(mark);
      expect(body).toContain("Not shown by a test: ");
      expect(app.end()).toMatchObject({ reviews: 1, check: "neutral" });
      const reviews = recordedIn(app.dataFolder).filter(({ kind }) => kind === "began");
      expect(reviews).toHaveLength(1);
    });
  });

  it("A review goes on without a sandbox, and says so once", async () => {
    using folder = new TempFolder("path");
    const env = { PATH: await pathWithoutSandbox(folder.path) };
    await play({ env }, async (app) => {
      const body = await reviewed(app);
      expect(body).not.toMatch(/by a test/);
      expect(app.summary().match(/No finding was proved: this machine has no sandbox\./g)).toHaveLength(1);
      expect(proofsOf(app)).toEqual([]);
      expect(app.end().check).toBe("neutral");
    });
  });

  it("A review without proofs looks for no sandbox and asks for nothing more", async () => {
    using counted = new CountedSandbox(sandbox?.bwrap ?? "");
    const seen: unknown[] = [];
    for (const config of ["max_comments: 50\n", "prove: { enabled: false }\nmax_comments: 50\n"])
      await play({ base: baseWith(config), env: counted.env }, async (app) => {
        await reviewed(app);
        seen.push({ model: modelRequests(app), github: githubRequests(app), end: app.end() });
      });
    expect(seen[1]).toEqual(seen[0]);
    expect(counted.starts).toBe(0);
  });
});

/** Object names differ, because the configuration's file does; so do the port, the times, and hashes with the App's secret. */
const alike = (text: string) =>
  text
    .replaceAll(/\b[0-9a-f]{7,40}\b/g, "SHA")
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .replaceAll(/(hashes\W+)[\w.-]+/g, "$1HASHES")
    .replaceAll(/took [\d.]+ s/g, "took SECONDS")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");

const modelRequests = ({ model }: Played) => model?.requests.map(({ body }) => alike(JSON.stringify(body)));

const githubRequests = ({ github }: Played) =>
  github.requests
    .filter(({ operation }) => operation !== "git")
    .map(({ method, path, query, body }) => alike(JSON.stringify({ method, path, query, body })))
    .toSorted();

describe.skipIf(!sandbox)(`/prove in a thread${skipped}`, patient, () => {
  const asked = async (app: Played, by = "octocat", text = "/prove"): Promise<ReviewComment> => {
    await reviewed(app);
    const [thread] = app.threads();
    if (!thread) throw new Error("there is no finding");
    await app.reply(thread, by, text);
    await app.idle();
    return thread;
  };

  it("The command /prove answers with the mark, the test and its output, and leaves the finding as it is", () =>
    play({ base: onRequest }, async (app) => {
      await asked(app);
      expect(app.bodies()[0]).not.toContain(mark);
      const [answer = "", ...more] = app.replies();
      for (const part of [mark, ...shown]) expect(answer).toContain(part);
      expect(more).toEqual([]);
      expect(app.end()).toMatchObject({ reviews: 2, check: "neutral" });
    }));

  it("The command /prove is answered and paid once if its delivery arrives twice", () =>
    play({ base: onRequest }, async (app) => {
      await reviewed(app);
      const [thread] = app.threads();
      if (!thread) throw new Error("there is no finding");
      const payload = await reviewCommentPayload(
        app.github.state,
        app.people.reply(thread, "octocat", "/prove"),
      );
      const target = { url: app.server.webhookUrl, secret: app.webhookSecret };
      for (const id of ["one", "one", "two"]) {
        await deliver(app.github.state, "pull_request_review_comment", payload, { ...target, id });
        await app.idle();
      }
      expect(app.replies()).toEqual([expect.stringContaining(mark)]);
      expect([proofsOf(app).length, testedIn(app.dataFolder).length]).toEqual([3, 6]);
    }));

  it("The command /prove answers why a test does not show a finding", () =>
    play({ base: onRequest, script: proving({ test: missing }) }, async (app) => {
      await asked(app);
      expect(app.replies()).toEqual([expect.stringContaining("Not shown by a test: the test does not")]);
      expect(app.replies()[0]).not.toContain(mark);
    }));

  it("The command /prove answers nobody without write access, and says what to write if proofs are off", () =>
    play({ base: baseWith(null) }, async (app) => {
      app.people.addCollaborator(app.repository, "passer-by", "read");
      const thread = await asked(app, "passer-by");
      expect(app.replies()).toEqual([]);
      await app.reply(thread, "octocat", "/prove");
      await app.comment("octocat", "/prove");
      await app.idle();
      expect(app.replies()).toEqual([expect.stringContaining("set `prove: { enabled: true }`")]);
      expect(app.pull.comments.at(-1)?.body).toContain("Which finding?");
      expect(proofsOf(app)).toEqual([]);
    }));
});

/** The number of things that a server has done: what it asked GitHub, git and the model, and sandboxes it started. */
const stepsOf = ({ github, model }: Played, counted: CountedSandbox) =>
  github.requests.length + (model?.requests.length ?? 0) + counted.starts;

interface Killed {
  steps: number;
  kills: number;
  proofs: number;
  starts: number;
}

/** Starts work, and kills the server at each of these numbers of steps, counted from its start or its last restart. */
async function killed(
  counted: CountedSandbox,
  moments: readonly { steps: number; thenMs: number }[],
  work: (app: Played) => { begin(): Promise<unknown>; isDone(): boolean; before?(): Promise<unknown> },
  over: Partial<AppOptions>,
): Promise<Killed> {
  const everyRole = withAgreeingSceptic(proving()).script;
  const { script: _, ...rest } = { ...options, script: undefined };
  return onApp({ ...rest, everyRole, env: counted.env, ...over }, async (app) => {
    const { before, begin, isDone } = work(app);
    await before?.();
    const began = stepsOf(app, counted);
    const [proofs, starts] = [proofsOf(app).length, counted.starts];
    let kills = 0;
    await begin();
    for (const { steps, thenMs } of moments) {
      const from = stepsOf(app, counted);
      await pollUntil(() => isDone() || stepsOf(app, counted) - from >= steps);
      await sleep(thenMs);
      await app.kill();
      kills++;
      await app.restart();
    }
    await pollUntil(isDone);
    await app.idle();
    expect(isDone()).toBe(true);
    const tested = testedIn(app.dataFolder);
    expect([tested.length, new Set(tested).size]).toEqual([6, 6]);
    return {
      ...{ kills, steps: stepsOf(app, counted) - began },
      ...{ proofs: proofsOf(app).length - proofs, starts: counted.starts - starts },
    };
  });
}

async function pollUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2);
}

const works = {
  "that reviews": {
    over: {},
    work: (app: Played) => ({
      begin: () => app.send("opened"),
      isDone: () => app.end().check != null && app.bodies().length === 1,
    }),
    expectEnd(app: Played) {
      expect(app.end()).toMatchObject({ comments: ["src/cart.js RIGHT 2"], summaries: 1, check: "neutral" });
      expect(app.bodies()[0]).toContain(mark);
    },
  },
  "that answers /prove": {
    over: { base: onRequest },
    work: (app: Played) => ({
      before: () => reviewed(app),
      async begin() {
        const [thread] = app.threads();
        if (thread) await app.reply(thread, "octocat", "/prove");
      },
      isDone: () => app.replies().length === 1,
    }),
    expectEnd(app: Played) {
      expect(app.replies()).toEqual([expect.stringContaining(mark)]);
      expect(app.bodies()[0]).not.toContain(mark);
    },
  },
} as const;

describe.skipIf(!sandbox).each(Object.entries(works))(
  `a server %s, killed while it proves${skipped}`,
  (_, { over, work, expectEnd }) => {
    it("A killed server pays no turn twice, runs no recorded test again, and says everything once", {
      timeout: long ? 7_200_000 : 2 * patient.timeout,
    }, async () => {
      using counted = new CountedSandbox(sandbox?.bwrap ?? "");
      const run = (moments: readonly { steps: number; thenMs: number }[]) =>
        killed(
          counted,
          moments,
          (app) => {
            const one = work(app);
            const isDone = () => {
              if (!one.isDone()) return false;
              expectEnd(app);
              return true;
            };
            return { ...one, isDone };
          },
          over,
        );
      const undisturbed = await run([]);
      expect(undisturbed).toMatchObject({ proofs: 3, starts: 7 });
      const random = seeded(25);
      const { steps } = undisturbed;
      const moments = long
        ? Array.from({ length: steps }, (__, n) => ({ steps: n + 1, thenMs: 0 }))
        : Array.from({ length: 4 }, (__, n) => ({
            steps: Math.ceil(((n + random()) / 4) * steps * 0.4),
            thenMs: Math.floor(random() * 60),
          }));
      // A job fails for good after five attempts whose worker died.
      const size = long ? 1 : 4;
      for (let at = 0; at < moments.length; at += size) {
        const { kills, proofs, starts } = await run(moments.slice(at, at + size));
        // Only what was under way at a kill is repeated, and each server tries its sandbox once.
        expect(proofs - undisturbed.proofs).toBeLessThanOrEqual(kills);
        expect(starts - undisturbed.starts).toBeLessThanOrEqual(2 * kills);
      }
    });
  },
);
