import { describe, expect, it } from "vitest";
import { actionFile, commandsIn, type RunningStep } from "../support/action-runner.ts";
import type { Pull, Repository } from "../support/github-double/model.ts";
import { shortTimes } from "../support/short-times.ts";
import { always, change, fork, onAction, places, pricesOf, stateKey, withModel } from "./action-fixture.ts";
import { numbers, onApp, patient } from "./conformance-fixture.ts";

const { base, head, script } = change;

/** What people see, without what differs between two runs: the double's address, and how long it took. */
function visible({ pull, repository }: { pull: Pull; repository: Repository }): unknown {
  const seen = {
    lines: pull.reviewComments.map(({ path, anchor, body }) => [path, anchor, withoutMarker(body)]),
    reviews: pull.reviews.map(({ state, body }) => [state, withoutMarker(body)]),
    summaries: pull.comments.map(({ body }) => withoutMarker(body)),
    checks: repository.checkRuns.map(({ name, externalId, status, conclusion, output }) => [
      ...[name, externalId, status, conclusion, output?.title, withoutMarker(output?.summary ?? "")],
    ]),
  };
  const text = JSON.stringify(seen)
    .replaceAll(/127\.0\.0\.1:\d+/g, "HOST")
    .replaceAll(/took [\d.]+ s/g, "took a while")
    .replaceAll(/(discussion_r|issuecomment-|\/runs\/)\d+/g, "$1ID");
  return JSON.parse(text);
}
const withoutMarker = (body: string) => body.replace(/\s*<!-- hunkwise:[^\n]*$/, "");

