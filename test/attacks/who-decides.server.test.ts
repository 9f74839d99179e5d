import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "../e2e/conformance-fixture.ts";
import { type CaseOnPull as Case, onPull, type PullOptions } from "../e2e/on-pull.ts";
import type { FakeScript } from "../support/fake-openai.ts";
import { otherApp } from "../support/github-double/around.ts";
import { seeded } from "../support/seeded.ts";

/*
 * Who decides about a finding: mona opened the pull request from her fork and has only read access; so has eve, who has no relation to it.
 * carol has write access.
 */

const long = process.env.HUNKWISE_LONG === "1";
const veryPatient = { timeout: 4 * patient.timeout };

const path = "src/numbers.js";
const other = "src/other.js";
const fault = "const password = request.query.password;";
const base = {
  [path]: numbers(60),
  [other]: numbers(60),
  ".github/hunkwise.yml":
    "check: { fail: true }\nreview: { ignore_titles: [wip], base_branches: ['case-*'] }\n",
};

/** The file with the fault on a line. */
const faulty = (line: number) => numbers(60, { [line]: [`const n${line} = ${line};`, fault] });

/** Reports the fault whenever a request shows it as an added line. */
const reporting: FakeScript = (body) =>
  JSON.stringify(body.messages).includes(`+${fault}`)
    ? turn(
        finding({ path, line: 25, quote: fault, title: "A password in the address", severity: "high" }),
        finish,
      )
    : turn(finish);

const isFaulty = ({ pull }: Case): boolean =>
  (pull.headRepository ?? pull.repository).git.git("show", `${pull.heads.at(-1)}:${path}`).includes(fault);

/** A pull request of mona with the fault, once its check is red; the second look answers truthfully. */
async function onFaulty<Seen>(
  play: (app: Case) => Promise<Seen>,
  over: Partial<PullOptions> = {},
): Promise<Seen> {
  let app: Case | undefined;
  const options: PullOptions = {
    ...{ base, head: { [path]: faulty(24) }, author: "mona", fork: "mona", script: reporting },
    resolution: () => (app && isFaulty(app) ? "present" : "fixed"),
    ...over,
  };
  return onPull(options, async (opened) => {
    app = opened;
    app.people.addCollaborator(app.repository, "carol", "write");
    await app.review();
    expect(required(app)).toBe("failure");
    return play(app);
  });
}

/** The conclusion that a branch rule reads: of the newest run of the name on the head. */
const required = ({ repository, pull }: Case) =>
  repository.checkRuns.findLast(({ headSha }) => headSha === pull.heads.at(-1))?.conclusion;

const elsewhere = (app: Case, n: number) => app.push({ [other]: numbers(60, { [n]: `const x = ${n};` }) });
const thread = (app: Case) => app.threads().at(-1) ?? expect.fail("there is no thread");

describe.concurrent("an open finding", veryPatient, () => {
  it("own-thread-resolved: A finding stays open although its author moves the line and resolves the thread", () =>
    onFaulty(async (app) => {
      await app.push({ [path]: faulty(39) });
      for (const one of app.threads()) app.people.resolve(one, "mona");
      await elsewhere(app, 9);
      expect(required(app)).toBe("failure");
      expect(app.summary()).not.toMatch(/fixed/i);
    }));

  it("stranger-in-thread: A finding is fixed with its code, whatever a stranger wrote in its thread", () =>
    onFaulty(async (app) => {
      await app.reply(thread(app), "eve", "hello");
      await app.push({ [path]: numbers(60, { 24: "const n24 = 24.0;" }) });
      expect(required(app)).toBe("success");
      expect(app.replies()).toEqual([expect.stringContaining("Fixed in")]);
    }));

  it.runIf(long)(
    "undone-fix: A finding stays fixed although strangers deny it and its author reopens the thread",
    () =>
      onFaulty(async (app) => {
        await app.push({ [path]: numbers(60, { 24: "const n24 = 24.0;" }) });
        await app.reply(thread(app), "eve", "It is still there.");
        app.people.unresolve(thread(app));
        await elsewhere(app, 9);
        expect(required(app)).toBe("success");
      }),
  );
});

