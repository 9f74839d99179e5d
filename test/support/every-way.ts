import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import type { RevisionPlace, SearchQuery } from "../../src/repo/git/workspace.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "./git-repo.ts";
import { needle } from "./needle.ts";
import { PullRequestServer, pullRef } from "./pull-request-server.ts";

/** A program that attacks try to start; if it runs, it leaves a note in a file. */
export class Sentinel implements Disposable {
  readonly folder = new TempFolder("hostile");
  /** Path of the program. */
  readonly command = join(this.folder.path, "attack.sh");
  readonly #note = join(this.folder.path, "executed");

  constructor() {
    writeFileSync(this.command, `#!/bin/sh\necho "$0 $*" >> '${this.#note}'\ncat\n`);
    chmodSync(this.command, 0o755);
  }

  /** How the program was started; "nothing ran" if it was not. */
  get starts(): string {
    return existsSync(this.#note) ? readFileSync(this.#note, "utf8") : "nothing ran";
  }

  /** The file that the program writes, for attacks that write files themselves. */
  get file(): string {
    return this.#note;
  }

  forget(): void {
    rmSync(this.#note, { force: true });
  }

  [Symbol.dispose](): void {
    this.folder.dispose();
  }
}

export const query: SearchQuery = { ...needle, fixedString: true };

/** Performs every step of a review and returns what it saw. */
export async function review(place: RevisionPlace) {
  await using workspace = openWorkspace(place);
  const changes = await workspace.changes();
  const patches: Record<string, string> = {};
  for (const change of changes) patches[change.path] = await workspace.patch(change, 3);
  for (const change of changes) await workspace.patch(change, 1);
  const head = await workspace.tree("head");
  const texts: Record<string, string> = {};
  for (const { path, mode, oid } of head.values()) {
    if (mode !== "160000") texts[path] = (await workspace.readBlob(oid)).text;
  }
  const hits = await workspace.search(query, AbortSignal.timeout(20_000));
  await workspace.commits(10);
  const found = hits.mode === "content" ? hits.matches.map((one) => one.path) : [];
  return { changes, patches, texts, found };
}

/**
 * Reviews the same pull request from the command line, without a work tree and with the head in it, and through a server.
 *
 * @param check called for each; only a server has a checkout
 */
export async function everyWay(
  sentinel: Sentinel,
  base: Record<string, Content>,
  head: Record<string, Content>,
  check: (place: RevisionPlace) => Promise<void>,
  prepare: (repo: GitRepo) => void = () => {},
): Promise<void> {
  using repo = GitRepo.create();
  const [baseSha = "", headSha = ""] = repo.importCommits([
    { branch: "main", files: Object.entries(base) },
    { branch: "topic", parents: ["main"], files: Object.entries(head) },
  ]);
  await using server = await PullRequestServer.start();
  repo.git("push", "-q", server.repo.dir, "main", "topic", `${headSha}:${pullRef}`);
  using lent = new TempFolder("lent");
  const user = GitRepo.at(lent.path);
  user.git("clone", "--quiet", "--no-checkout", repo.dir, ".");
  // A work tree may lack files that a disk does not take.
  user.bytes(["checkout", "--quiet", "topic"], "", [0, 1, 128]);
  prepare(repo);
  prepare(user);
  sentinel.forget();
  await checkLocally(user, check);
  await checkLocally(repo, check);
  const { place, release } = await server.checkout({ head: headSha, base: baseSha });
  await check(place);
  await release();
  expect(sentinel.starts).toBe("nothing ran");
}

async function checkLocally(repo: GitRepo, check: (place: RevisionPlace) => Promise<void>): Promise<void> {
  await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
  await check(range.place);
}
