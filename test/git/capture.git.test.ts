import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../src/git/object-workspace.ts";
import { type LocalRangeOptions, openLocalRange } from "../../src/git/range.ts";
import type { RevisionPlace } from "../../src/git/workspace.ts";
import { fingerprintOf } from "../cli/sample-repo.ts";
import { GitRepo, gitPath, TempFolder, testGitEnvironment } from "../support/git-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";

let folder: TempFolder;
let repo: GitRepo;
beforeEach(() => {
  folder = new TempFolder("capture");
  repo = GitRepo.create({ dir: join(folder.path, "source") });
  repo.commit("base", { "a.txt": "one\n", "b/c.txt": "two\n", ".gitignore": "*.log\n" });
  repo.branch("topic");
});
afterEach(() => folder.dispose());

const open = (options: Partial<LocalRangeOptions> = {}) =>
  openLocalRange({
    ...{ repo: repo.dir, base: "main", head: "HEAD", scope: "work_tree", gitPath, tempDir: folder.path },
    ...options,
  });

/** The changed paths of a range, with everything read that a review reads. */
async function changed(options: Partial<LocalRangeOptions> = {}): Promise<string[]> {
  await using range = await open(options);
  await using workspace = openWorkspace(range.place);
  const changes = await workspace.changes();
  for (const change of changes) await workspace.patch(change, 3);
  return changes.map(({ path, type }) => `${type} ${path}`);
}

const git = (dir: string, ...args: string[]) => {
  const end = spawnSync("git", args, { cwd: dir, env: testGitEnvironment, maxBuffer: 1 << 28 });
  if (end.status !== 0) throw new Error(`git ${args.join(" ")}: ${end.stderr}`);
  return `${end.stdout}`.trim();
};

/** Objects that a range names and that cannot be read. */
function missingObjects({ gitDir, shas }: RevisionPlace): string[] {
  const run = (args: string[], input = "") =>
    `${spawnSync("git", [`--git-dir=${gitDir}`, ...args], { input, maxBuffer: 1 << 28 }).stdout}`;
  const blobs = run(["ls-tree", "-r", "-t", shas.head])
    .split("\n")
    .filter((line) => line && !line.startsWith("160000"));
  const oids = blobs.map((line) => `${line.split(/\s/)[2]}\n`).join("");
  return run(["cat-file", "--batch-check"], oids)
    .split("\n")
    .filter((line) => line.endsWith("missing"));
}

/** A step of somebody who works in a repository. */
type Step =
  | { kind: "write" | "link"; path: string; text: string }
  | { kind: "remove" | "executable" | "stage" | "unstage" | "intend" | "assume" | "skip"; path: string }
  | { kind: "move"; path: string; to: string }
  | { kind: "submodule" | "nested" | "merge" };

const paths = [
  ...[
    "a.txt",
    "b/c.txt",
    "b/d.txt",
    "b/deep/e.txt",
    "crlf.txt",
    "x.flt",
    "keep.txt",
    "new.txt",
    "b",
    "a.txt/in",
  ],
  ...[
    "made/by/hand.txt",
    "made",
    "trace.log",
    "é.txt",
    'new\nline "q".txt',
    "-n",
    ":(glob)*",
    "sub/inner.txt",
    ".gitattributes",
  ],
];
const texts = [
  ...[
    "one\n",
    "two\n",
    "old and gone\n",
    "",
    "a\r\nb\r\n",
    "mixed\r\nends\n",
    "$Id: 1 $\n",
    "\0binary\0",
    "no end",
  ],
  ...[
    "* text=auto\n",
    "*.txt text eol=crlf\n",
    "*.txt ident\n",
    "* filter=evil\n",
    "*.txt -text\n",
    "caf\xe9\n",
  ],
];

const path = fc.constantFrom(...paths);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("write" as const), path, text: fc.constantFrom(...texts) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("link" as const),
      path,
      text: fc.constantFrom("a.txt", "b", "/etc", "gone"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("remove" as const, "stage" as const), path }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "executable" as const,
        "unstage" as const,
        "intend" as const,
        "assume" as const,
        "skip" as const,
      ),
      path,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("move" as const), path, to: path }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("submodule" as const, "nested" as const, "merge" as const),
    }),
  },
);