describe.concurrent("the Action", patient, () => {
  it.each([
    ["a released commit", false],
    ["a commit that is not built", true],
  ])(
    "The Action of %s writes what the App writes: comments, sides, lines, summary and check",
    async (_, unbuilt) => {
      const byApp = await onApp(change, async (app) => {
        await app.review();
        return visible(app);
      });
      const byAction = await onAction(change, async (one) => {
        const inputs = { "state-key": stateKey };
        const done = await one.on("pull_request_target", "opened", { inputs, unbuilt });
        expect({ code: done.code, commands: commandsIn(done.log) }).toEqual({ code: 0, commands: [] });
        return visible(one);
      });
      expect(byAction).toEqual(byApp);
    },
  );

  it("The Action gives its outputs the counts, and writes reports and a summary", () =>
    onAction(change, async (one) => {
      const done = await one.on("pull_request_target", "opened");
      expect(done.outputs).toMatchObject({
        ...{ outcome: "reviewed", conclusion: "neutral", coverage: "complete" },
        ...{ findings: "3", critical: "0", high: "2", medium: "1", low: "0" },
        ...{ "hunks-read": "3", "hunks-total": "3" },
      });
      expect(Object.keys(done.outputs).sort()).toEqual(Object.keys(actionFile.outputs).sort());
      expect(done.summary).toContain("## Hunkwise: 2 high, 1 medium");
      expect(JSON.parse(done.files["hunkwise/review.json"] ?? "")).toMatchObject({ outcome: "complete" });
      expect(JSON.parse(done.files["hunkwise/review.sarif"] ?? "").runs[0].results).toHaveLength(3);
      expect(Object.keys(done.files)).toHaveLength(2);
    }));

  it("The Action asks no model without a required policy, and reads a private one with its own token", () =>
    onAction({ ...change, script: always }, async (one) => {
      const { github, people, repository, actions } = one;
      const owner = repository.owner.login;
      const private_ = { private: true };
      const above = people.createRepository(
        `${owner}/.github`,
        { ".github/hunkwise.yml": "policy: { enforce: [check] }\ncheck: { fail: true }\n" },
        private_,
      );
      const required = { policy: "required" };
      const without = await one.on("pull_request_target", "opened", { inputs: required });
      expect(one.model.requests).toEqual([]);
      expect(without.outputs).toMatchObject({ conclusion: "neutral", coverage: "offline" });
      expect(one.repository.checkRuns.at(-1)?.output?.summary).toMatch(
        /a policy of the organization is required, and its repository `\.github` .* give the Action the input organization-token/s,
      );
      const installation = github.state.install(actions.app, [above], { contents: "read" });
      const token = github.state.issueToken(installation).value;
      await one.on("pull_request_target", "synchronize", {
        inputs: { ...required, "organization-token": token },
      });
      expect(one.model.requests.length).toBeGreaterThan(0);
      expect(one.written().checks.at(-1)).toBe("failure");
    }));

  it("The step and the check fail if a finding reaches fail-on", () =>
    onAction(change, async (one) => {
      const done = await one.on("pull_request_target", "opened", { inputs: { "fail-on": "high" } });
      expect(done.code).toBe(1);
      expect(one.written().checks).toEqual(["failure"]);
      expect(commandsIn(done.log)).toEqual([
        "::notice::This run has no memory: it knows no earlier review and no dismissal. Set the input state-key to a secret of this repository.",
        "::error::Findings of severity high or higher are open, or a part of the change was not read: see the summary",
      ]);
    }));

  it("The Action reviews a pull request that an input names, for an event that names none", () =>
    onAction(change, async (one) => {
      const payload = { action: "completed" };
      const inputs = { ...withModel(one.model), "pull-request": String(one.pull.number) };
      const env = { HUNKWISE_PROTOCOL: "native", ...shortTimes() };
      const done = await one.actions.run({ event: "workflow_run", payload, inputs, env });
      expect(done.outputs.outcome).toBe("reviewed");
      expect(one.written().comments).toEqual(places);
      const unnamed = await one.actions.run({
        event: "workflow_run",
        payload,
        inputs: withModel(one.model),
        env,
      });
      expect([unnamed.code, unnamed.log]).toEqual([
        2,
        expect.stringContaining("The event workflow_run names no pull request. Set the input pull-request"),
      ]);
    }));

  it("The Action reviews only the input's paths, and keeps a limit in dollars or says that it cannot", () =>
    onAction({ base, head: { ...head, "docs/a.md": "# A\n" }, script }, async (one) => {
      const unknown = await one.on("pull_request_target", "opened", { inputs: { "max-cost": "0.5" } });
      expect(unknown.code).toBe(2);
      expect(unknown.log).toContain("The maximum cost cannot be kept: the price of fake-model is not known");
      const inputs = { "max-cost": "0.5", paths: "src/**\n!docs/**", instructions: "Look at the numbers." };
      const done = await one.on("pull_request_target", "opened", { inputs, ...pricesOf("fake-model") });
      expect(done.outputs).toMatchObject({ outcome: "reviewed", "hunks-total": "3" });
      expect(Number(done.outputs["cost-usd"])).toBeGreaterThan(0);
      expect(JSON.stringify(one.model.requests[0]?.body.messages)).toContain("Look at the numbers.");
    }));

  it("The model judges what a linter reports on changed lines, and no linter's words are shown", async () => {
    const result = (ruleId: string, startLine: number) => ({
      ...{ ruleId, level: "error", message: { text: `${ruleId} of the linter` } },
      locations: [
        { physicalLocation: { artifactLocation: { uri: "src/numbers.js" }, region: { startLine } } },
      ],
    });
    const sarif = JSON.stringify({
      version: "2.1.0",
      runs: [{ tool: { driver: { name: "Lint" } }, results: [result("on-added", 3), result("on-old", 10)] }],
    });
    const workspace = { "out/lint.sarif": sarif };
    await onAction(change, async (one) => {
      const done = await one.on("pull_request_target", "opened", {
        workspace,
        inputs: { findings: "out/lint.sarif" },
      });
      expect(done.outputs).toMatchObject({ outcome: "reviewed", coverage: "complete" });
      const asked = JSON.stringify(one.model.requests[0]?.body.messages);
      expect(asked).toMatch(/src\/numbers\.js:3 lint reports on-added .*on-added of the linter/);
      expect(asked).not.toContain("on-old");
      expect(one.pull.reviewComments.map(({ body }) => body).join()).not.toContain("lint reports");
    });
    await onAction({ ...change, script: [] }, async (one) => {
      const inputs = {
        findings: "out/lint.sarif",
        "api-key": "",
        "base-url": "",
        model: "",
        "fail-on": "low",
      };
      const done = await one.on("pull_request_target", "opened", { workspace, inputs });
      expect([done.code, done.outputs.findings]).toEqual([0, "1"]);
      const texts = one.pull.reviewComments.map(({ body }) => body).join();
      expect(texts).toContain("lint reports on-added");
      expect(texts).not.toContain("of the linter");
    });
  });

  it("The Action calls an answered command done, not unreviewed", () =>
    onAction({ ...change, script: [] }, async (one) => {
      const done = await one.comment("octocat", "/help");
      expect([done.code, done.outputs.outcome]).toEqual([0, "skipped"]);
      expect(done.summary).toMatch(/^## Hunkwise\n\nDone: /);
      expect(done.summary).not.toContain("Not reviewed");
    }));

  it("A canceled job leaves no check run open", () => {
    let step: RunningStep | undefined;
    const waits = () => {
      step?.kill("SIGINT");
      return new Promise<never>(() => {});
    };
    return onAction({ base, head, script: waits }, async (one) => {
      const onStart = (started: RunningStep) => {
        step = started;
      };
      const done = await one.on("pull_request_target", "opened", { onStart });
      expect(done.code).not.toBe(0);
      expect(one.repository.checkRuns.map(({ status }) => status)).toEqual(["completed"]);
      expect(one.written()).toMatchObject({ comments: [], reviews: 0 });
    });
  });

  it("The Action names each wrong input", () =>
    onAction({ ...change, script: [] }, async (one) => {
      const inputs = { effort: "huge", "max-cost": "much", "state-key": "short" };
      const done = await one.on("pull_request_target", "opened", { inputs });
      expect(done.code).toBe(2);
      expect(done.log).toContain("state-key must have at least 16 characters");
      expect(done.log).toContain("effort must be one of low, medium, high; max-cost must be an amount");
      expect(one.written()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: [] });
    }));
});

