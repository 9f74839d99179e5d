import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { createDiffSource } from "../../../src/repo/diff-source.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import type { Analyzer, Diagnostic } from "../../../src/tasks/rules/analyzers/analyzer.ts";
import {
  type AnalyzerDependencies,
  runAnalyzers,
  unfinishedWarning,
} from "../../../src/tasks/rules/rule-matches.ts";
import { fiveSecrets } from "../../attacks/five-secrets.ts";
import { placeOf } from "../../support/checkout-place.ts";
import { GitRepo } from "../../support/git-repo.ts";

/** Speaks about the first line of every file. */
const talker: Analyzer = {
  name: "talker",
  analyze: async ({ path }) => [diagnosticIn(path)],
};

const diagnosticIn = (path: string): Diagnostic => ({
  path,
  line: 1,
  start_line: null,
  severity: "low",
  category: "correctness",
  title: "t",
  body: "b",
  suggestion: null,
  source: "talker/all",
});

const names = Array.from({ length: 20 }, (_, index) => `f${String(index).padStart(2, "0")}.js`);

/** What the analyzers find in the change from one set of files to another. */
async function analyzed(
  before: Record<string, string>,
  after: Record<string, string>,
  { ignore = [], ...over }: Partial<AnalyzerDependencies> & { ignore?: string[] } = {},
) {
  using repo = GitRepo.create();
  repo.commit("before", before);
  repo.git("tag", "base");
  repo.commit("after", after);
  using placed = await placeOf(repo, "base");
  await using workspace = openWorkspace(placed.place);
  const diffs = createDiffSource(workspace, { ignore, private: [] });
  const { signal } = new AbortController();
  return await runAnalyzers(await diffs.files(), { workspace, diffs, signal, progress() {}, ...over });
}

