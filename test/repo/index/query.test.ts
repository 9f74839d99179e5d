import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Graph, GraphAnswer, GraphCommit } from "../../../src/repo/index/graph.ts";
import { openTexts } from "./open-texts.ts";

const files = {
  "src/queue.ts":
    "/** Takes the oldest job that nobody holds. */\nexport function claimJob(limit: number) {\n  return readRows(limit);\n}\n\nfunction readRows(limit: number) {\n  return [limit];\n}\n",
  "src/worker.ts":
    'import { claimJob } from "./queue.ts";\n\nexport function runWorker() {\n  claimJob(1);\n}\n',
  "test/queue.test.ts":
    'import { claimJob } from "../src/queue.ts";\n\nit("takes the oldest", () => {\n  claimJob(2);\n});\n',
  "docs/queue.md":
    "# Queue\n\nHow jobs are leased.\n\n## Leases\n\n`claimJob` in src/queue.ts takes a lease, which ends by itself.\n\n## Testing strategy\n\nEach store runs one contract.\n",
  "src/mailer.ts": "export function sendMail() {}\n",
};
const commits: GraphCommit[] = [
  {
    ...{ sha: "a".repeat(40), author: "Ada", date: "2026-01-02T00:00:00Z" },
    message: "Drop the retry of leases: two workers took one job",
    paths: ["src/queue.ts", "src/gone.ts"],
  },
  {
    sha: "b".repeat(40),
    author: "Bo",
    date: "2026-01-01T00:00:00Z",
    message: "Start",
    paths: ["src/mailer.ts"],
  },
];
const findings = [
  {
    ...{ id: "f7", path: "src/queue.ts", line: 3, title: "The limit is not checked" },
    ...{ body: "A negative limit reads everything.", fate: "dismissed: callers check it" },
  },
];

let graph: Graph;
beforeAll(async () => {
  graph = await openTexts(files, { commits, findings });
});
afterAll(() => graph[Symbol.dispose]());

const ask = (query: string, k = 5): Promise<GraphAnswer> =>
  graph.query(query, k, new AbortController().signal);
const edges = ({ nodes, edges: all }: GraphAnswer) => {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return all.map(({ from, kind, to, line }) => [names.get(from), kind, names.get(to), line]);
};

