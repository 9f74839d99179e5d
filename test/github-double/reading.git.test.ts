import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
const root = "/repos/octo-org/shop";

beforeAll(async () => {
  scenario = await createScenario({
    base: { ".github/hunkwise.yml": "checks: {}\n", "name with space.txt": "é\n", "old.txt": "1\n2\n3\n4\n" },
    head: [
      { message: "First", files: { "new.txt": "1\n2\n3\n4\n", "old.txt": null } },
      { message: "Second\n\nWhy.", files: { "name with space.txt": "ü\n", "b.bin": Buffer.from([0, 1]) } },
    ],
    fork: "contributor",
    author: "contributor",
    labels: ["wip"],
    now: () => new Date("2026-02-03T04:05:06Z"),
  });
  call = clientOf(scenario.github, scenario.installation);
});
afterAll(() => scenario.github.close());

describe("a pull request", () => {
  it("of a fork shows both repositories, and its numbers come from git", async () => {
    const { body } = await call(`GET ${root}/pulls/1`);
    expect(body).toMatchObject({
      number: 1,
      state: "open",
      draft: false,
      labels: [{ name: "wip" }],
      commits: 2,
      changed_files: 3,
      created_at: "2026-02-03T04:05:06Z",
      user: { login: "contributor" },
      head: { sha: headOf(scenario.pull), label: "contributor:change-1", repo: { fork: true } },
      base: { ref: "main", repo: { full_name: "octo-org/shop", fork: false } },
    });
  });

  it("lists its files with patches, renames found", async () => {
    const { body } = await call(`GET ${root}/pulls/1/files`);
    expect(body).toMatchObject([
      { filename: "b.bin", status: "added", additions: 0 },
      { filename: "name with space.txt", status: "modified", patch: "@@ -1 +1 @@\n-é\n+ü" },
      { filename: "new.txt", previous_filename: "old.txt", status: "renamed", changes: 0 },
    ]);
    expect(body[0].patch).toBeUndefined();
    expect(body[0].sha).toBe(scenario.repository.git.git("rev-parse", `${headOf(scenario.pull)}:b.bin`));
  });

  it("names the base as it was when its head last moved, and is compared with the base of now", async () => {
    const { people, repository } = scenario;
    const before = repository.git.sha("main");
    const pull = people.openPull(repository, {
      title: "X",
      author: "octocat",
      commits: [{ files: { "x.txt": "x\n" } }],
    });
    people.pushToBase(repository, { "elsewhere.txt": "y\n" });
    expect((await call(`GET ${root}/pulls/${pull.number}`)).body).toMatchObject({
      base: { sha: before },
      changed_files: 1,
    });
    people.push(pull, { "x.txt": "xx\n" });
    const { body } = await call(`GET ${root}/pulls/${pull.number}`);
    expect(body).toMatchObject({ base: { sha: repository.git.sha("main") }, changed_files: 1, commits: 2 });
    people.close(pull);
  });

  it("outlives its fork", async () => {
    const other = scenario.people.openPull(scenario.repository, {
      title: "Other",
      author: "someone",
      fork: "someone",
      commits: [{ files: { "x.txt": "x\n" } }],
    });
    scenario.people.deleteFork(other);
    const { body } = await call(`GET ${root}/pulls/${other.number}`);
    expect(body.head).toMatchObject({ repo: null, sha: headOf(other) });
    scenario.people.close(other);
    expect((await call(`GET ${root}/pulls/${other.number}`)).body.state).toBe("closed");
    expect((await call(`GET ${root}/pulls`)).body).toHaveLength(1);
    expect((await call(`GET ${root}/pulls?state=all&head=contributor:change-1`)).body).toHaveLength(1);
  });
});

