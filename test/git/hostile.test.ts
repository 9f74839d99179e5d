import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkout } from "../../src/git/checkout.ts";
import type { CheckoutPlace } from "../../src/git/checkout-place.ts";
import { openWorkspace } from "../../src/git/git-workspace.ts";
import { openLocalRange } from "../../src/git/local-range.ts";
import type { SearchQuery } from "../../src/git/workspace.ts";
import { type Content, GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { baseRef, PullRequestServer, pullRef } from "../support/pull-request-server.ts";

/** Every attack that runs writes this file. */
let sentinel: string;
let folder: TempFolder;
let command: string;

beforeEach(() => {
  folder = new TempFolder("hostile");
  sentinel = join(folder.path, "executed");
  command = join(folder.path, "attack.sh");
  writeFileSync(command, `#!/bin/sh\necho "$0 $*" >> '${sentinel}'\ncat\n`);
  chmodSync(command, 0o755);
});
afterEach(() => folder.dispose());

const query: SearchQuery = {
  pattern: "needle",
  contextLines: 0,
  maxResults: 100,
  fixedString: true,
  ignoreCase: false,
  wholeWord: false,
  invertMatch: false,
  mode: "content",
};

/** Does all that a review does and returns what it saw. */
async function review(place: CheckoutPlace) {
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

/** The same pull request once from the command line and once through a server. */
async function bothWays(
  base: Record<string, Content>,
  head: Record<string, Content>,
  check: (place: CheckoutPlace) => Promise<void>,
  prepare: (repo: GitRepo) => void = () => {},
): Promise<void> {
  using repo = GitRepo.create();
  const [baseSha = "", headSha = ""] = repo.importCommits([
    { branch: "main", files: Object.entries(base) },
    { branch: "topic", parents: ["main"], files: Object.entries(head) },
  ]);
  await using server = await PullRequestServer.start();
  repo.git("push", "-q", server.repo.dir, "main", "topic", `${headSha}:${pullRef}`);
  prepare(repo);
  rmSync(sentinel, { force: true });
  {
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
    await check(range.place);
  }
  const mirror = await server.mirror();
  const [wantedHead, wantedBase] = [
    { sha: headSha, ref: pullRef },
    { sha: baseSha, ref: baseRef },
  ];
  const { place, release } = await checkout({
    mirror,
    head: wantedHead,
    base: wantedBase,
    authorization: null,
  });
  await check(place);
  await release();
  expect(existsSync(sentinel) ? readFileSync(sentinel, "utf8") : "nothing ran").toBe("nothing ran");
}

describe("nothing runs", () => {
  it("that the reviewed repository configures", async () => {
    await bothWays(
      {
        "a.txt": "needle\n",
        "b.md": "b\n",
        ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n*.md diff=evil\n",
      },
      { "a.txt": "needle 2\n", "b.md": "b2\n" },
      async (place) => {
        const seen = await review(place);
        expect(seen.found).toEqual(["a.txt"]);
        expect(seen.patches["b.md"]).toContain("+b2");
      },
      (repo) => {
        const hooks = join(repo.dir, ".git", "hooks");
        mkdirSync(hooks, { recursive: true });
        for (const hook of ["post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"]) {
          writeFileSync(join(hooks, hook), readFileSync(command), { mode: 0o755 });
        }
        const settings = {
          "core.fsmonitor": command,
          "core.hooksPath": hooks,
          "core.pager": command,
          "core.sshCommand": command,
          "core.alternateRefsCommand": command,
          "core.askPass": command,
          "credential.helper": command,
          "diff.external": command,
          "diff.evil.command": command,
          "diff.evil.textconv": command,
          "filter.evil.smudge": command,
          "filter.evil.clean": command,
          "filter.evil.process": command,
          "filter.evil.required": "true",
          "gpg.program": command,
          "log.showSignature": "true",
          "uploadpack.packObjectsHook": command,
          "alias.diff-tree": `!${command}`,
          "alias.ls-tree": `!${command}`,
          "trace2.normalTarget": sentinel,
          "submodule.recurse": "true",
        };
        // Something checked out and then changed, so that git has a reason to filter when it looks for changes.
        repo.git("checkout", "-qf", "main");
        writeFileSync(join(repo.dir, "a.txt"), "dirty\n");
        for (const [key, value] of Object.entries(settings)) repo.git("config", key, value);
        // An unguarded git falls for it.
        repo.bytes(["diff", "main", "topic"], "", [0, 128]);
        expect(readFileSync(sentinel, "utf8")).toContain("attack.sh");
      },
    );
  });

  it("of a bare repository that lies in the tree", async () => {
    const bare = {
      "vendor/evil/HEAD": "ref: refs/heads/main\n",
      "vendor/evil/config": `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = ${command}\n`,
      "vendor/evil/objects/info/keep": "",
      "vendor/evil/refs/keep": "",
    };
    await bothWays({ "a.txt": "needle\n" }, bare, async (place) => {
      expect((await review(place)).found).toEqual(["a.txt"]);
      const inside = join(place.root, "vendor", "evil");
      // Whoever points the command line into such a folder gets the repository around it, not this one.
      await expect(openLocalRange({ repo: inside, base: "HEAD", head: "HEAD", gitPath })).rejects.toThrow();
    });
  });

  it("of submodules, which are never fetched", async () => {
    const gitmodules = (url: string) =>
      `[submodule "s"]\n\tpath = s\n\turl = ${url}\n\tupdate = !${command}\n`;
    await bothWays(
      {
        "a.txt": "needle\n",
        ".gitmodules": gitmodules("ext::sh -c evil"),
        s: { mode: "160000", data: "1".repeat(40) },
      },
      { ".gitmodules": gitmodules("--upload-pack=evil"), s: { mode: "160000", data: "2".repeat(40) } },
      async (place) => {
        const seen = await review(place);
        expect(seen.patches.s).toContain(
          `-Subproject commit ${"1".repeat(40)}\n+Subproject commit ${"2".repeat(40)}`,
        );
        expect(readdirSync(join(place.root, "s"))).toEqual([]);
      },
    );
  });
});

describe("the reviewed files", () => {
  it("are the blobs byte for byte, whatever attributes ask for", async () => {
    const attributes = "* ident eol=crlf text=auto working-tree-encoding=UTF-16\n*.bin binary\n";
    const files = { "a.c": "$Id$\r\nneedle\n", "b.txt": "needle\n", "c.bin": "needle\n" };
    await bothWays({}, { ".gitattributes": attributes, ...files }, async (place) => {
      for (const [path, text] of Object.entries(files)) {
        expect(readFileSync(join(place.root, path), "utf8")).toBe(text);
      }
      const seen = await review(place);
      expect(seen.found).toEqual(["a.c", "b.txt", "c.bin"]);
      expect(seen.texts).toMatchObject(files);
    });
  });

  it("cannot be hidden by attributes and ignore files", async () => {
    const hiding = {
      ".gitattributes": "* -diff binary linguist-generated\n",
      ".ignore": "*\n",
      ".rgignore": "*\n",
      ".gitignore": "*\n",
    };
    await bothWays(
      { "a.js": "old\n" },
      { "a.js": "needle\n", ".hidden/b.js": "needle\n", ...hiding },
      async (place) => {
        const seen = await review(place);
        expect(seen.patches["a.js"]).toContain("-old\n+needle\n");
        expect(seen.changes.find((one) => one.path === "a.js")?.additions).toBe(1);
        expect(seen.found).toEqual([".hidden/b.js", "a.js"]);
      },
    );
  });

  it("do not lead out of the tree", async () => {
    const secret = join(folder.path, "secret.txt");
    writeFileSync(secret, "needle\n");
    const links = {
      absolute: { mode: "120000", data: secret },
      folder: { mode: "120000", data: folder.path },
      up: { mode: "120000", data: "../../../../../.." },
      needle: { mode: "120000", data: "needle" },
    } as const;
    await bothWays({}, { ...links, "real.txt": "needle\n" }, async (place) => {
      for (const name of Object.keys(links)) expect(lstatSync(join(place.root, name)).isFile()).toBe(true);
      const seen = await review(place);
      expect(seen.found).toEqual(["real.txt"]);
      expect(seen.texts.absolute).toBe(secret);
    });
  });

  it("may be named like options and like git's magic", async () => {
    const names = [
      "--output=executed",
      "-O",
      ":(exclude)a",
      "--pre=sh",
      "a\nb",
      "é",
      "{a,b}",
      "!x",
      "-",
      "--",
      "*",
    ];
    const files = Object.fromEntries(names.map((name) => [name, "needle\n"]));
    await bothWays({}, files, async (place) => {
      const seen = await review(place);
      expect(seen.found.sort()).toEqual(names.sort());
      expect(Object.keys(seen.texts).sort()).toEqual(names.sort());
      await using workspace = openWorkspace(place);
      for (const path of names) {
        const hits = await workspace.search({ ...query, path }, AbortSignal.timeout(20_000));
        expect(hits).toMatchObject({ matches: [{ path, line: 1 }] });
      }
    });
  });
});

describe("the repository under review", () => {
  it("is not written to", async () => {
    using repo = GitRepo.create();
    repo.commit("base", { "a.txt": "a\n" });
    repo.branch("topic");
    repo.commit("head", { "a.txt": "b\n" });
    mkdirSync(join(repo.dir, "sub"));
    writeFileSync(join(repo.dir, "a.txt"), "b\n");
    const snapshot = () =>
      readdirSync(repo.dir, { recursive: true, withFileTypes: true })
        .map((one) => join(one.parentPath, one.name))
        .map((path) => `${path} ${lstatSync(path).mtimeMs} ${lstatSync(path).size}`);
    const before = snapshot();
    await using range = await openLocalRange({
      repo: join(repo.dir, "sub"),
      base: "main",
      head: "HEAD",
      gitPath,
    });
    await review(range.place);
    expect(range.dirty).toBe(false);
    expect(snapshot()).toEqual(before);
  });
});
