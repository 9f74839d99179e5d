import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pathFault } from "../../src/repo/diff/paths.ts";
import { fileStart, openConfined } from "../../src/repo/git/confined-file.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { checkedOut } from "../support/checked-out.ts";
import { GitRepo, gitPath, TempFolder } from "../support/git-repo.ts";
import { needle } from "../support/needle.ts";

const SECRET = "canary-of-a-neighbor";
const confinedFile = pathToFileURL(join(import.meta.dirname, "../../src/repo/git/confined-file.ts")).href;

/** A reader's content, or the word of its refusal. */
function attempt(read: () => Buffer): string {
  try {
    return read().toString();
  } catch (error) {
    return `refused ${(error as NodeJS.ErrnoException).code}`;
  }
}

const start = (root: string, key: string) => attempt(() => fileStart(root, key, 100));

/** Simulates a system that does not show the open files of a process. */
function startWithoutProc(root: string, key: string): string {
  return attempt(() => {
    const file = openConfined(root, key, { descriptors: "/nowhere" });
    try {
      return readFileSync(file);
    } finally {
      closeSync(file);
    }
  });
}

describe.each([
  ["by the descriptor", start],
  ["by a second look, without /proc", startWithoutProc],
])("a checkout with links in it, judged %s", (_, read) => {
  let folder: TempFolder;
  let root: string;
  let secret: string;

  beforeAll(() => {
    folder = new TempFolder("files");
    secret = join(folder.path, "secret");
    root = join(folder.path, "tree");
    mkdirSync(join(root, "a", "b"), { recursive: true });
    mkdirSync(join(folder.path, "tree-neighbor"));
    writeFileSync(secret, SECRET);
    writeFileSync(join(folder.path, "tree-neighbor", "x"), SECRET);
    writeFileSync(join(root, "a", "b", "file"), "plain");
    writeFileSync(join(root, "withheld"), SECRET);
    const links = {
      absolute: secret,
      relative: "../secret",
      inside: "withheld",
      "first-of-a-chain": "absolute",
      folder: folder.path,
      neighbor: "../tree-neighbor",
      top: "/",
      self: ".",
      loop: "loop",
      dangling: "nothing",
      "a/b/up": "../../..",
      environment: "/proc/self/environ",
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
    symlinkSync(root, join(folder.path, "tree-link"));
  });
  afterAll(() => folder.dispose());

  it("symlinks: A plain file is read, even if the checkout itself is reached through a link", () => {
    expect(read(root, "a/b/file")).toBe("plain");
    expect(read(join(folder.path, "tree-link"), "a/b/file")).toBe("plain");
  });

  it.each([
    "absolute",
    "relative",
    "inside",
    "first-of-a-chain",
    "loop",
    "dangling",
    "environment",
    "self",
    "top",
  ])("symlinks: The link '%s' is not followed", (name) => expect(read(root, name)).toBe("refused ELOOP"));

  it.each([
    "folder/secret",
    "neighbor/x",
    "top/etc/passwd",
    "top/proc/self/environ",
    "self/withheld",
    "self/a/b/file",
    "a/b/up/secret",
    "folder/tree/a/b/file",
  ])("symlinks: No folder on the way to '%s' may be a link", (name) => {
    expect(read(root, name)).toBe("refused not_allowed");
  });
});

/** Each is a way out of the repository or into `.git` on some file system. */
const hardPaths = [
  ...["..", "../secret", "a/../../secret", "a/..", "./../secret", "..\\secret", "a\\..\\..\\secret"],
  ...["/etc/passwd", "//etc/passwd", "/proc/self/environ", "", "a\0b", "secret\0.txt", "\0"],
  ...[".git", ".git/config", "a/.git/HEAD", ".GIT/config", ".Git", ".git.", ".git ", ".git. .", ".git/"],
  ...["git~1/config", "GIT~1", "git~2", ".git::$INDEX_ALLOCATION/config", ".git:x", "a\\.git\\config"],
  ...[".g\u200cit/config", ".git\u200d", "\ufeff.git", ".g\u202eit", "git~1."],
];

describe("the letters of a path", () => {
  it.each(hardPaths)("symlinks: The path %j leads nowhere", (path) => {
    using folder = new TempFolder("paths");
    mkdirSync(join(folder.path, "tree", ".git"), { recursive: true });
    for (const name of ["secret", "tree/.git/config", "tree/.git/HEAD"])
      writeFileSync(join(folder.path, name), SECRET);
    expect(pathFault(path)).toBeDefined();
    expect(start(join(folder.path, "tree"), path)).toBe("refused not_allowed");
  });

  it("Odd letters are allowed in the names of normal files", () => {
    const plain = [
      ".github/x",
      ".gitignore",
      "a/.gitattributes",
      "x.git",
      "..a",
      "a..b/...",
      "git~",
      "-rf",
      " ",
    ];
    expect(plain.filter((path) => pathFault(path) !== undefined)).toEqual([]);
  });
});

describe.runIf(process.platform === "linux")("an entry that is not a regular file", () => {
  it("symlinks: A pipe, a socket, a device or a folder is neither read nor waited for", async () => {
    using folder = new TempFolder("files");
    execFileSync("mkfifo", [join(folder.path, "pipe")]);
    const server = createServer().listen(join(folder.path, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    mkdirSync(join(folder.path, "folder"));
    expect(start(folder.path, "pipe")).toBe("refused not_allowed");
    expect(start(folder.path, "socket")).toMatch(/^refused ENXIO/);
    expect(start(folder.path, "folder")).toBe("refused not_allowed");
    expect(start("/dev", "zero")).toBe("refused not_allowed");
    await new Promise((resolve) => server.close(resolve));
  });

  // In a separate process, which can be killed: a process blocked in `open` handles no events.
  it("symlinks: A pipe without a writer is refused at once", () => {
    using folder = new TempFolder("files");
    execFileSync("mkfifo", [join(folder.path, "pipe")]);
    const script = `
      const { openConfined } = await import(${JSON.stringify(confinedFile)});
      try { openConfined(process.argv[1], "pipe"); } catch ({ code }) { console.log("refused", code); }`;
    const { signal, stdout } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", script, folder.path],
      { encoding: "utf8", timeout: 30_000, killSignal: "SIGKILL" },
    );
    expect({ signal, stdout }).toEqual({ signal: null, stdout: "refused not_allowed\n" });
  });
});

/** Swaps a file and a link to the secret by renaming, without a pause. */
const swapper = `
  const { renameSync, symlinkSync, writeFileSync, mkdirSync, rmSync } = require("node:fs");
  const [root, secret, outside] = process.argv.slice(1);
  for (;;) {
    symlinkSync(secret, root + "/draft"); renameSync(root + "/draft", root + "/leaf");
    writeFileSync(root + "/draft", "plain"); renameSync(root + "/draft", root + "/leaf");
    renameSync(root + "/folder", root + "/aside"); symlinkSync(outside, root + "/folder");
    rmSync(root + "/folder"); renameSync(root + "/aside", root + "/folder");
  }`;

describe.runIf(process.platform === "linux")("a file that is swapped for a link while it is read", () => {
  it("symlinks: A file that is swapped for a link is read as itself or not at all, at any moment", async () => {
    using folder = new TempFolder("swap");
    const [root, secret] = [join(folder.path, "tree"), join(folder.path, "leaf")];
    mkdirSync(join(root, "folder"), { recursive: true });
    writeFileSync(secret, SECRET);
    writeFileSync(join(root, "folder", "leaf"), "plain");
    writeFileSync(join(root, "leaf"), "plain");
    const child = spawn(process.execPath, ["-e", swapper, root, secret, folder.path], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("close", resolve));
    const seen: Record<string, Set<string>> = { guarded: new Set(), unguarded: new Set() };
    try {
      // Until a vulnerable reader has met each kind of moment too.
      for (let round = 0; round < 200_000 && !(round > 3_000 && isAllSeen(seen)); round++) {
        for (const name of ["leaf", "folder/leaf"]) {
          seen.guarded?.add(`${name} ${start(root, name)}`);
          seen.unguarded?.add(`${name} ${attempt(() => readFileSync(join(root, name)))}`);
        }
      }
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
    expect(seen.unguarded).toContain(`leaf ${SECRET}`);
    expect(seen.unguarded).toContain(`folder/leaf ${SECRET}`);
    expect([...(seen.guarded ?? [])].filter((one) => one.includes(SECRET))).toEqual([]);
    expect(seen.guarded).toContain("leaf plain");
    expect(seen.guarded).toContain("folder/leaf plain");
  });
});

const isAllSeen = ({ guarded, unguarded }: Record<string, Set<string>>) =>
  ["leaf", "folder/leaf"].every(
    (name) => unguarded?.has(`${name} ${SECRET}`) && guarded?.has(`${name} plain`),
  );

/** Links and files in up to three folders, with one of three names. */
const name = fc.constantFrom("a", "b", "c");
const place = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
const target = fc.constantFrom(".", "..", "a", "b/c", "../a", "../../secret", "/", "a/b", "../b/c");
const entries = fc.array(fc.tuple(place, fc.option(target)), { minLength: 1, maxLength: 8 });

describe("any arrangement of files, folders and links", () => {
  it("symlinks: Any arrangement of links gives only the content of paths without links", () => {
    const property = fc.property(
      entries,
      fc.array(place, { minLength: 3, maxLength: 6 }),
      (arranged, asked) => {
        using folder = new TempFolder("any");
        const root = join(folder.path, "tree", "inner");
        mkdirSync(root, { recursive: true });
        writeFileSync(join(folder.path, "secret"), SECRET);
        for (const [path, link] of arranged) put(root, path, link);
        for (const path of [...asked, ...arranged.map(([one]) => one)]) {
          const expected = isPlain(root, path) ? path : /^refused /;
          for (const read of [start, startWithoutProc]) expect(read(root, path)).toMatch(expected);
        }
      },
    );
    fc.assert(property, { numRuns: 150, seed: 7 });
  });
});

/** Skips entries that cannot be created. */
function put(root: string, path: string, link: string | null): void {
  try {
    mkdirSync(join(root, path, ".."), { recursive: true });
    if (link === null) writeFileSync(join(root, path), path, { flag: "wx" });
    else symlinkSync(link, join(root, path));
  } catch {
    // The path is taken.
  }
}

/** The slow way: checks each folder without following it. */
function isPlain(root: string, path: string): boolean {
  const names = path.split("/");
  try {
    const above = names.slice(0, -1).map((_, at) => lstatSync(join(root, ...names.slice(0, at + 1))));
    return above.every((one) => one.isDirectory()) && lstatSync(join(root, path)).isFile();
  } catch {
    return false;
  }
}

const replaced = ["plain.txt", "swapped.txt", "folder/plain.txt", "piped.txt"];

/** Puts links and a pipe in the place of files, and strangers beside them. */
function replace(root: string, outside: string): void {
  for (const path of ["swapped.txt", "folder", "piped.txt"])
    renameSync(join(root, path), join(outside, path));
  symlinkSync(join(outside, "plain.txt"), join(root, "swapped.txt"));
  symlinkSync(outside, join(root, "folder"));
  symlinkSync(outside, join(root, "stray-link"));
  writeFileSync(join(root, "stray.txt"), `needle ${SECRET}`);
  execFileSync("mkfifo", [join(root, "piped.txt")]);
}

describe("a search in files into which links, pipes and strangers were put", () => {
  it("symlinks: A search follows no link, waits for no pipe, and finds only the files of the tree", async () => {
    using repo = GitRepo.create({ bare: true });
    using outside = new TempFolder("outside");
    writeFileSync(join(outside.path, "plain.txt"), `needle ${SECRET}`);
    repo.importCommits([{ branch: "main", files: replaced.map((path) => [path, "needle here\n"] as const) }]);
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "main", gitPath });
    const place = await checkedOut(range.place);
    replace(place.root, outside.path);
    await using workspace = openWorkspace(place);
    const search = (more: object) => workspace.search({ ...needle, ...more }, AbortSignal.timeout(30_000));
    expect(await search({})).toMatchObject({ matches: [{ path: "plain.txt", text: "needle here" }] });
    expect(await search({ maxResults: 1 })).toMatchObject({ matches: [{ path: "plain.txt" }] });
    for (const path of ["swapped.txt", "folder", "folder/plain.txt", "piped.txt"])
      await expect(search({ path })).rejects.toMatchObject({ code: "usage" });
    for (const path of ["stray-link", "stray.txt"])
      await expect(search({ path })).rejects.toThrow(/no file or folder/);
  });

  it.each(["before", "after"])(
    "symlinks: A search finds the head's files of a local range, whose work tree was replaced %s it was opened",
    async (when) => {
      using repo = GitRepo.create();
      using outside = new TempFolder("outside");
      writeFileSync(join(outside.path, "plain.txt"), `needle ${SECRET}`);
      repo.commit("all", Object.fromEntries(replaced.map((path) => [path, "needle here\n"])));
      if (when === "before") replace(repo.dir, outside.path);
      await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "main", gitPath });
      await using workspace = openWorkspace(range.place);
      if (when === "after") replace(repo.dir, outside.path);
      const search = (more: object) => workspace.search({ ...needle, ...more }, AbortSignal.timeout(30_000));
      const all = replaced.toSorted().map((path) => ({ path, text: "needle here" }));
      expect(await search({})).toMatchObject({ matches: all.toSorted((a, b) => (a.path < b.path ? -1 : 1)) });
      for (const path of replaced)
        expect(await search({ path })).toMatchObject({ matches: [{ path, text: "needle here" }] });
      expect(await search({ path: "folder" })).toMatchObject({ matches: [{ path: "folder/plain.txt" }] });
      for (const path of ["stray-link", "stray.txt"])
        await expect(search({ path })).rejects.toThrow(/no file or folder/);
    },
  );
});

describe("the rooms that see a checkout", () => {
  it("symlinks: All rooms read the files of a checkout through one function", () => {
    const rooms = "{core/text,agent/loop,agent/tools,repo/diff,tasks}";
    const cwd = join(import.meta.dirname, "../..");
    const files = globSync(`src/${rooms}/**/*.ts`, { cwd, exclude: ["src/tasks/prove/proof/**"] });
    const reading = files.filter((file) => /from "(?:node:)?fs/.test(readFileSync(file, "utf8")));
    // Prompts and rules are our own files.
    const own = ["src/tasks/prompts/prompts.ts", "src/tasks/rules/analyzers/rule-file.ts"];
    expect(reading.toSorted()).toEqual(own);
    const opens = /import \{[^}]*\bopen(?:Sync)?\b[^}]*\} from "node:fs/;
    const opening = globSync("src/repo/git/**/*.ts").filter((file) => opens.test(readFileSync(file, "utf8")));
    expect(opening).toEqual(["src/repo/git/confined-file.ts"]);
  });
});