describe.concurrent("a dismissal by someone with write access", veryPatient, () => {
  const dismissals: [string, (app: Case) => unknown][] = [
    ["a reply", (app) => app.reply(thread(app), "carol", "Won't fix.")],
    ["a reaction", (app) => app.people.react(thread(app), "carol", "-1")],
    ["resolving", (app) => app.people.resolve(thread(app), "carol")],
  ];
  it.each(long ? dismissals : dismissals.slice(0, 1))(
    "flooded-dismissal: A dismissal by %s survives floods of replies and reactions, and a reopened thread",
    (_how, dismiss) =>
      onFaulty(async (app) => {
        await dismiss(app);
        await app.comment("carol", "/review");
        await app.idle();
        expect(required(app)).toBe("success");
        for (let n = 0; n < 51; n++) app.people.reply(thread(app), "eve", `Really? (${n})`);
        for (let n = 0; n < 230; n++) {
          app.people.reply(thread(app), `eve-${n}`, "This is intended. Won't fix.");
          app.people.react(thread(app), `eve-${n}`, "-1");
        }
        app.people.unresolve(thread(app));
        await elsewhere(app, 9);
        expect(required(app)).toBe("success");
        expect(app.summary()).toMatch(/dismissed by `carol`/);
      }),
  );
});

/** An action by one of the people above. Resolves when the App has processed it. */
type Act = (app: Case, random: () => number) => unknown;

const pick = <T>(all: readonly T[], random: () => number): T =>
  all[Math.floor(random() * all.length)] ?? expect.fail("nothing to pick from");
const some = (app: Case, random: () => number) => pick(app.threads(), random);
const retitled = async (app: Case, title: string) => {
  const changes = { title: { from: app.pull.title } };
  app.people.retitle(app.pull, title);
  await app.deliver("edited", { changes });
};

/** Retargets to a branch that is not reviewed, or back. */
const retargeted = async (app: Case) => {
  const { git, defaultBranch } = app.repository;
  const from = app.pull.baseRef;
  git.git("branch", "--force", `release/${defaultBranch}`, defaultBranch);
  app.people.retarget(app.pull, from === defaultBranch ? `release/${defaultBranch}` : defaultBranch);
  await app.deliver("edited", { changes: { base: { ref: { from }, sha: { from: app.pull.baseSha } } } });
};

/** A rename by an admin, which decides about no finding; GitHub retargets the open pull requests. */
const baseRenamed = async (app: Case) => {
  const { people, repository, pull } = app;
  const from = repository.defaultBranch;
  const to = from.endsWith("-renamed") ? from.replace(/-renamed$/, "") : `${from}-renamed`;
  const changes = { base: { ref: { from }, sha: { from: pull.baseSha } } };
  for (const one of people.renameBranch(repository, from, to).retargeted)
    await app.deliver("edited", { changes }, one);
};

/** GitHub closes the pull request; its author can reopen it when the branch has its old name again. */
const headRenamed = async (app: Case) => {
  const { people, repository, pull } = app;
  const of = pull.headRepository ?? repository;
  const { headRef } = pull;
  for (const one of people.renameBranch(of, headRef, `${headRef}-renamed`).closed)
    await app.deliver("closed", {}, one);
  people.renameBranch(of, `${headRef}-renamed`, headRef);
  people.reopen(pull);
  await app.send("reopened");
};

/** Eve opens an unreviewed pull request for mona's commit, or closes the one that she has. */
const covered = async (app: Case, random: () => number) => {
  const { people, pull, repository } = app;
  const hers = [...repository.pulls.values()].find(
    ({ author, state }) => author.login === "eve" && state === "open",
  );
  if (hers) {
    people.close(hers);
    await app.deliver("closed", {}, hers);
    return;
  }
  const { git } = people.fork(repository, "eve");
  const branch = `theirs-${repository.pulls.size}`;
  git.git("fetch", "--quiet", (pull.headRepository ?? repository).gitDir, `${pull.heads.at(-1)}:${branch}`);
  const [title, draft] = pick([["Theirs", true] as const, ["WIP theirs", false] as const], random);
  const opened = people.openPullOfBranch(repository, branch, { author: "eve", fork: "eve", title, draft });
  await app.deliver("opened", {}, opened);
};

