import { execFile } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GraphSource, IndexProgress } from "../../../src/repo/index/graph.ts";
import { type GraphOptions, openGraph } from "../../../src/repo/index/open-graph.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { callersOf, sourceOfTexts } from "./open-texts.ts";

let folder: TempFolder;
let file: string;
beforeEach(() => {
  folder = new TempFolder("graph");
  file = join(folder.path, "index.db");
});
afterEach(() => folder.dispose());

const base = {
  "a.ts": "export function first() {}\n",
  "b.ts": 'import { first } from "./a.ts";\nfirst();\n',
};
const changed = { ...base, "c.ts": 'import { first } from "./a.ts";\n\nfirst();\n' };
const open = (files: Record<string, string>, more: Partial<GraphOptions> = {}) =>
  openGraph({ file, threads: 0, source: sourceOfTexts(new Map(Object.entries(files))), ...more });

describe("an index in a file", () => {
  it("An index in a file only reads the changed files of another head, and finds its callers", async () => {
    (await open(base))[Symbol.dispose]();
    using graph = await open(changed);
    expect(graph.report).toMatchObject({ files: 3, parsed: 1, known: 2 });
    expect(callersOf(graph, "first")).toEqual(["b.ts:2", "c.ts:3"]);
  });

  it("An index in a file only answers with what is at the head, whatever was indexed before", async () => {
    (await open(changed))[Symbol.dispose]();
    using graph = await open(base);
    expect(graph.report.parsed).toBe(0);
    expect(callersOf(graph, "first")).toEqual(["b.ts:2"]);
    const { nodes } = await graph.query("c.ts", 5, new AbortController().signal);
    expect(nodes.map(({ path }) => path)).not.toContain("c.ts");
  });

  it("An index knows a moved file without reading it", async () => {
    (await open(base))[Symbol.dispose]();
    using graph = await open({ "lib/a.ts": base["a.ts"], "lib/b.ts": base["b.ts"] });
    expect(graph.report.parsed).toBe(0);
    expect(callersOf(graph, "first")).toEqual(["lib/b.ts:2"]);
  });

  it("An index is private to its user", async () => {
    (await open(base))[Symbol.dispose]();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("An index in a file is built again if another version wrote it", async () => {
    (await open(base))[Symbol.dispose]();
    using old = new DatabaseSync(file);
    old.exec("UPDATE reference SET name = 'forged'; PRAGMA user_version = 99");
    using graph = await open(base);
    expect(graph.report.parsed).toBe(2);
    expect(callersOf(graph, "first")).toEqual(["b.ts:2"]);
  });

  it("An index that is no database is an error with a remedy", async () => {
    writeFileSync(file, "no database at all".repeat(100));
    await expect(open(base)).rejects.toMatchObject({
      code: "data_folder_unusable",
      message: expect.stringContaining(file),
      remedy: expect.stringContaining("Delete"),
    });
  });
});

describe("building an index", () => {
  const many = Object.fromEntries([..."abcdef"].map((name) => [`${name}.ts`, `export const ${name} = 1;\n`]));

  it("Indexing reports its progress, and nothing if all is known", async () => {
    const seen: string[] = [];
    const onProgress = ({ done, total }: IndexProgress) => seen.push(`${done}/${total}`);
    (await open(base, { onProgress }))[Symbol.dispose]();
    expect(seen).toEqual(["0/2", "1/2", "2/2"]);
    (await open(base, { onProgress }))[Symbol.dispose]();
    expect(seen).toHaveLength(3);
  });

  it("Indexing stores texts in the order of their paths", async () => {
    const { files, read } = sourceOfTexts(new Map(Object.entries(many)));
    const third = Promise.withResolvers<void>();
    const source: GraphSource = {
      files,
      async read(oid) {
        if (oid === files[2]?.oid) third.resolve();
        if (oid === files[0]?.oid) await third.promise;
        return await read(oid);
      },
    };
    (await open(many, { source, threads: 1 }))[Symbol.dispose]();
    using database = new DatabaseSync(file, { readOnly: true });
    const names = database.prepare("SELECT name FROM definition ORDER BY blob").all();
    expect(names.map(({ name }) => name)).toEqual([..."abcdef"]);
  });
});

describe("an index of many heads", () => {
  const text = (at: number) => `export function one${at}() {}\n`;
  const headOf = (at: number) => ({ ...base, [`f${at}.ts`]: text(at), [`g${at}.ts`]: `${text(at)}//\n` });
  const openHead = async (at: number) => {
    const source = sourceOfTexts(new Map(Object.entries(headOf(at))));
    using graph = await openGraph({ file, threads: 0, source, leastKept: 4 });
    return { parsed: graph.report.parsed, callers: callersOf(graph, "first") };
  };
  const rows = (table: string) => {
    using database = new DatabaseSync(file, { readOnly: true });
    return Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count);
  };

  it("An index of many heads forgets the oldest texts beyond its limit", async () => {
    for (let at = 0; at < 6; at++) await openHead(at);
    // Four texts of the last head, four of others.
    expect(rows("blob")).toBe(8);
    expect(rows("definition")).toBe(7);
    expect(rows("words")).toBe(7);
    expect(await openHead(4)).toEqual({ parsed: 0, callers: ["b.ts:2"] });
    expect(await openHead(0)).toEqual({ parsed: 2, callers: ["b.ts:2"] });
  });

  it("An index of many heads never reuses the id of a forgotten text", async () => {
    await openHead(0);
    using other = await open(headOf(5));
    for (let at = 1; at < 5; at++) await openHead(at);
    const found = other.symbols("one5").map(({ path }) => path);
    expect(found.filter((path) => !/^[fg]5\.ts$/.test(path))).toEqual([]);
    expect(other.symbols("one4")).toEqual([]);
  });

  it("An index of many heads loses no fact while it is read", async () => {
    for (let at = 0; at < 3; at++) await openHead(at);
    const before = rows("blob");
    using graph = await openGraph({
      ...{ file, threads: 0, readOnly: true, leastKept: 0 },
      source: sourceOfTexts(new Map(Object.entries(base))),
    });
    expect(graph.report.known).toBe(2);
    expect(rows("blob")).toBe(before);
  });
});

it("An index distinguishes equal texts by the kind of their names", async () => {
  const same = "# title\nexport function first() {}\n";
  (await open({ "note.md": same }))[Symbol.dispose]();
  using graph = await open({ "note.md": same, "note.ts": same.slice(2) });
  expect(graph.symbols("first").map(({ path }) => path)).toEqual(["note.ts"]);
  using both = await open({ "note.md": base["a.ts"], "note.ts": base["a.ts"] });
  expect(both.symbols("first").map(({ path }) => path)).toEqual(["note.ts"]);
});

describe("an index that is only read", () => {
  it("An index that is only read is refused if another version wrote it", async () => {
    (await open(base))[Symbol.dispose]();
    const old = new DatabaseSync(file);
    old.exec("PRAGMA user_version = 99");
    old.close();
    await expect(open(base, { readOnly: true })).rejects.toMatchObject({ code: "data_folder_unusable" });
  });

  it("An index that is only read stays the same byte for byte, and answers with what the head adds", async () => {
    (await open(base))[Symbol.dispose]();
    const before = readFileSync(file);
    using graph = await open(changed, { readOnly: true });
    expect(graph.report).toMatchObject({ parsed: 1, known: 2 });
    expect(callersOf(graph, "first")).toEqual(["b.ts:2", "c.ts:3"]);
    const { nodes } = await graph.query("c.ts", 5, new AbortController().signal);
    expect(nodes.map(({ path }) => path)).toContain("c.ts");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("An index that is only read can be read but not written by a process that may write nothing", async () => {
    (await open(base))[Symbol.dispose]();
    const root = join(import.meta.dirname, "../../..");
    const packages = fileURLToPath(import.meta.resolve("zod")).replace(/node_modules\/.*$/, "node_modules/*");
    const readable = [`${root}/*`, packages, `${folder.path}/*`].map((path) => `--allow-fs-read=${path}`);
    const confined = ["--permission", "--allow-addons", "--allow-worker", ...readable];
    const script = `
      const { openGraph } = await import(${JSON.stringify(join(root, "src/repo/index/open-graph.ts"))});
      const { sourceOfTexts } = await import(${JSON.stringify(join(root, "test/repo/index/open-texts.ts"))});
      const source = sourceOfTexts(new Map(Object.entries(${JSON.stringify(changed)})));
      const open = (readOnly) => openGraph({ file: ${JSON.stringify(file)}, source, readOnly, threads: 1 });
      const refused = await open(false).then(() => null, (error) => error.message);
      using graph = await open(true);
      console.log(JSON.stringify({ report: graph.report, refused }));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...confined,
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      report: { parsed: 1, known: 2 },
      refused: expect.stringContaining("--allow-fs-write"),
    });
  });

  it("An index that is only read is refused if it does not exist", async () => {
    await expect(open(base, { readOnly: true })).rejects.toMatchObject({ code: "data_folder_unusable" });
  });
});

describe("indexing", () => {
  it("Indexing skips binaries, generated files and deep nesting, and goes on", async () => {
    const files = {
      ...base,
      "binary.ts": "export\0",
      "long.js": `var a=${"1+".repeat(5_000)}1`,
      "deep.ts": `${"(".repeat(5_000)}first()`,
      "picture.png": "PNG",
    };
    const source = sourceOfTexts(new Map(Object.entries(files)));
    using graph = await openGraph({ file: null, threads: 2, source });
    expect(graph.report).toMatchObject({ files: 6, skipped: 1 });
    expect(callersOf(graph, "first")).toEqual(["b.ts:2"]);
  });

  it("Indexing ends when it is aborted, and leaves no thread", async () => {
    const stop = new AbortController();
    const source: GraphSource = {
      files: [{ path: "a.ts", oid: "1" }],
      read: async () => {
        stop.abort();
        return "first();";
      },
    };
    await expect(openGraph({ file: null, threads: 1, source, signal: stop.signal })).rejects.toThrow();
  });

  it("Indexing passes on a failure to read, and leaves a usable index", async () => {
    const source: GraphSource = {
      files: [{ path: "a.ts", oid: "1" }],
      read: () => Promise.reject(new Error("no such blob")),
    };
    await expect(open(base, { source })).rejects.toThrow("no such blob");
    using graph = await open(base);
    expect(graph.report.parsed).toBe(2);
  });
});
