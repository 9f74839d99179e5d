import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import type { MintToken } from "../../../src/server/jobs/github-access.ts";
import { createGitHubAccess } from "../../../src/server/jobs/github-access.ts";
import { failure } from "../../support/failure.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import type { Permissions, Repository } from "../../support/github-double/model.ts";
import { fullName } from "../../support/github-double/model.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";

const writing: Permissions = { contents: "write", pull_requests: "write", checks: "write" };
const reading: Permissions = { contents: "read", pull_requests: "write", checks: "write" };

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
});
afterAll(async () => {
  const { github } = scenario;
  await github.close();
  expect(github.violations).toEqual([]);
});

/** An installation of the App on one repository, as jobs see it; and each token that was minted, by what it reaches. */
function installed(name: string, permissions: Permissions, files = { "a.txt": "a\n" }) {
  const { people, github, app } = scenario;
  const repository = people.createRepository(name, files);
  const installation = github.state.install(app, [repository], permissions);
  const minted: string[] = [];
  const clock = fakeClock();
  /** As GitHub mints: for repositories of the installation, with permissions that it has. */
  const mintToken: MintToken = async (_id, { repositoryIds, repositoryNames, permissions: asked }) => {
    const has = ({ id, name: known }: Repository) =>
      repositoryIds?.includes(id) ?? repositoryNames?.includes(known);
    const reached = installation.repositories.filter(has);
    const grants = Object.entries(asked ?? {}).every(([key, access]) => {
      const granted = installation.permissions[key];
      return granted === "write" || granted === access;
    });
    minted.push(
      `${repositoryNames ?? "repository"}: ${Object.entries(asked ?? {})
        .flat()
        .join(" ")}`,
    );
    if (reached.length === 0 || !grants) throw new AppError("github_invalid", "Not granted");
    return github.state.issueToken(installation, { repositories: reached, permissions: asked ?? permissions })
      .value;
  };
  const access = createGitHubAccess({
    ...{
      apiUrl: github.apiUrl,
      userAgent: "test",
      mintToken,
      now: clock.now,
      rateLimiter: createRateLimiter({ gapMs: 0 }),
    },
    granted: async () => installation.permissions,
    identity: async () => ({ id: app.id, slug: app.slug }),
  }).openJob();
  const [owner = "", short = ""] = fullName(repository).split("/");
  const ref = { installation: installation.id, id: repository.id, owner, name: short };
  return { repository, installation, access, minted, clock, ref, signal: new AbortController().signal };
}

const writingToken = "repository: contents write pull_requests write";
const mintedForWriting = (minted: string[]) => minted.filter((one) => one === writingToken).length;

describe("resolving a thread", () => {
  async function withThread(name: string, permissions: Permissions) {
    const all = installed(name, permissions);
    const { people, app } = scenario;
    const commits = [{ files: { "a.txt": "b\n" } }];
    const pull = people.openPull(all.repository, { title: "T", author: "octocat", commits });
    const at = { path: "a.txt", line: 1, body: "x" };
    const comment = Object.assign(await people.reviewComment(pull, app.bot.login, at), { via: app });
    const api = await all.access.pull(all.ref, pull.number, all.signal);
    const [thread] = await api.ownThreads();
    return { ...all, api, comment, id: thread?.id ?? "" };
  }

  it("Resolving a thread is done with a token of its own, which is minted when it is first needed", async () => {
    const { api, comment, id, minted } = await withThread("octo-org/granted", writing);
    expect(mintedForWriting(minted)).toBe(0);

    await api.resolveThread(id);

    expect(comment.resolvedBy).toBe(scenario.app.bot);
    expect(mintedForWriting(minted)).toBe(1);
    expect((await api.ownThreads())[0]).toMatchObject({ resolved: true, resolvedBy: { kind: "us" } });
  });

  it("Resolving a thread names the missing permission, and asks GitHub again after an hour", async () => {
    const { api, comment, id, minted, clock, installation } = await withThread("octo-org/refused", reading);
    const refused = {
      code: "github_forbidden",
      remedy: expect.stringContaining('"Contents: Read and write"'),
    };

    expect(await failure(api.resolveThread(id))).toMatchObject(refused);
    installation.permissions = writing;
    clock.pass(3_599_999);
    expect(await failure(api.resolveThread(id))).toMatchObject(refused);
    expect(mintedForWriting(minted)).toBe(1);

    clock.pass(1);
    await api.resolveThread(id);
    expect(comment.resolvedBy).toBe(scenario.app.bot);
  });
});

