import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app-under-test.ts";
import { type ArtifactStore, startArtifactStore } from "../support/artifact-store.ts";
import { addRun, upload } from "../support/github-double/around.ts";
import { fullName, headOf } from "../support/github-double/model.ts";
import { manifestPermissions } from "../support/github-double/scenario.ts";
import { zip } from "../support/zip.ts";
import { patient } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/* Results of a linter that a workflow uploads, in reviews of the App; no model is needed to see them. */

let shared: SharedApp;
let store: ArtifactStore;
beforeAll(async () => {
  store = await startArtifactStore();
  shared = await startSharedApp();
});
afterAll(async () => {
  const { github } = shared.app;
  await shared[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  const misunderstood = github.violations.filter(
    ({ operation }) => operation !== "apps/create-installation-access-token",
  );
  expect(misunderstood).toEqual([]);
});

const granted = { ...manifestPermissions, actions: "read" } as const;
const names = (wait: number) =>
  `findings:\n  workflows:\n    - workflow: lint.yml\n      artifact: report\n  wait_minutes: ${wait}\n`;

function opened({
  config = names(0),
  permissions = granted as Record<string, "read" | "write">,
} = {}): PullOfCase {
  const base = { "a.js": "const a = 1;\n", ".github/hunkwise.yml": config };
  return shared.addRepository(base, permissions).open({ "a.js": "const a = 1;\nconst b = 2;\n" });
}

const report = (rule: string) =>
  zip([
    {
      name: "report.sarif",
      text: JSON.stringify({
        version: "2.1.0",
        runs: [
          {
            tool: { driver: { name: "Lint" } },
            results: [
              {
                ...{ ruleId: rule, level: "error", message: { text: "canary-of-the-tool" } },
                locations: [
                  { physicalLocation: { artifactLocation: { uri: "a.js" }, region: { startLine: 2 } } },
                ],
              },
            ],
          },
        ],
      }),
    },
  ]);

const run = (pull: PullOfCase, over: Partial<Parameters<typeof addRun>[2]> = {}) =>
  addRun(shared.app.github, pull.of.repository, {
    ...{ workflow: "lint.yml", headSha: headOf(pull.pull) },
    ...over,
  });
const uploaded = (of: ReturnType<typeof run>, file: Buffer, storedAt = store.keep(file)) =>
  upload(shared.app.github, of, { name: "report", storedAt });

async function reviewed(pull: PullOfCase): Promise<string> {
  await pull.deliver("opened");
  await pull.concluded();
  await pull.of.idle();
  return [pull.summary(), JSON.stringify(pull.check()?.output)].join("\n");
}

/** Tokens that were asked for to read Actions. */
const tokens = ({ of }: PullOfCase) =>
  shared.app.github.requests.filter(
    ({ path, body }) =>
      path === `/app/installations/${of.installation.id}/access_tokens` &&
      JSON.stringify(body).includes("actions"),
  ).length;

/** Requests about Actions. */
const asked = ({ of }: PullOfCase) =>
  shared.app.github.requests
    .filter(({ path }) => path.startsWith(`/repos/${fullName(of.repository)}/actions/`))
    .map(({ path }) => path.split("/actions/")[1]?.replaceAll(/\d{5,}/g, "ID"));

describe("late results of a workflow", patient, () => {
  it("Results that came too late for a review reach the model with the next full one", async () => {
    const base = { "a.js": "const a = 1;\n", ".github/hunkwise.yml": names(0) };
    await using app = await startApp({
      ...{ base, head: { "a.js": "const a = 1;\nconst b = 2;\n" }, permissions: granted },
      script: () => ({ tool_calls: [{ name: "finish_review", arguments: { summary: "It adds b." } }] }),
    });
    const late = addRun(app.github, app.repository, {
      ...{ workflow: "lint.yml", headSha: headOf(app.pull), status: "in_progress" as const },
    });
    await app.send("opened");
    await app.concluded();
    uploaded(late, report("no-b"));
    Object.assign(late, { status: "completed", conclusion: "success" });
    const before = app.reviewRequests.length;
    await app.comment("octocat", "/review full");
    await app.github.until(() => app.reviewRequests.length > before);
    const prompts = app.reviewRequests.map(({ body }) => JSON.stringify(body.messages));
    expect(prompts[0]).not.toContain("lint reports no-b");
    expect(prompts[before]).toContain("lint reports no-b");
    expect(prompts[before]).toContain("canary-of-the-tool");
    expect(app.github.violations).toEqual([]);
  });
});

describe.concurrent("results of a workflow that the base's configuration names", patient, () => {
  it("Results are in the review, without the tool's words, and never change the check", async () => {
    const pull = opened();
    uploaded(run(pull), report("no-b"));
    const shown = await reviewed(pull);
    expect(shown).toContain("lint reports no-b");
    expect(shown).not.toContain("canary-of-the-tool");
    expect(pull.check()?.conclusion).toBe("neutral");
    expect(asked(pull)).toEqual(["workflows/lint.yml/runs", "runs/ID/artifacts", "artifacts/ID/zip"]);
    expect(tokens(pull)).toBe(1);
    const last = store.requests.map(({ headers }) => headers.authorization);
    expect(last.filter((one) => one !== undefined)).toEqual([]);
    expect(shared.app.server.log()).not.toContain("canary-of-the-address");
  });

  it("Results are waited for once, without a worker, and the check run shows that the review has begun", async () => {
    const pull = opened({ config: names(5) });
    const waiting = run(pull, { status: "in_progress" });
    await pull.deliver("opened");
    await shared.app.github.until(() => asked(pull).length > 0);
    await shared.app.github.until(() => pull.check() !== undefined);
    expect(pull.check()?.status).toBe("in_progress");
    uploaded(waiting, report("late"));
    Object.assign(waiting, { status: "completed", conclusion: "success" });
    await pull.concluded();
    await pull.of.idle();
    expect(pull.summary()).toContain("lint reports late");
    expect(pull.end().checks).toHaveLength(1);
  });

  it("Results are not waited for beyond the configured time, and the review says what it lacks", async () => {
    const pull = opened();
    const late = run(pull, { status: "in_progress" });
    expect(await reviewed(pull)).toContain(
      "The review has no results of the workflow lint.yml: it has not ended yet",
    );
    uploaded(late, report("later-rule"));
    Object.assign(late, { status: "completed", conclusion: "success" });
    await pull.command("octocat", "/review full");
    await shared.app.github.until(() => pull.summary().includes("later-rule"), 60_000);
    expect(pull.summary()).not.toContain("has no results");
  });

  it("Results are not asked for without the permission, which the review names", async () => {
    const pull = opened({ permissions: manifestPermissions });
    uploaded(run(pull), report("no-b"));
    const shown = await reviewed(pull);
    expect(shown).toContain("Actions: Read-only");
    expect(shown).not.toContain("no-b");
    expect(asked(pull)).toEqual([]);
  });

  it("Results are not asked for without configuration, whatever the pull request's own file names", async () => {
    const base = { "a.js": "const a = 1;\n" };
    const pull = shared
      .addRepository(base, granted)
      .open({ "a.js": "const a = 1;\nconst b = 2;\n", ".github/hunkwise.yml": names(0) });
    uploaded(run(pull), report("no-b"));
    expect(await reviewed(pull)).not.toContain("no-b");
    expect(asked(pull)).toEqual([]);
    expect(tokens(pull)).toBe(0);
  });

  it.each([
    ["another commit", { headSha: "0".repeat(40) }, "it has not run for this commit"],
    ["another workflow", { workflow: "other.yml" }, "it has not run for this commit"],
    ["another event", { event: "workflow_dispatch" }, "it has not run for this commit"],
  ])("Results of %s are not used", async (_, over, why) => {
    const pull = opened();
    uploaded(run(pull, over), report("no-b"));
    const shown = await reviewed(pull);
    expect(shown).toContain(why);
    expect(shown).not.toContain("no-b");
    expect(asked(pull)).toEqual(["workflows/lint.yml/runs"]);
  });

  it("Results are those of the newest run", async () => {
    const pull = opened();
    uploaded(run(pull), report("old-rule"));
    uploaded(run(pull), report("new-rule"));
    const shown = await reviewed(pull);
    expect(shown).toContain("new-rule");
    expect(shown).not.toContain("old-rule");
  });

  it.each([
    ["another host", (port: number) => `http://localhost:${port}/0?sig=canary-of-the-address`],
    ["a file of this machine", () => "file:///etc/passwd"],
    ["a host that only ends like GitHub's", () => "https://evilblob.core.windows.net.example.org/0"],
    ["a place with a password", (port: number) => `http://me:pass@127.0.0.1:${port}/0`],
  ])("Results are never fetched from %s", async (_, place) => {
    const pull = opened();
    uploaded(run(pull), report("no-b"), place(store.port));
    const before = store.requests.filter(({ path }) => path.startsWith("/0")).length;
    const shown = await reviewed(pull);
    expect(shown).toContain("where nothing is fetched from");
    expect(shown).not.toContain("no-b");
    expect(store.requests.filter(({ path }) => path.startsWith("/0")).length).toBeLessThanOrEqual(before + 1);
  });

  it("Results are left out if the artifact is a bomb, too large, or gone, and the review goes on", async () => {
    const bomb = opened();
    uploaded(run(bomb), zip([{ name: "a.sarif", text: Buffer.alloc(100_000_000, " ") }]));
    expect(await reviewed(bomb)).toContain("its files have more than 20 MB when unpacked");

    const large = opened();
    uploaded(run(large), Buffer.alloc(11_000_000, "x"));
    expect(await reviewed(large)).toContain("answered with more than 10 MB");

    const gone = opened();
    run(gone);
    expect(await reviewed(gone)).toContain("it ended (success) without the artifact");
  });
});