describe.concurrent("the gate of the Action", patient, () => {
  const nothing = { reviews: 0, comments: [], summaries: 0, checks: [] };

  it("The gate is closed for a stranger's pull request: nothing is asked and nothing written", () =>
    onAction({ ...change, ...fork }, async (one) => {
      const done = await one.on("pull_request_target", "opened");
      expect(done.code).toBe(0);
      expect(done.outputs.outcome).toBe("skipped");
      expect(done.summary).toContain("mallory cannot write to this repository");
      expect(one.model.requests).toEqual([]);
      expect(one.written()).toEqual(nothing);
    }));

  it("The gate opens for the head that somebody with write access labeled", () =>
    onAction({ ...change, ...fork }, async (one) => {
      one.people.addCollaborator(one.repository, "octocat", "write");
      one.people.label(one.pull, "hunkwise");
      const done = await one.on("pull_request_target", "labeled", { by: "octocat" });
      expect(done.outputs.outcome).toBe("reviewed");
      expect(one.written().comments).toEqual(places);
    }));

  it("The gate stays closed for a label of somebody who may only label", () =>
    onAction({ ...change, ...fork }, async (one) => {
      one.people.addCollaborator(one.repository, "trudy", "triage");
      one.people.label(one.pull, "hunkwise");
      await one.on("pull_request_target", "labeled", { by: "trudy" });
      expect(one.written()).toEqual(nothing);
    }));

  it("The gate is open to everyone if the workflow says so", () =>
    onAction({ ...change, ...fork }, async (one) => {
      await one.on("pull_request_target", "opened", { inputs: { "reviews-of": "everyone" } });
      expect(one.written().comments).toEqual(places);
    }));

  it("The gate lets only people with write access ask for a review in a comment", () =>
    onAction({ ...change, ...fork }, async (one) => {
      one.people.addCollaborator(one.repository, "octocat", "write");
      const stranger = await one.comment("mallory", "/review");
      expect(stranger.outputs.outcome).toBe("skipped");
      expect(one.written()).toEqual(nothing);
      const writer = await one.comment("octocat", "/review");
      expect(writer.outputs.outcome).toBe("reviewed");
      expect(one.written().comments).toEqual(places);
    }));
});

