import { execFile } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GraphSource } from "../../src/graph/graph.ts";
import { openGraph } from "../../src/graph/open-graph.ts";
import { sourceOfTexts } from "../../src/graph/source.ts";
import { TempFolder } from "../support/git-repo.ts";
import { callersOf } from "./open-texts.ts";

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
const open = (files: Record<string, string>, more: { readOnly?: boolean; source?: GraphSource } = {}) =>
  openGraph({ file, threads: 0, source: sourceOfTexts(new Map(Object.entries(files))), ...more });

describe("an index in a file", () => {
  it("reads of another head what has changed, and knows its callers", async () => {
    (await open(base))[Symbol.dispose]();
    using graph = await open(changed);
    expect(graph.report).toMatchObject({ files: 3, parsed: 1, known: 2 });
    expect(callersOf(graph, "first")).toEqual(["b.ts:2", "c.ts:3"]);
  });

  it("answers of a head what that head has, whatever was indexed before", async () => {
    (await open(changed))[Symbol.dispose]();
    using graph = await open(base);
    expect(graph.report.parsed).toBe(0);
    expect(callersOf(graph, "first")).toEqual(["b.ts:2"]);
    const { nodes } = await graph.query("c.ts", 5, new AbortController().signal);
    expect(nodes.map(({ path }) => path)).not.toContain("c.ts");
  });

  it("knows a file that was moved without reading it", async () => {
    (await open(base))[Symbol.dispose]();
    using graph = await open({ "lib/a.ts": base["a.ts"], "lib/b.ts": base["b.ts"] });
    expect(graph.report.parsed).toBe(0);
    expect(callersOf(graph, "first")).toEqual(["lib/b.ts:2"]);
  });

  it("is private to its user", async () => {
    (await open(base))[Symbol.dispose]();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("is made anew where another version wrote it", async () => {
    (await open(base))[Symbol.dispose]();
    using old = new DatabaseSync(file);
    old.exec("UPDATE reference SET name = 'forged'; PRAGMA user_version = 99");
    using graph = await open(base);
    expect(graph.report.parsed).toBe(2);
    expect(callersOf(graph, "first")).toEqual(["b.ts:2"]);
  });

  it("that is none says which file and what to do", async () => {
    writeFileSync(file, "no database at all".repeat(100));
    await expect(open(base)).rejects.toMatchObject({
      code: "data_folder_unusable",
      message: expect.stringContaining(file),
      remedy: expect.stringContaining("Delete"),
    });
  });
});

describe("an index that is only read", () => {
  it("keeps nothing of what a head adds, byte for byte, and answers with it all the same", async () => {
    (await open(base))[Symbol.dispose]();
    const before = readFileSync(file);
    using graph = await open(changed, { readOnly: true });
    expect(graph.report).toMatchObject({ parsed: 1, known: 2 });
    expect(callersOf(graph, "first")).toEqual(["b.ts:2", "c.ts:3"]);
    const { nodes } = await graph.query("c.ts", 5, new AbortController().signal);
    expect(nodes.map(({ path }) => path)).toContain("c.ts");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("can be read by a process that Node lets write nothing, and written by none such", async () => {
    (await open(base))[Symbol.dispose]();
    const root = join(import.meta.dirname, "../..");
    const packages = fileURLToPath(import.meta.resolve("zod")).replace(/node_modules\/.*$/, "node_modules/*");
    const readable = [`${root}/*`, packages, `${folder.path}/*`].map((path) => `--allow-fs-read=${path}`);
    const confined = ["--permission", "--allow-addons", "--allow-worker", ...readable];
    const script = `
      const { openGraph } = await import(${JSON.stringify(join(root, "src/graph/open-graph.ts"))});
      const { sourceOfTexts } = await import(${JSON.stringify(join(root, "src/graph/source.ts"))});
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

  it("is not taken where there is none", async () => {
    await expect(open(base, { readOnly: true })).rejects.toMatchObject({ code: "data_folder_unusable" });
  });
});

describe("indexing", () => {
  it("knows nothing of binaries, of what machines wrote and of what nests too deep, and goes on", async () => {
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

  it("ends where it is told to, and leaves no thread", async () => {
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

  it("hands a failure to read on, and leaves an index that can be used", async () => {
    const source: GraphSource = {
      files: [{ path: "a.ts", oid: "1" }],
      read: () => Promise.reject(new Error("no such blob")),
    };
    await expect(open(base, { source })).rejects.toThrow("no such blob");
    using graph = await open(base);
    expect(graph.report.parsed).toBe(2);
  });
});
