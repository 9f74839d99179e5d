import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Disk, mirrorBytes } from "../../../src/repo/git/disk.ts";
import { createCheckoutPull } from "../../../src/server/jobs/checkout-pull.ts";
import { gitPath } from "../../support/git-repo.ts";
import { lossyProxy } from "../../support/lossy-proxy.ts";
import { PullRequestServer } from "../../support/pull-request-server.ts";

const long = process.env.HUNKWISE_LONG === "1";

const MB = 1_000_000;
let server: PullRequestServer;
let base: string;
beforeEach(async () => {
  server = await PullRequestServer.start();
  ({ base } = server.publish());
});
afterEach(() => server[Symbol.asyncDispose]());

const log = { info() {}, warn: ({ err }: { err?: unknown }) => expect(err).toBeUndefined() };
function pulls(limitBytes: number, webUrl = server.http.origin) {
  const { dataFolder } = server;
  const checkOut = createCheckoutPull({
    ...{ gitPath, dataFolder, host: "github.test", webUrl, network: { allowHttp: true } },
    disk: new Disk({ dataFolder, limitBytes, log }),
    authorization: async () => "Basic none",
  });
  const repository = { installation: 1, id: 1, owner: "octo", name: "app" };
  const signal = new AbortController().signal;
  return (headSha: string) =>
    checkOut({ repository, pull: { number: 1, headSha, baseSha: base, baseRef: "main" }, signal });
}
/** Changes the one large file. */
const change = (bytes: number) => server.commit([["large", randomBytes(bytes)]]);

it.runIf(long)(
  "A mirror that has grown beyond the limit is made again, without what earlier pull requests needed",
  async () => {
    const checkOut = pulls(8 * MB);
    for (let push = 0; push < 4; push++) await (await checkOut(change(3 * MB))).release();
  },
);

it.runIf(long)(
  "A repository that does not fit into a fresh mirror is refused, and nothing of it is kept",
  async () => {
    const checkOut = pulls(8 * MB);
    await (await checkOut(change(1 * MB))).release();
    await expect(checkOut(change(5 * MB))).rejects.toMatchObject({ code: "too_large", retryable: false });
    expect(readdirSync(join(server.dataFolder, "mirrors"))).toEqual([]);
    expect(readdirSync(join(server.dataFolder, "checkouts"))).toEqual([]);
  },
);

it("outgrown-fetch: A pull request whose history does not fit is refused while it is fetched", async () => {
  const { hostname: host, port } = new URL(server.http.origin);
  await using proxy = await lossyProxy({ host, port: Number(port) });
  proxy.stallAfter(8 * MB);
  const checkOut = pulls(4 * MB, `http://127.0.0.1:${proxy.port}`);
  const head = server.commit(Array.from({ length: 120 }, (_, n) => [`data/${n}`, randomBytes(100_000)]));
  await expect(checkOut(head)).rejects.toMatchObject({ code: "too_large", retryable: false });
  expect(readdirSync(join(server.dataFolder, "mirrors"))).toEqual([]);
});

it("A pull request whose history does not fit within the limit is checked out if its files fit, in a mirror made anew", async () => {
  const checkOut = pulls(8 * MB);
  // Files come along with a second fetch, when those that changed are likely to be small ones.
  await (await checkOut(change(1_000))).release();
  const names = Array.from({ length: 40 }, (_, n) => `data/${n}`);
  server.commit(names.map((name) => [name, randomBytes(900_000)]));
  const head = server.commit([...names.map((name): [string, null] => [name, null]), ["a.js", "a();\n"]]);
  const made = await checkOut(head);
  expect(await mirrorBytes(made.place.gitDir)).toBeLessThan(2 * MB);
  await made.release();
});