describe.concurrent("a workflow of the pull request itself", patient, () => {
  it("A pull request's own workflow asks a model if the head is in the same repository", () =>
    onAction(change, async (one) => {
      await one.on("pull_request", "opened");
      expect(one.written().comments).toEqual(places);
    }));

  it("A fork's own workflow runs only the analyzers, and shows what they find although it may write nothing", () =>
    onAction(
      {
        base,
        head: {
          "src/numbers.js": `${numbers(40)}<<<<<<< HEAD\n`,
          "src/a.test.js": "it.only('x', () => {});\n",
        },
        script: [],
        ...fork,
      },
      async (one) => {
        const done = await one.on("pull_request", "opened", { inputs: { "reviews-of": "everyone" } });
        expect(done.code).toBe(0);
        expect(one.model.requests).toEqual([]);
        expect(one.written()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: [] });
        expect(done.outputs).toMatchObject({ outcome: "reviewed", coverage: "offline" });
        expect(done.summary).toContain("Nothing could be written on the pull request");
        expect(done.summary).toContain("no model was asked");
        expect(
          commandsIn(done.log).filter((line) => /^::(error|warning) file=src/.test(line)).length,
        ).toBeGreaterThan(0);
      },
    ));
});

describe.concurrent("what the Action remembers", patient, () => {
  it("With a state key the next push is reviewed alone, and nothing is said twice", () =>
    onAction({ ...change, script: always }, async (one) => {
      const how = { inputs: { "state-key": stateKey } };
      await one.on("pull_request_target", "opened", how);
      const first = one.model.requests.length;
      await one.on("pull_request_target", "opened", how);
      expect(one.model.requests).toHaveLength(first);
      one.people.push(one.pull, { "README.md": "# Numbers\n" });
      await one.on("pull_request_target", "synchronize", how);
      expect(one.written()).toMatchObject({ comments: places, summaries: 1 });
    }));

  it("Without a state key all is read again, and only visible comments at the same place are left out", () =>
    onAction({ ...change, script: always }, async (one) => {
      await one.on("pull_request_target", "opened");
      const first = one.model.requests.length;
      one.people.push(one.pull, { "README.md": "# Numbers\n" });
      await one.on("pull_request_target", "synchronize");
      expect(one.model.requests.length).toBeGreaterThanOrEqual(2 * first);
      expect(one.written()).toMatchObject({ comments: places, summaries: 1 });
    }));

  it("Only people with write access dismiss a finding", () =>
    onAction({ ...change, ...fork, script: always }, async (one) => {
      one.people.addCollaborator(one.repository, "octocat", "write");
      const inputs = { "state-key": stateKey, "reviews-of": "everyone", "fail-on": "high" };
      await one.on("pull_request_target", "opened", { inputs });
      const [first, second] = one.pull.reviewComments;
      if (!first || !second) throw new Error("no comments");
      for (const comment of [first, second]) one.people.react(comment, "mallory", "-1");
      one.people.push(one.pull, { "README.md": "# Numbers\n" });
      expect((await one.on("pull_request_target", "synchronize", { inputs })).outputs.conclusion).toBe(
        "failure",
      );
      for (const comment of [first, second]) one.people.react(comment, "octocat", "-1");
      one.people.push(one.pull, { "README.md": "# All numbers\n" });
      expect((await one.on("pull_request_target", "synchronize", { inputs })).outputs.conclusion).toBe(
        "success",
      );
    }));
});