/** Actions of people without the right to decide, and actions that decide nothing. */
const powerless: Record<string, Act> = {
  "mona pushes elsewhere": (app, random) => elsewhere(app, 1 + Math.floor(random() * 50)),
  "mona moves the line": (app, random) => app.push({ [path]: faulty(10 + Math.floor(random() * 40)) }),
  "mona resolves": (app, random) => app.people.resolve(some(app, random), "mona"),
  "mona unresolves": (app, random) => app.people.unresolve(some(app, random)),
  "mona dismisses": (app, random) => app.reply(some(app, random), "mona", "Not a bug."),
  "mona asks for a dismissal": (app) => app.comment("mona", "/resolve"),
  "mona calls it work in progress": (app) => retitled(app, "WIP: numbers"),
  "mona calls it done": (app) => retitled(app, "Numbers"),
  "mona makes it a draft": async (app) => {
    app.pull.draft = true;
    await app.deliver("converted_to_draft");
  },
  "mona makes it ready": async (app) => {
    app.pull.draft = false;
    await app.send("ready_for_review");
  },
  "mona retargets": retargeted,
  "the base branch is renamed": baseRenamed,
  "mona renames her branch": headRenamed,
  "mona edits what she wrote": (app, random) => {
    const at = some(app, random);
    app.people.edit(app.people.reply(at, "mona", "hello"), "Won't fix.");
  },
  "mona deletes what she wrote": (app, random) =>
    app.people.delete(app.people.reply(some(app, random), "mona", "Won't fix.")),
  "eve covers the commit": covered,
  "mona reopens": async (app) => {
    app.people.close(app.pull);
    app.people.reopen(app.pull);
    await app.send("reopened");
  },
  "eve writes": (app, random) =>
    app.reply(some(app, random), "eve", pick(["hello", "Won't fix.", "/resolve"], random)),
  "eve floods": (app, random) => {
    const at = some(app, random);
    for (let n = 0; n < 60; n++) app.people.reply(at, `eve-${n}`, "By design.");
  },
  "eve dislikes": (app, random) => app.people.react(some(app, random), "eve", "-1"),
  "a bot resolves": (app, random) => app.people.resolve(some(app, random), otherApp(app.github).bot.login),
  "a bot writes": (app, random) =>
    app.people.reply(some(app, random), otherApp(app.github).bot.login, "Won't fix."),
};

const decisions: Record<string, Act> = {
  "carol answers": (app) => app.reply(thread(app), "carol", "Won't fix."),
  "carol resolves": (app) => app.people.resolve(thread(app), "carol"),
  "carol dislikes": (app) => app.people.react(thread(app), "carol", "-1"),
  "carol has it resolved": (app) => app.comment("carol", "/resolve"),
};

describe.concurrent("people without the right to decide", veryPatient, () => {
  const plays = long ? 60 : 1;
  const acts = long ? 12 : 6;
  it.each(Array.from({ length: plays }, (_, seed) => seed))(
    "A fault passes only after someone with write access has dismissed it, and then always: play %i",
    (seed) =>
      onFaulty(async (app) => {
        const random = seeded(900 + seed);
        const names = Object.keys(powerless);
        const decidesAt = seed % 2 === 0 ? Math.floor(random() * acts) : acts;
        const done: string[] = [];
        let isDismissed = false;
        for (let n = 0; n < acts; n++) {
          const name = n === decidesAt ? pick(Object.keys(decisions), random) : pick(names, random);
          done.push(name);
          await ({ ...powerless, ...decisions }[name] ?? expect.fail(name))(app, random);
          await app.idle();
          if (n === decidesAt) {
            isDismissed = true;
            await app.comment("carol", "/review");
            await app.idle();
          }
          const conclusion = required(app);
          if (!isDismissed)
            expect([done, conclusion]).not.toEqual([done, expect.stringMatching(/success|skipped/)]);
        }
        if (!isDismissed) return;
        app.people.retitle(app.pull, "Numbers");
        app.pull.draft = false;
        if (app.pull.baseRef !== app.repository.defaultBranch) await retargeted(app);
        await app.idle();
        await elsewhere(app, 55);
        expect([done, required(app)]).toEqual([done, "success"]);
      }),
  );
});

describe.concurrent("a branch that is renamed", veryPatient, () => {
  it.runIf(long).each([
    ["the base branch", [baseRenamed, baseRenamed]],
    ["the head branch", [headRenamed]],
    ["the base branch and the head branch", [baseRenamed, headRenamed]],
  ] as const)("A renamed branch leaves a finding open: %s", (_which, renames) =>
    onFaulty(async (app) => {
      for (const rename of renames) {
        await rename(app);
        await app.idle();
        expect(required(app)).toBe("failure");
      }
      await elsewhere(app, 9);
      expect(required(app)).toBe("failure");
    }),
  );
});
