import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AppError } from "../../../src/core/errors.ts";
import type { CheckoutOptions } from "../../../src/repo/git/checkout.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { ownTag } from "../../../src/repo/git/owner.ts";
import type { RevisionPlace } from "../../../src/repo/git/workspace.ts";
import { GitHttpServer } from "../../support/git-http.ts";
import { gitPath } from "../../support/git-repo.ts";
import { baseRef, PullRequestServer, pullRef } from "../../support/pull-request-server.ts";

const token = "ghs_CanaryTokenThatMustNeverBeStoredAnywhere";
const authorization = `basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;

let server: PullRequestServer;
let shas: { base: string; head: string; mergeBase: string };

beforeEach(async () => {
  server = await PullRequestServer.start();
  shas = server.publish();
});
afterEach(() => server[Symbol.asyncDispose]());

const open = (options: Partial<CheckoutOptions> = {}) => server.checkout(shas, options);

/** Paths and contents of all files below a folder. */
function filesBelow(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  const paths = entries.map((one) => join(one.parentPath, one.name));
  return Object.fromEntries(
    paths.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path, "latin1")]),
  );
}

const headFiles = { "kept.txt": "kept\n", "new/file.txt": "new\n", "old.txt": "one\n2\nthree\n" };

/** Everything a review reads, with the server out of reach. */
async function readAll(place: RevisionPlace) {
  await using workspace = openWorkspace(place);
  const patches = [];
  for (const change of await workspace.changes()) {
    patches.push(await workspace.patch(change, 3), await workspace.patch(change, 10));
  }
  const blobs: Record<string, string> = {};
  for (const ref of ["head", "merge_base"] as const) {
    for (const { path, oid } of (await workspace.tree(ref)).values()) {
      blobs[`${ref}:${path}`] = (await workspace.readBlob(oid)).text;
    }
  }
  const baseText = await workspace.readBlob((await workspace.tree("base")).get("old.txt")!.oid);
  return { patches, blobs, baseText: baseText.text, commits: await workspace.commits(10) };
}

describe("a checkout", () => {
  it("A checkout holds the head's files and nothing of git", async () => {
    const { place, release } = await open();
    expect(filesBelow(place.root)).toEqual(headFiles);
    expect(place.shas).toEqual(shas);
    await release();
  });

  it("A checkout and its mirror are the owner's alone, also in a data folder that others may read", async () => {
    mkdirSync(server.dataFolder);
    chmodSync(server.dataFolder, 0o777);
    const { release } = await open();
    const folders = readdirSync(server.dataFolder, { withFileTypes: true }).filter((one) =>
      one.isDirectory(),
    );
    expect(folders.map(({ name }) => name)).toEqual(expect.arrayContaining(["checkouts", "mirrors"]));
    for (const { name } of folders)
      expect([name, statSync(join(server.dataFolder, name)).mode & 0o777]).toEqual([name, 0o700]);
    await release();
  });

  it("A checkout can be read in full when the server is gone", async () => {
    const { place, release } = await open();
    await server.http.close();
    const all = await readAll(place);
    expect(all.baseText).toBe("one\ntwo\nthree, on main\n");
    expect(all.blobs["merge_base:gone.txt"]).toBe("gone\n");
    expect(all.patches.join("")).toContain("-two\n+2\n");
    expect(all.commits.map((one) => one.sha)).toEqual([shas.head]);
    await release();
  });

  it("A checkout leaves out contents that nobody reads", async () => {
    const [unread] = server.repo.importCommits([
      { branch: "main", files: [["old.txt", "a version in between\n"]] },
      { branch: "main", files: [["old.txt", "one\ntwo\nthree, on main\n"]] },
    ]);
    shas.base = server.repo.sha("main");
    const { place, release } = await open();
    const oid = server.repo.git("rev-parse", `${unread}:old.txt`);
    await using workspace = openWorkspace(place);
    await expect(workspace.readBlob(oid)).rejects.toMatchObject({ code: "revision_unknown" });
    await release();
  });

  it("A checkout takes everything from a server that knows no partial clones", async () => {
    server.http.options.allowFilter = false;
    const { place, release } = await open();
    expect(filesBelow(place.root)).toEqual(headFiles);
    await server.http.close();
    expect((await readAll(place)).baseText).toBe("one\ntwo\nthree, on main\n");
    await release();
  });

  it("A checkout takes whole branches from a server that gives no single objects", async () => {
    Object.assign(server.http.options, { allowAnySha: false, protocol: 0 });
    const { place, release } = await open();
    await server.http.close();
    expect((await readAll(place)).blobs["merge_base:gone.txt"]).toBe("gone\n");
    await release();
  });

  it("A checkout follows the head, using the same slot again", async () => {
    const first = await open();
    await first.release();
    shas.head = server.commit([
      ["kept.txt", "changed\n"],
      ["new/file.txt", null],
      ["new", "a file now\n"],
    ]);
    const second = await open();
    expect(second.place.root).toBe(first.place.root);
    expect(filesBelow(second.place.root)).toEqual({
      "kept.txt": "changed\n",
      new: "a file now\n",
      "old.txt": "one\n2\nthree\n",
    });
    await server.http.close();
    expect((await readAll(second.place)).patches.join("")).toContain("+changed");
    await second.release();
  });

  it.each([
    ["longer than any name", `${"n".repeat(300)}.js`],
    ["longer than any path", `${`${"d".repeat(200)}/`.repeat(25)}f.js`],
  ])("A head with a path that is %s is read from git's objects", async (_, path) => {
    shas.head = server.commit([
      ["kept.txt", "changed\n"],
      [path, "first line\nsecond\n"],
    ]);
    const { place, release } = await open();
    expect(place.isCheckedOut).toBe(false);
    await using workspace = openWorkspace(place);
    expect(await workspace.headStart(path, 5)).toMatchObject({ text: "first" });
    expect((await readAll(place)).patches.join("")).toContain("+first line");
    await release();
    shas.head = server.commit([[path, null]]);
    const next = await open();
    expect(filesBelow(next.place.root)).toEqual({ ...headFiles, "kept.txt": "changed\n" });
    await next.release();
  });

  it("A checkout asks the server nothing if it has both commits", async () => {
    await (await open()).release();
    const before = server.http.requests.length;
    await (await open()).release();
    expect(server.http.requests.length).toBe(before);
  });

  it("A checkout takes a commit by name when its ref has moved on", async () => {
    const moved = server.commit([["kept.txt", "pushed meanwhile\n"]]);
    const { place, release } = await open();
    expect(place.shas.head).not.toBe(moved);
    expect(filesBelow(place.root)).toEqual(headFiles);
    await release();
    server.repo.git("update-ref", pullRef, shas.base);
    const [other] = server.repo.importCommits([
      { branch: "elsewhere", parents: [shas.mergeBase], files: [["x", "y"]] },
    ]);
    shas.head = other!;
    const forced = await open();
    expect(Object.keys(filesBelow(forced.place.root))).toContain("x");
    await forced.release();
  });

  it("A checkout takes a commit by name when its branch was deleted", async () => {
    server.repo.git("update-ref", "refs/heads/kept", "refs/heads/main");
    server.repo.git("update-ref", "-d", "refs/heads/main");
    const { place, release } = await open();
    expect(filesBelow(place.root)).toEqual(headFiles);
    await release();
  });

  it("A checkout still works after the mirror's packs were joined", async () => {
    const mirror = await server.mirror();
    const packs = () =>
      readdirSync(join(mirror.gitDir, "objects", "pack")).filter((name) => name.endsWith(".pack"));
    const first = await open({ mirror });
    const reading = readAll(first.place);
    expect(packs().length).toBeGreaterThan(1);
    await mirror.tidy(undefined, 1);
    expect(packs()).toHaveLength(1);
    expect((await reading).baseText).toBe("one\ntwo\nthree, on main\n");
    await first.release();
    shas.head = server.commit([["kept.txt", "changed\n"]]);
    const second = await open({ mirror });
    await server.http.close();
    expect((await readAll(second.place)).blobs["head:kept.txt"]).toBe("changed\n");
    await second.release();
  });

  it("Concurrent jobs get checkouts of their own", async () => {
    const mirror = await server.mirror();
    const checkouts = await Promise.all([1, 2, 3].map(() => open({ mirror })));
    expect(new Set(checkouts.map((one) => one.place.root)).size).toBe(3);
    for (const one of checkouts) expect(filesBelow(one.place.root)).toEqual(headFiles);
    await Promise.all(checkouts.map((one) => one.release()));
    expect((await open({ mirror })).place.root).toBe(checkouts.map((one) => one.place.root).sort()[0]);
  });
});

describe("a checkout refuses", () => {
  it("A checkout refuses a commit that the server does not have", async () => {
    await expect(open({ head: { sha: "1".repeat(40), ref: pullRef } })).rejects.toMatchObject({
      code: "revision_unknown",
    });
  });

  it("A checkout refuses a history without a common ancestor", async () => {
    const [other] = server.repo.importCommits([{ branch: "orphan", files: [["x", "y"]] }]);
    await expect(open({ head: { sha: other!, ref: "refs/heads/orphan" } })).rejects.toMatchObject({
      code: "revision_unknown",
      message: expect.stringContaining("no common ancestor"),
    });
  });

  it.each([
    ["too many files", { maxFiles: 2 }],
    ["too many bytes", { maxBytes: 10 }],
    ["a file too large", { maxFileBytes: 8 }],
  ])("A checkout refuses %s, before it writes one, and can be used afterwards", async (_, limits) => {
    await expect(open({ limits })).rejects.toMatchObject({ code: "too_large" });
    const written = Object.keys(filesBelow(join(server.dataFolder, "checkouts")));
    expect(written.filter((path) => path.includes("/tree/"))).toEqual([]);
    const { place, release } = await open();
    expect(filesBelow(place.root)).toEqual(headFiles);
    await release();
  });

  it("A checkout refuses growth beyond the limits at a later push", async () => {
    await (await open({ limits: { maxFiles: 4, maxBytes: 60 } })).release();
    shas.head = server.commit([["kept.txt", "x".repeat(100)]]);
    await expect(open({ limits: { maxBytes: 60 } })).rejects.toMatchObject({ code: "too_large" });
    shas.head = server.commit([
      ["kept.txt", "kept\n"],
      ["a", "1"],
      ["b", "2"],
    ]);
    await expect(open({ limits: { maxFiles: 4 } })).rejects.toMatchObject({ code: "too_large" });
    await (await open({ limits: { maxFiles: 5, maxBytes: 60 } })).release();
  });

  it("A checkout refuses a repository that needs credentials, saying so", async () => {
    server.http.options.authorization = authorization;
    await expect(open()).rejects.toMatchObject({ code: "repository_unavailable", retryable: false });
  });

  it("A checkout refuses to go on when the job is aborted", async () => {
    server.http.interfere = () => true;
    const abort = new AbortController();
    const waiting = open({ signal: abort.signal });
    setTimeout(() => abort.abort(), 200);
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
  });

  it("A checkout refuses to wait for a server that never answers", async () => {
    server.http.interfere = () => true;
    await expect(open({ timeoutMs: 300 })).rejects.toMatchObject({ code: "git_timeout", retryable: true });
    server.http.interfere = undefined;
    await (await open()).release();
  });
});

describe("the token", () => {
  it("The token reaches the server and nothing else", async () => {
    server.http.options.authorization = authorization;
    const { release } = await open({ authorization });
    await release();
    shas.head = server.commit([["kept.txt", "again\n"]]);
    await (await open({ authorization })).release();
    expect(server.http.requests.at(-1)?.authorization).toBe(authorization);
    for (const [path, content] of Object.entries(filesBelow(server.dataFolder))) {
      const secrets = [token, authorization, authorization.split(" ")[1]!];
      expect(
        secrets.some((secret) => content.includes(secret)),
        path,
      ).toBe(false);
    }
  });

  it("The token is requested before each fetch, because a checkout may outlast it", async () => {
    const given: string[] = [];
    server.http.interfere = () => {
      server.http.options.authorization = given.at(-1) ?? null;
      return false;
    };
    await (await open()).release();
    shas.head = server.commit([["kept.txt", "x".repeat(2_000_000)]]);
    const fresh = async () => {
      given.push(`basic ${Buffer.from(`x-access-token:${given.length}`).toString("base64")}`);
      return given.at(-1) ?? "";
    };
    await (await open({ authorization: fresh })).release();
    expect(given).toHaveLength(2);
  });

  it("The token is not in the error when the server refuses it, or repeats it", async () => {
    server.http.options.authorization = "basic other";
    server.http.interfere = (request, response) => {
      response.writeHead(403, { "content-type": "text/plain" });
      response.end(`no: ${request.headers.authorization} ${token}`);
      return true;
    };
    const error = (await open({ authorization }).catch((one: unknown) => one)) as AppError;
    expect(error.code).toBe("repository_unavailable");
    const everything = JSON.stringify([error, error.message, error.stack, error.remedy, String(error.cause)]);
    expect(everything).not.toContain(token);
    expect(everything).not.toContain(authorization.split(" ")[1]);
  });

  it("The token is not in the list of processes", async () => {
    let argv = "";
    server.http.interfere = () => {
      argv += spawnSync("ps", ["axww", "-o", "args"], { encoding: "utf8" }).stdout;
      return false;
    };
    await (await open({ authorization })).release();
    expect(argv).toContain("fetch");
    expect(argv).not.toContain(authorization.split(" ")[1]);
  });

  it("The token is not sent to the target of a redirect", async () => {
    await using other = await GitHttpServer.start(server.http.options);
    server.http.interfere = (request, response) => {
      response.writeHead(301, { location: `${other.origin}${request.url}` }).end();
      return true;
    };
    await expect(open({ authorization })).rejects.toMatchObject({
      code: "repository_unavailable",
      remedy: expect.stringContaining("has moved"),
    });
    expect(other.requests).toEqual([]);
  });

  it("The token is neither part of the address nor sent over plain http", async () => {
    await expect(server.mirror({ url: "https://x:secret@host/o/r.git" })).rejects.toMatchObject({
      code: "usage",
    });
    await expect(server.mirror({ network: {} })).rejects.toMatchObject({ code: "usage" });
    for (const url of ["file:///etc", "ssh://host/o/r.git", "ext::sh -c touch% x"]) {
      await expect(server.mirror({ url })).rejects.toMatchObject({ code: "usage" });
    }
  });
});

describe("the leftovers of a killed process", () => {
  it("A slot that was half written is written again", async () => {
    const first = await open();
    await first.release();
    const slot = join(first.place.root, "..");
    rmSync(join(slot, "state.json"));
    writeFileSync(join(slot, "index.lock"), "");
    writeFileSync(join(first.place.root, "stray.txt"), "stray");
    writeFileSync(join(first.place.root, "old.txt"), "half");
    const second = await open();
    expect(second.place.root).toBe(first.place.root);
    expect(filesBelow(second.place.root)).toEqual(headFiles);
    await second.release();
  });

  it("A complete slot with a dead lock is written again", async () => {
    const first = await open();
    await first.release();
    const slot = join(first.place.root, "..");
    writeFileSync(join(slot, "index.lock"), "");
    const second = await open();
    expect(filesBelow(second.place.root)).toEqual(headFiles);
    expect(existsSync(join(slot, "index.lock"))).toBe(false);
    await second.release();
  });

  // Elsewhere the system does not show whose child a process was.
  it.runIf(process.platform === "linux")("A late git of a killed process is ended", async () => {
    const path = (name: string) => join(server.folder.path, name);
    const [pid, , scope] = ownTag.split(".");
    const late = `#!/bin/sh
