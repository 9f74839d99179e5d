import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { Disk } from "../../../src/repo/git/disk.ts";
import { removeRepository } from "../../../src/repo/git/places.ts";
import { gitPath } from "../../support/git-repo.ts";
import { PullRequestServer } from "../../support/pull-request-server.ts";
import { seeded } from "../../support/seeded.ts";

const ROUNDS = process.env.HUNKWISE_LONG === "1" ? 500 : 14;

let server: PullRequestServer;
let base: string;
let heads: string[];
let brokenGit: string;
beforeAll(async () => {
  server = await PullRequestServer.start();
  ({ base } = server.publish());
  heads = [1, 2, 3, 4].map((round) => server.commit([["kept.txt", `round ${round}\n`.repeat(round * 5000)]]));
  brokenGit = join(server.folder.path, "git");
  // Every seventh of its calls ends as if somebody had killed it.
  writeFileSync(brokenGit, `#!/bin/sh\n[ $(($$ % 7)) -eq 0 ] && kill -9 $$\nexec "${gitPath}" "$@"\n`, {
    mode: 0o755,
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const silent = { info() {}, warn: ({ err }: { err?: unknown }) => expect(err).toBeUndefined() };

async function checkOut(head: string, options: { git?: string; signal?: AbortSignal } = {}): Promise<void> {
  const mirror = await server.mirror({ gitPath: options.git ?? gitPath });
  const made = await server.checkout({ head, base }, { mirror, timeoutMs: 2_000, signal: options.signal });
  await made.release();
}

/** One that goes wrong in one way or another, or happens not to. */
async function faulty(dice: () => number): Promise<void> {
  const head = heads[Math.floor(dice() * heads.length)]!;
  const kind = Math.floor(dice() * 4);
  const abort = new AbortController();
  let requests = Math.floor(dice() * 3);
  server.http.interfere = (request, response) => {
    if (requests-- > 0) return false;
    if (kind === 0) abort.abort();
    else if (kind === 1) response.writeHead(503).end();
    else if (kind === 2) request.socket.destroy();
    else return false;
    return true;
  };
  const options = { signal: abort.signal, git: kind === 3 ? brokenGit : gitPath };
  await checkOut(head, options).catch((error: unknown) => expect(error).toBeInstanceOf(AppError));
  server.http.interfere = undefined;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** What this process and its data folder hold when one undisturbed checkout has followed. */
async function holdings() {
  await removeRepository(server.dataFolder, server.repository);
  await checkOut(heads[0]!);
  collectGarbage();
  return {
    files: readdirSync(server.dataFolder, { recursive: true, encoding: "utf8" })
      .map((name) => name.replace(/pack-[0-9a-f]{40}/, "pack"))
      .sort(),
    descriptors: readdirSync("/proc/self/fd").length,
    heapBytes: process.memoryUsage().heapUsed,
    rssBytes: process.memoryUsage().rss,
  };
}

/** Descriptors are only to be counted where there is a /proc. */
describe.runIf(process.platform === "linux")(`${ROUNDS} checkouts with random faults`, () => {
  it("Many faults leave no file, no descriptor, no work tree and no memory behind", {
    timeout: 3_000_000,
  }, async () => {
    const dice = seeded(6);
    const disk = new Disk({ dataFolder: server.dataFolder, limitBytes: 1e9, log: silent });
    await faulty(dice);
    const before = await holdings();
    for (let round = 0; round < ROUNDS; round++) {
      // Two at a time, of which one begins anew now and then.
      if (round % 7 === 3) await removeRepository(server.dataFolder, server.repository);
      await (round % 5 === 0 ? Promise.all([faulty(dice), faulty(dice)]) : faulty(dice));
    }
    await disk.clean();
    const after = await holdings();
    if (ROUNDS > 100)
      console.log({ ...before, files: before.files.length }, { ...after, files: after.files.length });
    expect(after.files).toEqual(before.files);
    expect(after.descriptors).toBeLessThanOrEqual(before.descriptors * 1.2);
    expect(after.heapBytes).toBeLessThan(before.heapBytes * 1.2);
  });
});
