import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitFiles } from "../../../src/repo/git/commits.ts";
import type { Mirror } from "../../../src/repo/git/mirror.ts";
import { type PushRequest, pushCommit } from "../../../src/repo/git/remote.ts";
import { gitEnvironment, type Network, networkVariables } from "../../../src/repo/git/run-git.ts";
import { PullRequestServer } from "../../support/pull-request-server.ts";

let server: PullRequestServer;
let mirror: Mirror;
let head: string;
beforeAll(async () => {
  server = await PullRequestServer.start();
  server.repo.git("config", "http.receivepack", "true");
  ({ head } = server.publish());
  mirror = await server.mirror();
  const wanted = [{ sha: head, ref: "refs/pull/1/head" }];
  await mirror.fetchCommits(wanted, "no_files", { authorization: null });
});
afterAll(() => server[Symbol.asyncDispose]());

const commit = (text: string, parent = head) =>
  commitFiles({
    ...{ git: mirror.git, gitDir: mirror.gitDir, parent, message: "Mend it", at: 0 },
    author: { name: "bot", email: "bot@example.com" },
    files: [{ path: "new/file.txt", after: { mode: "100644", bytes: Buffer.from(text) } }],
  });

const push = (to: string, changed: Partial<PushRequest> = {}) =>
  pushCommit({
    ...{ git: mirror.git, gitDir: mirror.gitDir, network: { allowHttp: true }, url: server.url },
    ...{ branch: "topic", from: head, to, authorization: "Basic eDp5" },
    ...changed,
  });

const tip = () => server.repo.sha("refs/heads/topic");
const reset = () => server.repo.git("update-ref", "refs/heads/topic", head);

describe("a push", () => {
  it("A push moves the branch from a mirror without its files", async () => {
    const to = await commit("pushed\n");
    expect(await push(to)).toEqual({ kind: "pushed" });
    expect(tip()).toBe(to);
    expect(server.repo.git("cat-file", "-p", "topic:new/file.txt")).toBe("pushed");
    reset();
  });

  it("A push may be repeated", async () => {
    const to = await commit("again\n");
    expect([await push(to), await push(to)]).toEqual([{ kind: "pushed" }, { kind: "pushed" }]);
    reset();
  });

  it("A push does nothing if the branch has moved or is gone", async () => {
    const to = await commit("late\n");
    const other = server.repo.git("commit-tree", "-p", head, "-m", "Mine", `${head}^{tree}`).trim();
    server.repo.git("update-ref", "refs/heads/topic", other);
    expect(await push(to)).toEqual({ kind: "moved" });
    expect(tip()).toBe(other);
    server.repo.git("update-ref", "-d", "refs/heads/topic");
    expect(await push(to)).toEqual({ kind: "moved" });
    reset();
  });

  it("A push removes no commit from the branch", async () => {
    const beside = server.repo.git("commit-tree", "-m", "Beside", `${head}^{tree}`).trim();
    server.repo.git("update-ref", "refs/pull/9/head", beside);
    await mirror.fetchCommits([{ sha: beside, ref: "refs/pull/9/head" }], "no_files", {
      authorization: null,
    });
    await expect(push(beside)).rejects.toMatchObject({ code: "usage" });
    expect(tip()).toBe(head);
  });

  it("A refused push has the server's reason", async () => {
    const hook = join(server.repo.dir, "hooks/pre-receive");
    mkdirSync(dirname(hook), { recursive: true });
    writeFileSync(hook, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const end = await push(await commit("declined\n"));
    rmSync(hook);
    expect(end).toEqual({ kind: "refused", reason: "pre-receive hook declined" });
    expect(tip()).toBe(head);
  });

  it.each(["a..b", "a:b", "a b", "a\n", "@{x", "a/", ".a", "a.lock", "a//b", "", "a~1", "a^", "a*"])(
    "A push refuses the branch %j",
    async (branch) => {
      await expect(push(head, { branch })).rejects.toMatchObject({ code: "usage" });
    },
  );

  it("A push shows its credential in no error", async () => {
    const url = `${server.http.origin}/octo/none.git`;
    expect(await push(head, { url })).toMatchObject({ kind: "refused" });
    const away = push(head, { url: "http://127.0.0.1:1/octo/app.git", authorization: "Basic c2VjcmV0" });
    await expect(away).rejects.toSatisfy((error) => !String(error).includes("c2VjcmV0"));
  });
});

/** Fetches a pull request through this network and returns how often the proxy was asked. */
async function askedThrough(network: (proxy: string) => Network): Promise<number> {
  await using server = await PullRequestServer.start();
  const shas = server.publish();
  let asked = 0;
  const proxy = createServer((request, response) => {
    asked++;
    const { method, headers, url = "" } = request;
    const onward = forward(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  try {
    const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const mirror = await server.mirror({ network: network(address) });
    await (await server.checkout(shas, { mirror })).release();
    return asked;
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
}

describe("a fetch", () => {
  it("A fetch uses the configured proxy", async () => {
    expect(await askedThrough((proxy) => ({ allowHttp: true, proxy }))).toBeGreaterThan(0);
  });

  it("A fetch bypasses the proxy for the hosts of NO_PROXY", async () => {
    expect(await askedThrough((proxy) => ({ allowHttp: true, proxy, noProxy: "127.0.0.1" }))).toBe(0);
  });

  it("Only a fetch gets the proxy and the certificates", () => {
    const network = { proxy: "http://proxy:3128", noProxy: "localhost", caFile: "/ca.pem" };
    expect(networkVariables(network)).toMatchObject({
      HTTPS_PROXY: network.proxy,
      GIT_SSL_CAINFO: "/ca.pem",
    });
    const others = gitEnvironment({ gitPath: "/usr/bin/git", emptyHome: "/empty" }, network);
    expect(JSON.stringify(others)).not.toMatch(/proxy|ca\.pem/i);
    expect(others).toMatchObject({ GIT_ALLOW_PROTOCOL: "https", GIT_NO_LAZY_FETCH: "1", HOME: "/empty" });
  });
});
