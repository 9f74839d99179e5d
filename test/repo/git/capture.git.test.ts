import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRangeOptions, openLocalRange } from "../../../src/repo/git/range.ts";
import type { RevisionPlace } from "../../../src/repo/git/workspace.ts";
import { fingerprintOf } from "../../cli/sample-repo.ts";
import { type Content, GitRepo, gitPath, TempFolder, testGitEnvironment } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

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
  ..."a.txt b/c.txt b/d.txt b/deep/e.txt crlf.txt x.flt keep.txt new.txt b a.txt/in".split(" "),
  ..."made/by/hand.txt made trace.log é.txt -n :(glob)* sub/inner.txt .gitattributes".split(" "),
  'new\nline "q".txt',
];
const texts = [
  ...["one\n", "two\n", "old and gone\n", "", "a\r\nb\r\n", "mixed\r\nends\n", "$Id: 1 $\n", "no end"],
  ...["* text=auto\n", "*.txt text eol=crlf\n", "*.txt ident\n", "* filter=evil\n", "*.txt -text\n"],
  ...["caf\xe9\n", "\0binary\0"],
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
function take(dir: string, one: Step): unknown {
  const at = (name: string) => join(dir, name);
  // Attributes that only the index has left hold until it loses them: then git itself answers once so and once otherwise.
  if ((one.kind === "remove" || one.kind === "move" || one.kind === "link") && one.path === ".gitattributes")
    return;
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
        return git(dir, "add", "--all", "--", `:(literal)${one.path}`);
      case "unstage":
        return git(dir, "rm", "-r", "--quiet", "--cached", "--", `:(literal)${one.path}`);
      case "intend":
        return git(dir, "add", "--intent-to-add", "--", `:(literal)${one.path}`);
      case "assume":
        return git(dir, "update-index", "--assume-unchanged", "--", one.path);
      case "skip":
        return git(dir, "update-index", "--skip-worktree", "--", one.path);
      case "submodule":
        return git(at("sub"), "commit", "--quiet", "--allow-empty", "-m", "more");
      case "nested":
        mkdirSync(at("nested"), { recursive: true });
        git(at("nested"), "init", "--quiet");
        writeFileSync(at("nested/file.txt"), "of another repository\n");
        return git(at("nested"), "add", ".");
      case "merge":
        return spawnSync("git", ["merge", "--quiet", "other"], { cwd: dir, env: testGitEnvironment });
    }
  } catch {
    return undefined;
  }
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
  const start: Record<string, Content> = {
    ".gitattributes": attributes,
    ".gitignore": "*.log\n",
    "a.txt": "old and gone\n",
    "b/c.txt": "two\n",
    "b/deep/e.txt": "e\n",
    "crlf.txt": "a\r\nb\r\n",
    "x.flt": "x\n",
    "keep.txt": "kept\n",
    link: { mode: "120000", data: "a.txt" },
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
  mkdirSync(join(main.dir, ".git/info"), { recursive: true });
  writeFileSync(join(main.dir, ".git/info/exclude"), "excluded.txt\n");
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
  // A copy of a file has another inode. git must trust it nevertheless as it trusts the original, which it may not read again.
  for (const setting of [
    ["core.checkStat", "minimal"],
    ["core.trustctime", "false"],
  ] as const)
    git(own, "config", ...setting);
  const staged = spawnSync("git", ["write-tree"], { cwd: own, env: testGitEnvironment });
  git(own, "-c", "core.safecrlf=false", "add", "--all", "--", ".", ":(exclude)nested");
  const all = git(own, "write-tree");
  rmSync(copy, { recursive: true });
  return { staged: staged.status === 0 ? `${staged.stdout}`.trim() : null, all };
}

describe("uncommitted changes", () => {
  it("Uncommitted changes are captured as git would store them, without running anything", {
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
          const query = { ...needle, pattern: "e", mode: "files_with_matches" } as const;
          const hits = await workspace.search(query, AbortSignal.timeout(60_000));
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
      numRuns: Number(process.env.RUNS ?? (long ? 300 : 10)),
      seed: long ? Date.now() : 7,
    });
  });
});

/** A `git` that does something in the repository after its first `times` listings of changes. */
function disturbing(script: string, times: number): string {
  const path = join(folder.path, "disturbing-git");
  const count = join(folder.path, "listings");
  const lines = [
    "#!/bin/sh",
    `case "$*" in *" status "*) ;; *) exec ${gitPath} "$@" ;; esac`,
    `${gitPath} "$@" || exit`,
    `echo >> ${count}`,
    `[ "$(wc -l < ${count})" -gt ${times} ] && exit 0`,
    `cd ${repo.dir} && env -i HOME=/dev/null PATH="$PATH" sh -c '${script}' >&2`,
  ];
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o755 });
  return path;
}

