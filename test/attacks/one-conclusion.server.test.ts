import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "../e2e/conformance-fixture.ts";
import { type PullOfCase, type RepositoryOfCase, type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { checkRunPayload } from "../support/github-double/payloads.ts";
import { sharedPostgres } from "../support/postgres.ts";

/*
 * GitHub shows only the newest check of a name for a commit, regardless of its pull request. mona's change has a fault, and her check is
 * required. eve opens another pull request for the same commit.
 */

const path = "src/numbers.js";
const fault = "const n20 = 0;";
const config = [
  "check: { fail: true }",
  "review: { base_branches: [main, release], ignore_titles: [wip] }",
  "",
].join("\n");

let shared: SharedApp;
/** Reviews of pull requests with this title wait for the promise. */
let held: { title: string; until: Promise<void> } | null = null;

/** A repository with the branches main, release and docs; docs is not reviewed. */
function repositoryOf(yaml = config): RepositoryOfCase {
  const of = shared.addRepository({ [path]: numbers(60), ".github/hunkwise.yml": yaml });
  for (const branch of ["release", "docs"]) of.repository.git.git("branch", branch, "main");
  return of;
}

const faulty = { [path]: numbers(60, { 20: fault }) };

/** The check run that a branch rule reads: the newest of a commit. */
const required = ({ of, pull }: PullOfCase) =>
  of.repository.checkRuns.findLast(({ headSha }) => headSha === pull.heads.at(-1));

async function red(of: RepositoryOfCase, title = "Numbers") {
  const pull = of.open(faulty, { author: "mona", title });
  await pull.deliver("opened");
  await pull.concluded("failure");
  await of.idle();
  return pull;
}

/** Opens another pull request for the same branch. */
async function another(pull: PullOfCase, base: string, over: { title?: string; draft?: boolean }) {
  const other = pull.of.openBranch(pull.pull.headRef, { author: "eve", ...over });
  shared.app.people.retarget(other.pull, base);
  await other.deliver("opened");
  await pull.of.idle();
  return other;
}

async function retarget(pull: PullOfCase, base: string) {
  const from = pull.pull.baseRef;
  shared.app.people.retarget(pull.pull, base);
  await pull.deliver("edited", { changes: { base: { ref: { from }, sha: { from: "0".repeat(40) } } } });
  await pull.of.idle();
}

const long = process.env.HUNKWISE_LONG === "1";

type Environment = () => Promise<Record<string, string>>;
/** The queue determines which worker writes a check, and in which order. */
const databases: [name: string, environment: Environment][] = [
  ["SQLite", async () => ({})],
  ["Postgres", async () => ({ DATABASE_URL: await (await sharedPostgres()).createDatabase() })],
];

describe.each(long ? databases : databases.slice(0, 1))("with jobs in %s", (_, environment) => {
  beforeAll(async () => {
    const reporting = withAgreeingSceptic(() =>
      turn(finding({ path, line: 20, quote: fault, severity: "high", title: "It is no number" }), finish),
    );
    shared = await startSharedApp({
      env: await environment(),
      everyRole: async (body) => {
        const text = JSON.stringify(body.messages);
        if (held && text.includes(held.title)) await held.until;
        return text.includes(`+${fault}`) ? reporting.script(body) : turn(finish);
      },
    });
  });
  afterAll(async () => {
    const { github, model } = shared.app;
    await shared[Symbol.asyncDispose]();
    expect(github.violations).toEqual([]);
    expect(model?.complaints).toEqual([]);
  });

  describe.concurrent("a red check", patient, () => {
    const covers: [string, { title: string; draft?: boolean }, string][] = [
      ["by a draft of the same commit", { title: "Theirs", draft: true }, "release"],
      ["by one for a branch that is not reviewed", { title: "Theirs" }, "docs"],
      ["by one whose title says so", { title: "WIP theirs" }, "release"],
    ];
    it.each(long ? covers : covers.slice(0, 1))(
      "covered-check: A red check is not covered %s",
      async (_, over, base) => {
        const pull = await red(repositoryOf());
        const other = await another(pull, base, over);

        expect(required(pull)).toMatchObject({ conclusion: "failure" });
        expect(required(pull)?.output.title).toContain(`#${pull.pull.number} has the same commit`);

        shared.app.people.close(pull.pull);
        await pull.deliver("closed");
        await pull.of.idle();
        expect(required(other)).toMatchObject({ conclusion: "skipped" });
      },
    );

    it("retargeted: A red check stays red for a branch that is not reviewed, and on the way back", async () => {
      const pull = await red(repositoryOf());
      for (const base of ["docs", "main"]) {
        await retarget(pull, base);
        expect({ base, conclusion: required(pull)?.conclusion }).toEqual({ base, conclusion: "failure" });
      }
    });

    it.each(long ? ["a command", "the event"] : ["a command"])(
      "rerun-elsewhere: A red check of %s stays red, although a writer re-runs it for a branch without rules",
      async (cause) => {
        const of = repositoryOf();
        const { git } = of.repository;
        git.git("branch", "lax", "main");
        git.importCommits([
          {
            branch: "lax",
            message: "Ask less",
            files: [[".github/hunkwise.yml", "paths: { ignore: ['**'] }\n"]],
          },
        ]);
        const pull = await red(of);
        if (cause === "a command") {
          await pull.command("octocat", "/review full");
          await of.idle();
        }
        const run = required(pull) ?? expect.fail("there is no check");
        await retarget(pull, "lax");
        const by = shared.app.github.state.account("octocat");
        for (const one of of.repository.checkRuns.slice())
          await of.deliver("check_run", checkRunPayload(shared.app.github.state, one, "rerequested", by));
        await of.idle();
        await retarget(pull, "main");
        expect(run.externalId).toContain(cause === "a command" ? ":comment:" : ":event#");
        expect(required(pull)).toMatchObject({ conclusion: "failure" });
      },
    );

    it.runIf(long)("A red check stays red on a new head that is a draft, with the fault in it", async () => {
      const pull = await red(repositoryOf());
      shared.app.people.push(pull.pull, { "src/other.js": "1;\n" });
      pull.pull.draft = true;
      await pull.deliver("synchronize");
      await pull.of.idle();
      expect(required(pull)).toMatchObject({ conclusion: "failure" });
      expect(required(pull)?.output.summary).toContain("Open from earlier reviews: 1 high");
    });

    it.runIf(long)(
      "A red check disappears with its pull request when a push leaves the commit to another one",
      async () => {
        const pull = await red(repositoryOf());
        const branch = pull.of.repository.git.sha(pull.pull.headRef);
        pull.of.repository.git.git("branch", "kept", branch);
        const other = pull.of.openBranch("kept", { author: "eve", draft: true, title: "Theirs" });
        await other.deliver("opened");
        await pull.of.idle();
        expect(required(other)).toMatchObject({ conclusion: "failure" });

        shared.app.people.push(pull.pull, { [path]: numbers(60, { 21: "const n21 = 21.0;" }) });
        await pull.deliver("synchronize");
        await pull.concluded();
        await pull.of.idle();
        expect(required(other)).toMatchObject({ conclusion: "skipped" });
      },
    );
  });

  describe("a commit that is being reviewed", patient, () => {
    it("unread-commit: A commit under review is not passed by another pull request that is skipped", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = { title: "Held numbers", until: promise };
      const of = repositoryOf();
      const pull = of.open(faulty, { author: "mona", title: "Held numbers" });
      await pull.deliver("opened");
      await shared.app.github.until(() => required(pull)?.status === "in_progress");
      const other = of.openBranch(pull.pull.headRef, { author: "eve", draft: true, title: "Theirs" });
      shared.app.people.retarget(other.pull, "release");
      await other.deliver("opened");
      await shared.app.github.until(() => of.repository.checkRuns.length === 2);
      expect(required(pull)).toMatchObject({ status: "in_progress" });

      resolve();
      await pull.concluded("failure");
      await of.idle();
      expect(required(pull)).toMatchObject({ conclusion: "failure" });
    });
  });

  describe("a pull request of an ignored bot", patient, () => {
    it("pushed-to-ignored: A bot's pull request is reviewed once someone else pushes to its branch, and from then on", async () => {
      const bot = "renovate[bot]";
      shared.app.github.state.account(bot, "Bot");
      const of = repositoryOf(`check: { fail: true }\nreview: { ignore_authors: ["${bot}"] }\n`);
      const pull = of.open({ "src/other.js": "1;\n" }, { author: bot, title: "Update zod" });
      await pull.deliver("opened");
      await pull.concluded();
      expect(required(pull)).toMatchObject({ conclusion: "skipped" });

      // mona's commit is unread when the bot's own push arrives, because its event is newer.
      shared.app.people.push(pull.pull, faulty, "Fix numbers", "mona");
      shared.app.people.push(pull.pull, { "src/other.js": "2;\n" });
      await pull.deliver("synchronize");
      await pull.concluded("failure");
      await of.idle();
      expect(required(pull)).toMatchObject({ conclusion: "failure" });
    });
  });

  describe("a limit that is reached", patient, () => {
    it.each([
      ["is red where findings are", "check: { fail: true }\n", "failure"],
      ["is what the configuration says", "check: { fail: true, limit: neutral }\n", "neutral"],
    ])("limit-reached: The check of an unread head %s", async (_, yaml, conclusion) => {
      // Not enough for one request.
      const of = repositoryOf(`${yaml}budget: { day: { tokens: 1000 } }\n`);
      const harmless = { [path]: numbers(60, { 21: "const n21 = 21.0;" }) };
      const pull = of.open(harmless, { author: "mona", title: "Numbers" });
      await pull.deliver("opened");
      await pull.concluded();
      await of.idle();
      expect(required(pull)).toMatchObject({ conclusion });
      expect(required(pull)?.output.summary).toContain(
        "no model read this change because the token limit was reached",
      );
    });
  });
});