case "$*" in *read-tree*)
  if rm "${path("order")}" 2>/dev/null; then
    : >"$GIT_INDEX_FILE.lock"
    HUNKWISE_OWNER=${pid}.1.${scope} sleep 600 >/dev/null 2>&1 &
    echo $! >"${path("late")}"
  fi
esac
exec "${gitPath}" "$@"
`;
    writeFileSync(path("git"), late, { mode: 0o755 });
    writeFileSync(path("order"), "");
    const { place, release } = await open({ mirror: await server.mirror({ gitPath: path("git") }) });
    expect(filesBelow(place.root)).toEqual(headFiles);
    const stat = `/proc/${readFileSync(path("late"), "utf8").trim()}/stat`;
    expect(existsSync(stat) && !/\) [ZX] /.test(readFileSync(stat, "latin1"))).toBe(false);
    await release();
  });

  it("Lock files of a killed git are removed", async () => {
    await (await open()).release();
    const mirror = await server.mirror();
    const refs = join(mirror.gitDir, "refs", "hunkwise");
    for (const name of readdirSync(refs)) writeFileSync(join(refs, `${name}.lock`), "");
    shas.head = server.commit([["kept.txt", "again\n"]]);
    await (await open()).release();
    expect(readdirSync(refs).filter((name) => name.endsWith(".lock"))).toEqual([]);
  });

  it("A lock and a slot of a dead process are taken over", async () => {
    const script = `
      const { Mirror } = await import(${JSON.stringify(join(import.meta.dirname, "../../../src/repo/git/mirror.ts"))});
      const { checkout } = await import(${JSON.stringify(join(import.meta.dirname, "../../../src/repo/git/checkout.ts"))});
      const { options, ...rest } = JSON.parse(process.argv[1]);
      await checkout({ mirror: await Mirror.open(options), authorization: null, ...rest });
      console.log("held");
      setInterval(() => {}, 1000);`;
    const mirror = await server.mirror();
    const options = { ...mirror.options };
    const job = { options, head: { sha: shas.head, ref: pullRef }, base: { sha: shas.base, ref: baseRef } };
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, JSON.stringify(job)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const meanwhile = await open();
    expect(meanwhile.place.root).toMatch(/\/1\/tree$/);
    await meanwhile.release();
    // The child dies while it holds a slot and, as if in the middle of a fetch, the mirror.
    symlinkSync(readlinkSync(join(mirror.checkouts, "0", "pid")), join(mirror.gitDir, "hunkwise.pid"));
    writeFileSync(join(mirror.gitDir, "packed-refs.lock"), "");
    child.kill("SIGKILL");
    await once(child, "close");
    shas.head = server.commit([["kept.txt", "again\n"]]);
    const after = await open();
    expect(after.place.root).toMatch(/\/0\/tree$/);
    expect(filesBelow(after.place.root)["kept.txt"]).toBe("again\n");
    expect(existsSync(join(mirror.gitDir, "packed-refs.lock"))).toBe(false);
    await after.release();
  });
});