const withheldIn = ({ place }: { place: RevisionPlace }) => Object.fromEntries(place.withheld ?? []);

describe("a capture", () => {
  it("A capture has the commits of a branch and uncommitted changes", async () => {
    repo.commit("done", { "a.txt": "done\n" });
    expect(await changed()).toEqual(["modified a.txt"]);
    repo.write({ "new.txt": "n\n", "trace.log": "ignored\n" });
    expect(await changed()).toEqual(["modified a.txt", "added new.txt"]);
    expect(await changed({ scope: "uncommitted" })).toEqual(["added new.txt"]);
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    expect((await workspace.commits(9)).map(({ message }) => message)).toEqual(["done"]);
    expect(await changed({ base: { names: ["no-such"], complaint: "none" } })).toEqual(["added new.txt"]);
    await expect(changed({ base: "no-such" })).rejects.toMatchObject({ code: "revision_unknown" });
    expect(await changed({ scope: "staged" })).toEqual([]);
    repo.git("add", "new.txt");
    repo.write({ "new.txt": null });
    expect(await changed({ scope: "staged" })).toEqual(["added new.txt"]);
    expect(await changed({ scope: "uncommitted" })).toEqual([]);
  });

  it("A capture is compared with nothing where there is no commit", async () => {
    using empty = GitRepo.create();
    empty.write({ "a.txt": "a\n" });
    const all = ["added a.txt"];
    expect(await changed({ repo: empty.dir, base: { names: ["main"], complaint: "none" } })).toEqual(all);
    expect(await changed({ repo: empty.dir, scope: "uncommitted" })).toEqual(all);
    expect(await changed({ repo: empty.dir, scope: "staged" })).toEqual([]);
    empty.git("add", ".");
    expect(await changed({ repo: empty.dir, scope: "staged" })).toEqual(all);
    const first = empty.commit("first");
    expect(await changed({ repo: empty.dir, scope: "commit", head: first })).toEqual(all);
    repo.git("checkout", "--quiet", "--orphan", "apart");
    repo.git("rm", "-rf", "--quiet", ".");
    repo.write({ "a.txt": "a\n" });
    expect(await changed({ base: { names: ["main"], complaint: "none" } })).toEqual(all);
  });

  it("A capture has an edit that leaves a file its size and its second, beside a removal", async () => {
    // The index is as new as the file, so only the content tells.
    for (let attempt = 0; attempt < 5; attempt++) {
      const text = ["old\n", "new\n"][attempt % 2] ?? "";
      repo.commit("before", { "a.txt": text, "gone.txt": "g\n" });
      writeFileSync(join(repo.dir, "a.txt"), "now\n");
      rmSync(join(repo.dir, "gone.txt"));
      await new Promise((resolve) => setTimeout(resolve, 1_000 - (Date.now() % 1_000)));
      expect(await changed({ scope: "uncommitted" })).toEqual(["modified a.txt", "deleted gone.txt"]);
    }
  });

  it("A capture has a file that git add -N only announced, although nothing of it is staged", async () => {
    repo.write({ "new.txt": "n\n" }).git("add", "--intent-to-add", "new.txt");
    expect(await changed({ scope: "staged" })).toEqual([]);
    expect(await changed({ scope: "uncommitted" })).toEqual(["added new.txt"]);
  });

  it("A capture of a bare repository has only commits", async () => {
    repo.commit("done", { "a.txt": "done\n" });
    const bare = join(folder.path, "bare.git");
    repo.git("clone", "--quiet", "--bare", repo.dir, bare);
    expect(await changed({ repo: bare })).toEqual(["modified a.txt"]);
    await expect(changed({ repo: bare, scope: "staged" })).rejects.toMatchObject({
      message: "A bare repository has no working tree",
    });
  });

  it("A capture of one commit has what its first parent lacks", async () => {
    const sha = repo.commit("one", { "a.txt": "one more\n" });
    repo.commit("two", { "b/c.txt": "three\n" });
    expect(await changed({ scope: "commit", head: sha })).toEqual(["modified a.txt"]);
    await expect(changed({ scope: "commit", head: "no-such" })).rejects.toMatchObject({
      code: "revision_unknown",
    });
    const shallow = join(folder.path, "shallow");
    repo.git("clone", "-q", "--depth", "1", "-b", "topic", `file://${repo.dir}`, shallow);
    await expect(changed({ repo: shallow, scope: "commit", head: "HEAD" })).rejects.toMatchObject({
      remedy: expect.stringContaining("--unshallow"),
    });
  });

  it("A capture withholds untracked secrets and data from models, and still has them", async () => {
    repo.write({
      ".env.local": "A=1\n",
      "b/server.PEM": "x\n",
      "b/id_ecdsa_work": "x\n",
      "x.key": "x\n",
      "big.sql": "x".repeat(1024 * 1024 + 1),
      "photo.dat": Buffer.from([1, 0, 2]),
      "plain.txt": "p\n",
      "b/staged.key": "x\n",
      "id_rsa.bak": "x\n",
      ".npmrc": "x\n",
      "id_map.py": "x = 1\n",
      ".env.example": "A=\n",
    });
    repo.git("add", "b/staged.key");
    await using range = await open();
    expect(withheldIn(range)).toEqual({
      ".env.local": "untracked and named like a secret: only scanned for secrets",
      "b/server.PEM": expect.stringContaining("named like a secret"),
      "b/id_ecdsa_work": expect.stringContaining("named like a secret"),
      "x.key": expect.stringContaining("named like a secret"),
      "id_rsa.bak": expect.stringContaining("named like a secret"),
      ".npmrc": expect.stringContaining("named like a secret"),
      "big.sql": "untracked and more than 1 MB: only scanned for secrets",
      "photo.dat": "untracked and binary: only scanned for secrets",
      "b/staged.key": "named like a secret: only scanned for secrets",
    });
    expect((await changed()).filter((one) => one.startsWith("added"))).toHaveLength(12);
  });

  it("A capture shows no model what a filter of the user's git would convert", async () => {
    repo.commit("attributes", { ".gitattributes": "*.enc filter=crypt\n", "a.enc": "plain\n" });
    repo.git("config", "filter.crypt.clean", "false");
    repo.write({ "a.enc": "more\n", "b.enc": "b\n" });
    await using range = await open();
    const why = "the filter crypt may convert it, and was not run: only scanned for secrets";
    expect(withheldIn(range)).toEqual({ "a.enc": why, "b.enc": why });
  });

  it("A capture follows the user's global ignores and line ends", async () => {
    const home = join(folder.path, "home");
    mkdirSync(join(home, ".config/git"), { recursive: true });
    const user = { home, configHome: join(home, ".config") };
    writeFileSync(join(home, ".config/git/ignore"), "*.swp\n");
    repo.write({ "x.swp": "x\n", "y.bak": "y\n" });
    expect(await changed({ user })).toEqual(["added y.bak"]);
    expect(await changed()).toEqual(["added x.swp", "added y.bak"]);
    writeFileSync(join(home, "ignored"), "*.bak\n");
    writeFileSync(join(home, "more"), "[core]\n\texcludesFile = ~/ignored\n\tautocrlf = input\n");
    writeFileSync(join(home, ".gitconfig"), "[include]\n\tpath = ~/more\n");
    expect(await changed({ user })).toEqual(["added x.swp"]);
    repo.write({ "a.txt": "one\r\n", "x.swp": null });
    expect(await changed({ user })).toEqual([]);
    expect(await changed({ user: null })).toContain("modified a.txt");
    // The repository's default overrides the user's.
    writeFileSync(join(home, ".gitconfig"), "[core]\n\tfileMode = false\n");
    repo.write({ "a.txt": "one\n" });
    chmodSync(join(repo.dir, "a.txt"), 0o755);
    expect(await changed({ user })).toContain("modified a.txt");
  });

  it("A capture names what it cannot hold, and waits for nothing", async () => {
    repo.commit("attributes", {
      ".gitattributes": "*.utf working-tree-encoding=UTF-16\n",
      "huge.txt": "h\n",
    });
    repo.write({ "b/c.txt": null, "odd.utf": Buffer.from([0xff, 0xfe, 0x41]), "new.txt": "n\n" });
    spawnSync("mkfifo", [join(repo.dir, "b/c.txt"), join(repo.dir, "pipe")]);
    truncateSync(join(repo.dir, "huge.txt"), 21 * 1024 * 1024);
    mkdirSync(join(repo.dir, "nested"));
    git(join(repo.dir, "nested"), "init", "--quiet");
    writeFileSync(join(repo.dir, "nested/inside.txt"), "i\n");
    await using range = await open();
    expect(
      Object.fromEntries(range.uncommitted?.left.map(({ path, reason }) => [path, reason]) ?? []),
    ).toEqual({
      "b/c.txt": "neither a file nor a link",
      "huge.txt": "more than 20 MB",
      "nested/": "a repository of its own",
      "odd.utf": "git cannot store it",
    });
    expect(await changed({ scope: "uncommitted" })).toEqual(["added new.txt"]);
    expect(missingObjects(range.place)).toEqual([]);
  });

  it("A capture refuses too many untracked files", async () => {
    mkdirSync(join(repo.dir, "packages"));
    for (let at = 0; at <= 10_000; at++) writeFileSync(join(repo.dir, `packages/${at}`), "");
    await expect(changed()).rejects.toMatchObject({
      code: "too_large",
      message: "There are 10001 untracked files, more than 10000",
    });
  });

  it("A capture is repeated if the index or HEAD moved, and given up if they keep moving", async () => {
    repo.write({ "a.txt": "edited\n" });
    const stage = "echo $$ > b/c.txt; git add b/c.txt";
    const commit = "git -c user.name=a -c user.email=a@b commit -qam $$ --allow-empty";
    for (const script of [stage, commit]) {
      rmSync(join(folder.path, "listings"), { force: true });
      expect(await changed({ gitPath: disturbing(script, 2) })).toEqual([
        "modified a.txt",
        "modified b/c.txt",
      ]);
    }
    await expect(changed({ gitPath: disturbing(stage, 99), scope: "uncommitted" })).rejects.toMatchObject({
      message: "HEAD or the index changed each of the 3 times that the working tree was read",
    });
    expect(readdirSync(folder.path).filter((name) => name.startsWith("hunkwise-range-"))).toEqual([]);
  });

  it.each([
    ["are removed", "rm a.txt new.txt", ["deleted a.txt"]],
    ["become folders", "rm a.txt new.txt; mkdir a.txt new.txt", ["deleted a.txt"]],
    ["become links", "rm a.txt new.txt; ln -s b a.txt; ln -s b new.txt", ["added a.txt", "added new.txt"]],
    ["become pipes", "rm a.txt new.txt; mkfifo a.txt new.txt", []],
  ])("A capture accepts files that %s meanwhile", async (_, script, expected) => {
    repo.write({ "a.txt": "edited\n", "new.txt": "n\n" });
    const found = await changed({ gitPath: disturbing(script, 1), scope: "uncommitted" });
    expect(found.map((one) => one.replace("type_changed", "added"))).toEqual(expected);
  });

  it("A killed capture leaves the user's repository unchanged", {
    timeout: 300_000,
  }, async () => {
    repo.commit("old", { "a.txt": "new again\n", "b/more.txt": "m\n" });
    repo.write({ "a.txt": "one\n", "new.txt": "x\n".repeat(5_000), "b/more.txt": null });
    repo.git("add", "a.txt");
    const before = fingerprintOf(repo.dir);
    const range = JSON.stringify(join(import.meta.dirname, "../../../src/repo/git/range.ts"));
    const options = {
      repo: repo.dir,
      base: "main",
      head: "HEAD",
      scope: "work_tree",
      gitPath,
      tempDir: folder.path,
    };
    const program = `const { openLocalRange } = await import(${range});
      console.log("begins");
      for (;;) await (await openLocalRange(${JSON.stringify(options)})).dispose();`;
    for (let round = 0; round < (long ? 60 : 8); round++) {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      await new Promise((resolve) => setTimeout(resolve, ((round * 37) % 160) + 1));
      child.kill("SIGKILL");
      await once(child, "close");
      expect(fingerprintOf(repo.dir)).toEqual(before);
    }
    // The next one removes what they left.
    const left = async () => {
      await (await open()).dispose();
      const names = readdirSync(folder.path).filter((name) => name !== "source");
      const inside = names.flatMap((name) =>
        readdirSync(join(folder.path, name)).map((one) => join(name, one)),
      );
      // What was not even begun has at most an empty tag, and waits for a day.
      return inside.filter(
        (one) => basename(one) !== "owner.json" || statSync(join(folder.path, one)).size > 0,
      );
    };
    // A git may outlive its process for a moment.
    await expect.poll(left).toEqual([]);
    expect(fingerprintOf(repo.dir)).toEqual(before);
  });
});
