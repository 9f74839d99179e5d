import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TempFolder, testGitEnvironment } from "../support/git-repo.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const run = promisify(execFile);

let scenario: Scenario;
let folder: TempFolder;
beforeAll(async () => {
  folder = new TempFolder("clones");
  scenario = await createScenario({
    base: { "a.txt": "a\n" },
    head: { "a.txt": "b\n" },
    fork: "contributor",
    author: "contributor",
  });
});
afterAll(async () => {
  folder.dispose();
  await scenario.github.close();
});

/** Real git, with a token as GitHub takes it. */
async function git(token: string | undefined, ...args: string[]): Promise<string> {
  const basic = Buffer.from(`x-access-token:${token}`).toString("base64");
  const header = token === undefined ? [] : ["-c", `http.extraHeader=Authorization: Basic ${basic}`];
  const { stdout } = await run("git", [...header, ...args], { cwd: folder.path, env: testGitEnvironment });
  return stdout;
}

const address = (name = "octo-org/shop") => `${scenario.github.url}/${name}.git`;
const token = (permissions?: Record<string, "read" | "write">) =>
  scenario.github.state.issueToken(scenario.installation, permissions ? { permissions } : {}).value;

describe("git over HTTP", () => {
  it("shows branches and the heads of pull requests, of forks too", async () => {
    const refs = await git(token(), "ls-remote", address());
    expect(refs).toContain(`${headOf(scenario.pull)}\trefs/pull/1/head\n`);
    expect(refs).toContain("\trefs/heads/main\n");
    expect(refs).not.toContain("refs/heads/change-1");
  });

  it("clones without blobs and fetches them when they are needed", async () => {
    await git(token(), "clone", "--quiet", "--bare", "--filter=blob:none", address(), "partial.git");
    const missing = () =>
      git(undefined, "--git-dir=partial.git", "rev-list", "--objects", "--missing=print", "main");
    expect(await missing()).toMatch(/^\?[0-9a-f]{40}$/m);
    expect(await git(token(), "--git-dir=partial.git", "show", "main:a.txt")).toBe("a\n");
    expect(await missing()).not.toContain("?");
  });

  it("gives any commit by its name, after a force push too", async () => {
    const before = headOf(scenario.pull);
    const after = scenario.people.forcePush(scenario.pull, { "a.txt": "c\n" });
    await git(undefined, "init", "--quiet", "work");
    const fetch = (sha: string) => git(token(), "-C", "work", "fetch", "--quiet", address(), sha);
    await fetch(after);
    await fetch(before);
    await git(undefined, "-C", "work", "checkout", "--quiet", after);
    expect(readFileSync(join(folder.path, "work/a.txt"), "utf8")).toBe("c\n");
  });

  it.each([
    ["no token", () => undefined, "octo-org/shop", "could not read Username"],
    ["a wrong token", () => "ghs_wrong", "octo-org/shop", "could not read Username"],
    ["a token without contents", () => token({ pull_requests: "read" }), "octo-org/shop", "403"],
    ["a repository outside the token", () => token(), "contributor/shop", "not found"],
  ])("refuses %s", async (_, credentials, name, complaint) => {
    await expect(git(credentials(), "ls-remote", address(name))).rejects.toThrow(complaint);
  });

  it("takes pushes only from those who may write", async () => {
    const push = (value: string) =>
      git(value, "--git-dir=partial.git", "push", "--quiet", address(), "main:refs/heads/pushed");
    await expect(push(token())).rejects.toThrow("403");
    await push(token({ contents: "write" }));
    expect(scenario.repository.git.sha("pushed")).toBe(scenario.repository.git.sha("main"));
  });

  it("is seen in the log of requests and hit by faults", async () => {
    scenario.github.faults.add({ match: /^GET \/octo-org\/shop\.git\/info\/refs$/, kind: "bad-gateway" });
    await expect(git(token(), "ls-remote", address())).rejects.toThrow("502");
    expect(scenario.github.requests.at(-1)).toMatchObject({ operation: "git", status: 502 });
  });

  it("leads from a former name to the repository", async () => {
    scenario.people.createRepository("octo-org/before", { "a.txt": "a\n" });
    const repository = scenario.github.state.repository("octo-org", "before")!;
    scenario.installation.repositories.push(repository);
    scenario.people.rename(repository, "after");
    expect(await git(token(), "ls-remote", address("octo-org/before"))).toContain("refs/heads/main");
    const headers = { authorization: `Bearer ${token()}` };
    const path = "/repos/octo-org/before/contents/a.txt?ref=main";
    const moved = await fetch(scenario.github.apiUrl + path, { headers, redirect: "manual" });
    expect(moved.status).toBe(301);
    const location = `${scenario.github.apiUrl}/repositories/${repository.id}/contents/a.txt?ref=main`;
    expect(moved.headers.get("location")).toBe(location);
    const followed = await fetch(location, { headers });
    expect(await followed.json()).toMatchObject({ path: "a.txt", type: "file" });
  });

  it("is open to everybody where the repository is public", async () => {
    scenario.people.createRepository("octo-org/open", { "a.txt": "a\n" }, { private: false });
    expect(await git(undefined, "ls-remote", address("octo-org/open"))).toContain("refs/heads/main");
  });
});