describe("the search for rule matches", () => {
  let repo: GitRepo;
  let workspace: Workspace & AsyncDisposable;
  let placed: Disposable;

  beforeAll(async () => {
    repo = GitRepo.create();
    repo.commit("before", { "a.txt": "a\n" });
    repo.git("tag", "base");
    repo.commit("after", Object.fromEntries(names.map((name) => [name, `${name};\n`])));
    const one = await placeOf(repo, "base");
    placed = one;
    workspace = openWorkspace(one.place);
  });

  afterAll(async () => {
    await workspace[Symbol.asyncDispose]();
    placed[Symbol.dispose]();
    repo[Symbol.dispose]();
  });

  const readingBy = (readBlob: Workspace["readBlob"]): Workspace =>
    new Proxy(workspace, {
      get(target, key) {
        if (key === "readBlob") return readBlob;
        const value = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });

  async function find(over: Partial<AnalyzerDependencies>) {
    const diffs = createDiffSource(over.workspace ?? workspace, { ignore: [], private: [] });
    const events: unknown[] = [];
    const found = await runAnalyzers(await diffs.files(), {
      workspace,
      diffs,
      progress: (event) => events.push(event),
      signal: new AbortController().signal,
      analyzers: [talker],
      ...over,
    });
    return { ...found, events };
  }

  it("Every file is analyzed", async () => {
    const { findings, unfinished } = await find({});
    expect(findings.map((one) => one.path)).toEqual(names);
    expect(findings.map((one) => one.quote)).toEqual(names.map((name) => `${name};`));
    expect(unfinished).toEqual([]);
  });

  it("The analysis ends when its time is up, and names the files that it has not read", async () => {
    const time = new AbortController();
    const read: string[] = [];
    const slow: Analyzer = {
      name: "slow",
      async analyze({ path }) {
        if (path === "f03.js") time.abort();
        return [diagnosticIn(path)];
      },
    };
    const reading = readingBy((oid) => {
      read.push(oid);
      return workspace.readBlob(oid);
    });
    const { findings, unfinished, events } = await find({
      workspace: reading,
      timeLimit: time.signal,
      analyzers: [slow, talker],
    });

    expect(findings.map((one) => one.path)).toEqual(names.slice(0, 4));
    expect(unfinished.map((one) => one.path)).toEqual(names.slice(3));
    expect(unfinished.slice(0, 2).map((one) => one.analyzers)).toEqual([["slow", "talker"], []]);
    expect(read).toHaveLength(4);
    expect(events).toEqual([]);
  });

  it("A file that is too large to be read is named, and the others are analyzed", async () => {
    const [, , third] = await workspace.changes();
    const tooLarge = new AppError("too_large", "too large");
    const limited = readingBy((oid) =>
      oid === third?.newOid ? Promise.reject(tooLarge) : workspace.readBlob(oid),
    );
    const { findings, unfinished } = await find({ workspace: limited });

    expect(findings).toHaveLength(names.length - 1);
    expect(unfinished).toEqual([{ path: "f02.js", analyzers: [] }]);
  });

  it("The analysis fails if a file cannot be read for another reason", async () => {
    const failing = readingBy(() => Promise.reject(new AppError("git_failed", "git is gone")));
    await expect(find({ workspace: failing })).rejects.toMatchObject({ code: "git_failed" });
  });

  it("An analyzer that throws is reported with its files", async () => {
    const broken: Analyzer = { name: "broken", analyze: () => Promise.reject(new Error("no idea")) };
    const { findings, unfinished, events } = await find({ analyzers: [broken, talker] });

    expect(findings).toHaveLength(names.length);
    expect(unfinished).toHaveLength(names.length);
    expect(unfinished[0]).toEqual({ path: "f00.js", analyzers: ["broken"] });
    expect(events[0]).toEqual({ type: "crash", where: "broken on f00.js", error: "no idea" });
  });
});

describe("the warning about what was not finished", () => {
  const unfinished = (count: number) =>
    names.slice(0, count).map((path) => ({ path, analyzers: ["ast-grep"] }));

  it.each([
    [0, []],
    [1, ["The analyzers did not finish on 1 file: f00.js."]],
    [2, ["The analyzers did not finish on 2 files: f00.js, f01.js."]],
    [12, [`The analyzers did not finish on 12 files: ${names.slice(0, 10).join(", ")} and 2 more.`]],
  ])("The warning about %i unfinished files names at most ten", (count, expected) => {
    expect(unfinishedWarning(unfinished(count))).toEqual(expected);
  });
});

describe("the id of a secret", () => {
  const newKey = () =>
    generateKeyPairSync("rsa", {
      modulusLength: 2048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    }).privateKey;

  async function idOf(text: string, key = "") {
    const found = await analyzed({ "server.key": "" }, { "server.key": text }, { key });
    expect(found.findings).toMatchObject([{ line: 1, quote: "", source: "secrets/private-key" }]);
    return found.findings[0]?.id;
  }

  it("The id of a secret depends on all of its lines and on a key", async () => {
    const one = newKey();
    const first = await idOf(one);
    expect(await idOf(one.replaceAll("\n", " \n"))).toBe(first);
    expect(await idOf(newKey())).not.toBe(first);
    expect(await idOf(one, "another key")).not.toBe(first);
  });
});

it("A secret is found in files that nobody reviews, or they are unfinished when time is up", async () => {
  const token = fiveSecrets().values[1] ?? "";
  const paths = ["docs/a.md", "flake.lock", "gen/a.js", "gen/nul.js", "vendor/a.js"];
  const textOf = (path: string) => `a = "${token}"\n${path.includes("nul") ? "\0" : ""}`;
  const before = { ".gitattributes": "gen/** linguist-generated\n" };
  const after = Object.fromEntries(paths.map((path) => [path, textOf(path)]));
  const search = (timeLimit: AbortSignal) => analyzed(before, after, { ignore: ["docs/**"], timeLimit });

  const { findings, unfinished } = await search(AbortSignal.timeout(60_000));
  expect(new Set(findings.map(({ path }) => path))).toEqual(new Set(paths));
  expect(unfinished).toEqual([]);

  const late = await search(AbortSignal.abort());
  expect(new Set(late.unfinished.map(({ path }) => path))).toEqual(new Set(paths));
});

it("The quote of a finding shows no secret that a hidden character splits", async () => {
  const token = fiveSecrets().values[1] ?? "";
  const split = `one();\nlet a = "${token.slice(0, 20)}\u200b${token.slice(20)}";\n`;
  const { findings } = await analyzed({ "a.js": "one();\n" }, { "a.js": split });
  expect(findings.map(({ source }) => source)).toContain("hidden-characters/invisible");
  expect(JSON.stringify(findings)).not.toContain(token.slice(22));
});
