import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import type { Permissions } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let call: ReturnType<typeof clientOf>;
let tip: string;
const root = "/repos/octo-org/shop";
const text = (content: string) => Buffer.from(content).toString("base64");

beforeAll(async () => {
  const permissions = { contents: "write", pull_requests: "write" } as const;
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" }, permissions });
  call = clientOf(scenario.github, scenario.installation);
  tip = scenario.repository.git.sha("main");
});
afterAll(() => scenario.github.close());

const createBranch = (name: string, sha = tip) =>
  call(`POST ${root}/git/refs`, { ref: `refs/heads/${name}`, sha });

it("makes a branch once, of a commit that is there", async () => {
  expect(await createBranch("rules/one")).toMatchObject({ status: 201, body: { object: { sha: tip } } });
  expect((await call(`GET ${root}/git/ref/heads/rules/one`)).body.object.sha).toBe(tip);
  expect((await call(`GET ${root}/git/ref/heads%2Frules%2Fone`)).body.object.sha).toBe(tip);
  expect(await createBranch("rules/one")).toMatchObject({
    status: 422,
    body: { message: "Reference already exists" },
  });
  expect((await createBranch("two", "0".repeat(40))).status).toBe(422);
  expect((await call(`GET ${root}/git/ref/heads/rules`)).status).toBe(404);
});

it("changes a file for whoever names what stands there", async () => {
  await createBranch("file");
  const put = (path: string, body: object) =>
    call(`PUT ${root}/contents/${path}`, { message: "Change", branch: "file", ...body });
  expect((await put("new/b.txt", { content: text("new\n") })).status).toBe(201);
  expect((await put("a.txt", { content: text("c\n") })).status).toBe(422);
  expect((await put("a.txt", { content: text("c\n"), sha: "0".repeat(40) })).status).toBe(409);
  const { body } = await call(`GET ${root}/contents/a.txt?ref=file`);
  expect((await put("a.txt", { content: text("c\n"), sha: body.sha })).status).toBe(200);
  const { git } = scenario.repository;
  expect([git.git("show", "file:a.txt"), git.git("show", "file:new/b.txt")]).toEqual(["c", "new"]);
  expect(git.sha("main")).toBe(tip);
});

it("opens a pull request of a branch that changes something, once", async () => {
  await createBranch("proposal");
  const open = () =>
    call(`POST ${root}/pulls`, { title: "Propose", body: "Why", head: "proposal", base: "main" });
  expect((await open()).body.errors).toMatchObject([{ message: "No commits between main and proposal" }]);
  await call(`PUT ${root}/contents/c.txt`, { message: "Add", branch: "proposal", content: text("c\n") });
  expect(await open()).toMatchObject({
    status: 201,
    body: { title: "Propose", body: "Why", user: { login: "hunkwise[bot]" }, changed_files: 1 },
  });
  expect((await open()).status).toBe(422);
  const { body } = await call(`GET ${root}/pulls?head=octo-org:proposal`);
  expect(body).toMatchObject([{ title: "Propose" }]);
});

it("renames a branch: pull requests into it follow, and those of it are closed", async () => {
  const { people, repository } = scenario;
  const files = { "d.txt": "d\n" };
  const of = people.openPull(repository, { title: "Of it", author: "mona", commits: [{ files }] });
  repository.git.git("branch", "old", "main");
  const into = people.openPull(repository, { title: "Into it", author: "mona", commits: [{ files }] });
  people.retarget(into, "old");
  expect(people.renameBranch(repository, "old", "new")).toEqual({ retargeted: [into], closed: [] });
  expect((await call(`GET ${root}/pulls/${into.number}`)).body).toMatchObject({
    ...{ state: "open", base: { ref: "new", sha: tip } },
  });
  expect(people.renameBranch(repository, of.headRef, "other")).toEqual({ retargeted: [], closed: [of] });
  expect((await call(`GET ${root}/pulls/${of.number}`)).body).toMatchObject({ state: "closed" });
});

describe("without the permission", () => {
  const reading: Permissions = { contents: "read", pull_requests: "read" };
  it.each([
    ["POST", "/git/refs", { ref: "refs/heads/x", sha: "0".repeat(40) }],
    ["PUT", "/contents/x", { message: "x", content: "" }],
    ["POST", "/pulls", { title: "x", head: "x", base: "main" }],
  ])("%s %s is refused", async (method, path, body) => {
    const token = scenario.github.state.issueToken(scenario.installation, { permissions: reading });
    expect((await clientOf(scenario.github, token)(`${method} ${root}${path}`, body)).status).toBe(403);
  });
});

it("shows the files of a public repository to any token, and of no other one", async () => {
  const { people } = scenario;
  people.createRepository("octo-org/open", { "a.txt": "open\n" }, { private: false });
  people.createRepository("octo-org/closed", { "a.txt": "closed\n" });
  expect((await call("GET /repos/octo-org/open/contents/a.txt")).status).toBe(200);
  expect((await call("GET /repos/octo-org/open/pulls")).status).toBe(404);
  expect((await call("GET /repos/octo-org/closed/contents/a.txt")).status).toBe(404);
});