describe("a question", () => {
  it("A question for callers is answered with callers and callees", async () => {
    const found = edges(await ask("who calls claimJob?", 1));
    expect(found).toContainEqual(["runWorker", "calls", "claimJob", 4]);
    expect(found).toContainEqual(["claimJob", "calls", "readRows", 3]);
    expect(found).toContainEqual(["src/queue.ts", "defines", "claimJob", 2]);
  });

  it("A question for uses is answered with references", async () => {
    using own = await openTexts({
      "src/limits.ts": "export const MAX_JOBS = 5;\nexport interface Limits {\n  jobs: number;\n}\n",
      "src/pool.ts":
        'import { type Limits, MAX_JOBS } from "./limits.ts";\n\nexport function fill(limits: Limits) {\n  return Math.min(limits.jobs, MAX_JOBS);\n}\n',
      "src/generic.ts":
        'import type * as limits from "./limits.ts";\n\nexport function some<T extends limits.Limits, U = T>(given: T) {}\n',
      "app/main.py": "from conf import SIZE, Shape\n\ndef area(shape: Shape):\n    return SIZE\n",
      "app/conf.py": "SIZE = 4\n\nclass Shape:\n    pass\n",
      "go/conf.go": "package conf\n\nconst Most = 3\n\ntype Kind struct{}\n",
      "go/uses.go": "package conf\n\nfunc limit(kind Kind) int {\n\treturn Most\n}\n",
    });
    const of = async (name: string) =>
      edges(await own.query(`where is ${name} used?`, 1, new AbortController().signal));
    expect(await of("MAX_JOBS")).toContainEqual(["fill", "references", "MAX_JOBS", 4]);
    expect(await of("Limits")).toContainEqual(["fill", "references", "Limits", 3]);
    expect(await of("Limits")).toContainEqual(["some", "references", "Limits", 3]);
    expect(await of("SIZE")).toContainEqual(["area", "references", "SIZE", 4]);
    expect(await of("Shape")).toContainEqual(["area", "references", "Shape", 3]);
    expect(await of("Most")).toContainEqual(["limit", "references", "Most", 4]);
    expect(await of("Kind")).toContainEqual(["limit", "references", "Kind", 3]);
  });

  it("A question for tests is answered with the tests", async () => {
    expect(edges(await ask("where is claimJob tested?", 1))).toContainEqual([
      ...["takes the oldest", "tests", "claimJob", 4],
    ]);
  });

  it("A question for history is answered with commits, findings and their fate", async () => {
    const answer = await ask("was the retry of leases decided before?");
    const commit = answer.nodes.find(({ kind }) => kind === "commit");
    expect(commit?.name).toBe("Drop the retry of leases: two workers took one job");
    expect(edges(answer)).toContainEqual([commit?.name, "changed", "src/queue.ts", null]);
    const about = await ask("negative limit");
    const finding = about.nodes.find(({ kind }) => kind === "finding");
    expect(finding?.excerpt).toContain("dismissed: callers check it");
    expect(edges(about)).toContainEqual([finding?.name, "about", "claimJob", null]);
  });

  it("A question in plain words finds a document by its headings, and what it documents", async () => {
    const answer = await ask("what is the testing strategy?", 2);
    expect(answer.nodes[0]).toMatchObject({
      kind: "document",
      name: "Testing strategy",
      path: "docs/queue.md",
    });
    expect(edges(await ask("leases", 3))).toContainEqual(["Leases", "documents", "claimJob", null]);
  });

  it("A question finds a function by the words of the comment above", async () => {
    const { nodes } = await ask("oldest job nobody holds", 1);
    expect(nodes[0]).toMatchObject({ kind: "symbol", name: "claimJob", startLine: 1, endLine: 4 });
  });

  it("A question about a file is answered with its imports and importers", async () => {
    const found = edges(await ask("src/worker.ts", 2));
    expect(found).toContainEqual(["src/worker.ts", "imports", "src/queue.ts", 1]);
  });

  it("A question about something unknown finds nothing", async () => {
    expect(await ask("zeppelin")).toEqual({ nodes: [], edges: [] });
    expect(await ask('"*) OR (NEAR')).toEqual({ nodes: [], edges: [] });
    expect(await ask("?!")).toEqual({ nodes: [], edges: [] });
  });

  it("A question is answered with at most k things and what is one step away", async () => {
    const { nodes, edges: all } = await ask("queue", 1);
    const [seed] = nodes;
    for (const { id } of nodes.slice(1))
      expect(all.some(({ from, to }) => from === id || to === id)).toBe(true);
    expect(seed?.score).toBeGreaterThan(nodes[1]?.score ?? 0);
  });

  it("A question only has edges between its own nodes, each with a certainty", async () => {
    const { nodes, edges: all } = await ask("claimJob queue leases", 10);
    const ids = new Set(nodes.map(({ id }) => id));
    expect(all.filter(({ from, to }) => !ids.has(from) || !ids.has(to))).toEqual([]);
    expect(all.every(({ certainty }) => certainty >= 0.5 && certainty <= 1)).toBe(true);
    expect(ids.size).toBe(nodes.length);
  });

  it("A question that was aborted is not answered", async () => {
    await expect(graph.query("claimJob", 5, AbortSignal.abort())).rejects.toThrow();
  });
});

it("A question joins results by meaning with results by words", async () => {
  const oids: string[] = [];
  const openNearest = () => ({
    nearest: async () => oids.map((oid) => ({ oid, startLine: 1, endLine: 1, distance: 0.1 })),
  });
  using one = await openTexts(files, { openNearest });
  const { createHash } = await import("node:crypto");
  oids.push(createHash("sha1").update(files["src/mailer.ts"]).digest("hex"));
  const { nodes } = await one.query("letters", 1, new AbortController().signal);
  expect(nodes[0]).toMatchObject({ name: "sendMail", path: "src/mailer.ts" });
});