const settings = fc.record({
  autocrlf: fc.constantFrom("false", "input", "true"),
  attributes: fc.constantFrom("", "* text=auto\n", "*.flt filter=evil\n*.txt ident\n", "*.txt text eol=lf\n"),
  index: fc.constantFrom("plain", "split", "untracked cache", "fsmonitor", "version 4"),
  linked: fc.boolean(),
  objectFormat: fc.constantFrom("sha1" as const, "sha1" as const, "sha256" as const),
});

/** Steps that make no sense at that point are refused by git or the disk, and left out. */
function take(dir: string, one: Step): void {
  const at = (name: string) => join(dir, name);
  try {
    switch (one.kind) {
      case "write":
        mkdirSync(dirname(at(one.path)), { recursive: true });
        return writeFileSync(at(one.path), Buffer.from(one.text, "latin1"));
      case "link":
        rmSync(at(one.path), { recursive: true, force: true });
        mkdirSync(dirname(at(one.path)), { recursive: true });
        return symlinkSync(one.text, at(one.path));
      case "remove":
        return rmSync(at(one.path), { recursive: true });
      case "executable":
        return chmodSync(at(one.path), 0o755);
      case "move":
        mkdirSync(dirname(at(one.to)), { recursive: true });
        return renameSync(at(one.path), at(one.to));
      case "stage":
        return void git(dir, "add", "--all", "--", `:(literal)${one.path}`);
      case "unstage":
        return void git(dir, "rm", "-r", "--quiet", "--cached", "--", `:(literal)${one.path}`);
      case "intend":
        return void git(dir, "add", "--intent-to-add", "--", `:(literal)${one.path}`);
      case "assume":
        return void git(dir, "update-index", "--assume-unchanged", "--", one.path);
      case "skip":
        return void git(dir, "update-index", "--skip-worktree", "--", one.path);
      case "submodule":
        return void git(at("sub"), "commit", "--quiet", "--allow-empty", "-m", "more");
      case "nested":
        mkdirSync(at("nested"), { recursive: true });
        git(at("nested"), "init", "--quiet");
        writeFileSync(at("nested/file.txt"), "of another repository\n");
        return void git(at("nested"), "add", ".");
      case "merge":
        return void spawnSync("git", ["merge", "--quiet", "other"], { cwd: dir, env: testGitEnvironment });
    }
  } catch {}
}

/** A repository in which something happened that is not committed. `sentinel` exists if a program of its configuration has run. */
function prepare(
  root: string,
  {
    autocrlf,
    attributes,
    index,
    linked,
    objectFormat,
  }: typeof settings extends fc.Arbitrary<infer T> ? T : never,
) {
  const main = GitRepo.create({ dir: join(root, "main"), objectFormat });
  const sentinel = join(root, "executed");
  main.git("config", "core.autocrlf", autocrlf);
  const start = {
    ".gitattributes": attributes,
    ".gitignore": "*.log\n",
    "a.txt": "old and gone\n",
    "b/c.txt": "two\n",
    "b/deep/e.txt": "e\n",
    "crlf.txt": "a\r\nb\r\n",
    "x.flt": "x\n",
    "keep.txt": "kept\n",
    "é.txt": "e\n",
  };
  main.commit("old", start);
  mkdirSync(join(main.dir, "sub"));
  git(main.dir, "-C", "sub", "init", "--quiet", `--object-format=${objectFormat}`);
  git(join(main.dir, "sub"), "commit", "--quiet", "--allow-empty", "-m", "sub");
  main.commit("base", { "a.txt": "one\n" });
  main.git("branch", "other");
  main.commit("head", { "b/c.txt": "two of main\n", "keep.txt": "kept by main\n" });
  main.git("checkout", "--quiet", "other");
  main.commit("other", { "b/c.txt": "two of other\n", "keep.txt": null, "x.flt": "x of other\n" });
  main.git("checkout", "--quiet", "main");
  // All that follows would run if git read the repository's configuration.
  const evil = `touch '${sentinel}'; cat`;
  for (const key of [
    "filter.evil.clean",
    "filter.evil.smudge",
    "diff.evil.textconv",
    "diff.external",
    "core.sshCommand",
  ])
    main.git("config", key, evil);
  mkdirSync(join(main.dir, ".git/hooks"), { recursive: true });
  for (const hook of ["post-index-change", "pre-commit", "reference-transaction"]) {
    writeFileSync(join(main.dir, ".git/hooks", hook), `#!/bin/sh\ntouch '${sentinel}'\n`, { mode: 0o755 });
  }
  const dir = linked ? join(root, "linked") : main.dir;
  if (linked) main.git("worktree", "add", "--quiet", dir, "-b", "elsewhere");
  if (index === "split") git(dir, "update-index", "--split-index");
  if (index === "untracked cache") git(dir, "update-index", "--force-untracked-cache");
  if (index === "version 4") git(dir, "update-index", "--index-version=4");
  if (index === "fsmonitor") {
    writeFileSync(join(root, "monitor"), `#!/bin/sh\ntouch '${sentinel}'\nprintf 'token\\0/\\0'\n`, {
      mode: 0o755,
    });
    git(dir, "config", "core.fsmonitor", join(root, "monitor"));
    git(dir, "status");
  }
  return { dir, sentinel };
}