describe("proposing a file", () => {
  const proposal = {
    ...{ branch: "hunkwise/remember-7", base: "main", path: ".github/hunkwise.yml", text: "größe: 1\n" },
    ...{ title: publicText("Remember a rule"), body: publicText("Asked for in a comment") },
  };

  it("Proposing a file makes a branch, a commit and a pull request", async () => {
    const { access, ref, signal, repository } = installed("octo-org/proposing", writing);
    const before = repository.git.sha("main");

    const page = await (await access.writer(ref, signal)).propose(proposal);

    const [pull] = repository.pulls.values();
    expect(page).toBe(`${scenario.github.url}/octo-org/proposing/pull/1`);
    expect(pull).toMatchObject({ title: "Remember a rule", baseRef: "main", author: scenario.app.bot });
    expect(repository.git.git("show", `${proposal.branch}:${proposal.path}`)).toBe("größe: 1");
    expect(repository.git.sha(`${proposal.branch}^`)).toBe(before);
    expect(repository.git.sha("main")).toBe(before);
  });

  it("Proposing a file replaces the existing file and touches no other", async () => {
    const files = { "a.txt": "a\n", ".github/hunkwise.yml": "old: 1\n" };
    const { access, ref, signal, repository } = installed("octo-org/replacing", writing, files);
    await (await access.writer(ref, signal)).propose(proposal);
    const changed = repository.git.git("diff", "--name-only", "main", proposal.branch);
    expect(changed).toBe(proposal.path);
  });

  it.each([
    ["the branch", /POST .*\/git\/refs$/],
    ["the commit", /PUT .*\/contents\//],
    ["the pull request", /POST .*\/pulls$/],
  ])("Proposing a file goes on where it ended when the answer about %s was lost", async (what, match) => {
    const name = `octo-org/lost-${what.split(" ").at(-1)}`;
    const { access, ref, signal, repository } = installed(name, writing);
    const writer = await access.writer(ref, signal);
    scenario.github.faults.add({ match, kind: "reset-after" });

    expect(await failure(writer.propose(proposal))).toMatchObject({ code: "github_failed", retryable: true });
    const page = await writer.propose(proposal);

    expect(page).toMatch(/\/pull\/1$/);
    expect(repository.pulls.size).toBe(1);
    expect(repository.git.git("rev-list", "--count", `main..${proposal.branch}`)).toBe("1");
  });

  it("Proposing a file is not done again once somebody closed it", async () => {
    const { access, ref, signal, repository } = installed("octo-org/closing", writing);
    const writer = await access.writer(ref, signal);
    const page = await writer.propose(proposal);
    for (const pull of repository.pulls.values()) scenario.people.close(pull);

    expect(await writer.propose({ ...proposal, text: "other: 2\n" })).toBe(page);
    expect(repository.pulls.size).toBe(1);
  });

  it("Proposing a file without the permission changes nothing", async () => {
    const { access, ref, signal, repository } = installed("octo-org/reading", reading);
    const writer = await access.writer(ref, signal);

    expect(await failure(writer.propose(proposal))).toMatchObject({
      code: "github_forbidden",
      remedy: expect.stringContaining('"Contents: Read and write"'),
    });
    expect(repository.git.git("branch", "--list")).toBe("* main");
  });

  it("Proposing a file onto a branch that is not there fails", async () => {
    const { access, ref, signal } = installed("octo-org/baseless", writing);
    const writer = await access.writer(ref, signal);
    expect(await failure(writer.propose({ ...proposal, base: "gone" }))).toMatchObject({
      code: "github_not_found",
    });
  });
});

describe("the organization's repository", () => {
  const path = "hunkwise.yml";
  const forAll = (owner: string, isPrivate: boolean) =>
    scenario.people.createRepository(`${owner}/.github`, { [path]: "of: all\n" }, { private: isPrivate });

  it("The organization's repository is read with a token for that repository alone", async () => {
    const { access, ref, signal, installation, minted } = installed("acme/shop", reading);
    installation.repositories.push(forAll("acme", true));

    const read = await access.organization(ref, signal);

    expect(await read(path)).toBe("of: all\n");
    expect(await read("none.yml")).toBeUndefined();
    expect(new Set(minted)).toEqual(new Set([".github: contents read"]));
  });

  it("The organization's public repository is read although the App is not installed there", async () => {
    const { access, ref, signal } = installed("public-acme/shop", reading);
    forAll("public-acme", false);
    expect(await (await access.organization(ref, signal))(path)).toBe("of: all\n");
  });

  it("The organization's repository has no file if it is private without the App, or missing", async () => {
    const closed = installed("closed-acme/shop", reading);
    forAll("closed-acme", true);
    expect(await (await closed.access.organization(closed.ref, closed.signal))(path)).toBeUndefined();
    const none = installed("empty-acme/shop", reading);
    expect(await (await none.access.organization(none.ref, none.signal))(path)).toBeUndefined();
  });
});