describe("a file", () => {
  it("is read at a ref, as base64 or raw", async () => {
    const { body } = await call(`GET ${root}/contents/.github/hunkwise.yml?ref=main`);
    expect(Buffer.from(body.content as string, "base64").toString()).toBe("checks: {}\n");
    const raw = await call(
      `GET ${root}/contents/name%20with%20space.txt?ref=${headOf(scenario.pull)}`,
      undefined,
      {
        accept: "application/vnd.github.raw+json",
      },
    );
    expect(raw.body).toBe("ü\n");
  });

  it("behind a link is that file, a link to elsewhere says where, a folder lists its entries", async () => {
    scenario.people.pushToBase(scenario.repository, {
      "docs/link": { mode: "120000", data: "../.github/hunkwise.yml" },
      "docs/out": { mode: "120000", data: "../../etc/passwd" },
      "docs/module": { mode: "160000", data: "1".repeat(40) },
      "docs/big.txt": "x".repeat(1024 * 1024 + 1),
    });
    const get = async (path: string) => (await call(`GET ${root}/contents/${path}`)).body;
    expect(await get("docs/link")).toMatchObject({
      type: "file",
      path: ".github/hunkwise.yml",
      encoding: "base64",
    });
    expect(await get("docs/out")).toMatchObject({ type: "symlink", target: "../../etc/passwd" });
    expect(await get("docs/module")).toMatchObject({ type: "submodule", sha: "1".repeat(40) });
    expect(await get("docs/big.txt")).toMatchObject({ encoding: "none", content: "", size: 1024 * 1024 + 1 });
    expect(
      (await get("docs")).map((one: { path: string; type: string }) => `${one.type} ${one.path}`),
    ).toEqual(["file docs/big.txt", "symlink docs/link", "submodule docs/module", "symlink docs/out"]);
  });

  it("and nothing else has another form than JSON", async () => {
    const accept = "application/vnd.github.diff";
    expect((await call(`GET ${root}/pulls/1`, undefined, { accept })).status).toBe(501);
    expect(scenario.github.violations.at(-1)?.kind).toBe("not-simulated");
  });

  it.each(["missing.yml", "missing.yml?ref=main", ".github/hunkwise.yml?ref=nowhere"])(
    "%s is not there",
    async (path) => {
      expect((await call(`GET ${root}/contents/${path}`)).status).toBe(404);
    },
  );
});

it("shows a commit with its message and files", async () => {
  const first = scenario.repository.git.git("rev-list", "--max-parents=0", "main");
  const { body } = await call(`GET ${root}/commits/${headOf(scenario.pull)}`);
  expect(body).toMatchObject({
    sha: headOf(scenario.pull),
    commit: { message: "Second\n\nWhy." },
    stats: { total: 2 },
  });
  expect((await call(`GET ${root}/commits/${first}`)).body.parents).toEqual([]);
  expect((await call(`GET ${root}/commits/nowhere`)).status).toBe(422);
});

it.each([
  ["octocat", "admin", "admin"],
  ["keeper", "maintain", "write"],
  ["sorter", "triage", "read"],
  ["stranger", undefined, "none"],
] as const)("knows what %s may do", async (login, role, permission) => {
  scenario.github.state.account(login);
  if (role) scenario.people.addCollaborator(scenario.repository, login, role);
  const { body } = await call(`GET ${root}/collaborators/${login}/permission`);
  expect(body).toMatchObject({ permission, user: { login } });
});

it("has no permission of bots and of nobody", async () => {
  for (const login of ["hunkwise[bot]", "nobody"]) {
    const { status, body } = await call(`GET ${root}/collaborators/${encodeURIComponent(login)}/permission`);
    expect(status).toBe(404);
    expect(body.message).toBe(`${login} is not a user`);
  }
});

describe("long lists", () => {
  beforeAll(() => {
    for (let number = 1; number <= 205; number++)
      scenario.people.comment(scenario.pull, "octocat", `${number}`);
  });
  const get = (query: string) => call(`GET ${root}/issues/1/comments${query}`);
  const bodies = (answer: { body: { body: string }[] }) => answer.body.map((one) => one.body);

  it("come in pages of 30, or of up to 100", async () => {
    expect(bodies(await get(""))).toHaveLength(30);
    expect(bodies(await get("?per_page=1000"))).toHaveLength(100);
    expect(bodies(await get("?per_page=100&page=3"))).toEqual(["201", "202", "203", "204", "205"]);
    expect(bodies(await get("?per_page=100&page=4"))).toEqual([]);
  });

  it("link to the pages around", async () => {
    const url = `${scenario.github.apiUrl}${root}/issues/1/comments?per_page=100&page=`;
    const link = async (page: number) => (await get(`?per_page=100&page=${page}`)).headers.get("link");
    expect(await link(1)).toBe(`<${url}2>; rel="next", <${url}3>; rel="last"`);
    expect(await link(2)).toBe(
      `<${url}1>; rel="prev", <${url}3>; rel="next", <${url}3>; rel="last", <${url}1>; rel="first"`,
    );
    expect(await link(3)).toBe(`<${url}2>; rel="prev", <${url}1>; rel="first"`);
    expect((await call(`GET ${root}/pulls`)).headers.get("link")).toBeNull();
  });
});