/** The tree that git itself makes, in a copy of everything and without filters. */
function oracle(root: string, dir: string): { staged: string | null; all: string } {
  const copy = `${root}-copy`;
  cpSync(root, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  const own = join(copy, dir.slice(root.length));
  if (existsSync(join(copy, "linked"))) {
    // The two folders of a linked work tree name each other.
    writeFileSync(join(own, ".git"), `gitdir: ${join(copy, "main/.git/worktrees/linked")}\n`);
    writeFileSync(join(copy, "main/.git/worktrees/linked/gitdir"), `${join(own, ".git")}\n`);
  }
  for (const section of ["filter.evil", "diff.evil"]) git(own, "config", "--remove-section", section);
  spawnSync("git", ["config", "--unset", "core.fsmonitor"], { cwd: own, env: testGitEnvironment });
  const staged = spawnSync("git", ["write-tree"], { cwd: own, env: testGitEnvironment });
  git(own, "-c", "core.safecrlf=false", "add", "--all", "--", ".", ":(exclude)nested");
  const all = git(own, "write-tree");
  rmSync(copy, { recursive: true });
  return { staged: staged.status === 0 ? `${staged.stdout}`.trim() : null, all };
}

describe("uncommitted changes are captured", () => {
  it("as git itself would store them, and nothing of the user's is written or run", {
    timeout: 900_000,
  }, async () => {
    const claim = fc.asyncProperty(
      settings,
      fc.array(step, { minLength: 1, maxLength: 14 }),
      async (given, steps) => {
        using own = new TempFolder("captured");
        const root = join(own.path, "root");
        mkdirSync(root);
        const { dir, sentinel } = prepare(root, given);
        for (const one of steps) take(dir, one);
        const expected = oracle(root, dir);
        rmSync(sentinel, { force: true });
        const before = fingerprintOf(root);
        const options = { repo: dir, tempDir: own.path } as const;
        await using all = await open({ ...options, scope: "uncommitted" });
        expect(all.place.shas.headTree).toBe(expected.all);
        expect(missingObjects(all.place)).toEqual([]);
        await using staged = await open({ ...options, scope: "staged" });
        if (expected.staged !== null) expect(staged.place.shas.headTree).toBe(expected.staged);
        expect(missingObjects(staged.place)).toEqual([]);
        // Searches read the disk where they can.
        for (const range of [all, staged]) {
          await using workspace = openWorkspace(range.place);
          const files = [...(await workspace.tree("head")).values()].filter(({ mode }) =>
            mode.startsWith("100"),
          );
          const query = {
            pattern: "e",
            contextLines: 0,
            maxResults: 99,
            mode: "files_with_matches",
            fixedString: true,
          } as const;
          const hits = await workspace.search(
            { ...query, ignoreCase: false, wholeWord: false, invertMatch: false },
            AbortSignal.timeout(60_000),
          );
          const withE = await Promise.all(
            files.map(async ({ path: name, oid }) => {
              const { text, binary } = await workspace.readBlob(oid);
              return !binary && text.includes("e") ? [name] : [];
            }),
          );
          expect(hits.mode === "files_with_matches" && hits.paths.toSorted()).toEqual(
            withE.flat().toSorted(),
          );
        }
        expect(existsSync(sentinel)).toBe(false);
        expect(fingerprintOf(root)).toEqual(before);
      },
    );
    await fc.assert(claim, {
      numRuns: Number(process.env.RUNS ?? (long ? 300 : 15)),
      seed: long ? Date.now() : 7,
    });
  });
});
