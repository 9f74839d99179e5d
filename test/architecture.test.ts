import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");

const root = resolve(import.meta.dirname, "..");
const agents = readFileSync(join(root, "AGENTS.md"), "utf8");

/** The rooms, each with those that it may import, as AGENTS.md lists them. "All above" is the rows before it. */
const rooms = new Map<string, string[]>();
for (const [, room = "", may = ""] of agents.matchAll(/^\| `(\w+)` \|.*\| ([^|]+) \|$/gm)) {
  const named = [...may.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
  rooms.set(room, may.includes("all above") ? [...rooms.keys()] : named);
}

/** Walls inside the rooms, for purity or secrets: what a folder may import at most. */
const walls: Record<string, string[]> = {
  "core/text": ["core/errors.ts"],
  "core/secrets": ["core"],
  "repo/code": ["core"],
  "repo/diff": ["core"],
  "repo/git": ["core", "repo/diff"],
  "repo/index": ["core", "repo"],
  "agent/llm": ["core"],
  "pull/github": ["core", "config"],
  "pull/ledger": ["core", "pull/github"],
  "pull/publish": ["core", "repo/diff", "tasks", "report", "pull/github", "pull/ledger"],
  report: ["core", "config", "repo/diff", "tasks"],
  "server/queue": ["core", "agent/record"],
  "server/metrics": ["core"],
};

/** Imports between folders that are types alone and cross a line that values may not cross. */
const typesOnly: [from: string, to: string][] = [
  ["agent/tools", "repo/git"],
  ["agent/loop", "agent/tools"],
  ["agent/loop", "agent/llm"],
  ["tasks/review", "repo/git"],
  ["tasks/review", "agent/llm"],
  ["server/queue", "agent"],
  ["pull/publish", "pull/github"],
  ["pull/ledger", "pull/github"],
];
/** Values that may cross all the same, each with its reason. */
const valueExceptions: Record<string, string> = {
  "agent/loop -> agent/tools/run-tool.ts": "the one wrapper through which the loop calls tools",
  "agent/loop -> agent/tools/to-openai.ts": "the one place that describes a tool to a model",
  "tasks/review -> agent/llm/model.ts":
    "names of roles and protocols, parsed where a review begins; what a model says without its thinking",
};

/** Each third-party package has one owner. */
const owners: Record<string, string[]> = {
  openai: ["agent/llm"],
  "@anthropic-ai/sdk": ["agent/llm"],
  probot: ["server/webhooks"],
  "@octokit": ["pull/github"],
  "simple-git": ["repo/git"],
  "@vscode/ripgrep": ["repo/git"],
  "parse-diff": ["repo/diff"],
  "node:sqlite": ["server/queue", "repo/index"],
  "sqlite-vec": ["repo/index"],
  "@modelcontextprotocol": ["agent/tools", "cli"],
  diff: ["server/jobs"],
  pg: ["server/queue"],
  "prom-client": ["server/metrics"],
  "@ast-grep": ["repo/code"],
  pino: ["core/logger.ts"],
  yauzl: ["border"],
  hono: ["pages"],
  picocolors: ["cli", "report"],
  "@commander-js": ["cli"],
};

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).includes("node_modules/"));
}

const known = new Map<string, Import[]>();
function importsOf(file: string): Import[] {
  const imports = known.get(file) ?? readImports(file);
  known.set(file, imports);
  return imports;
}

function readImports(file: string): Import[] {
  const text = readFileSync(file, "utf8");
  const statements = [
    ...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?["']([^"']+)["']/gm),
    ...text.matchAll(/\bimport\(\s*()["']([^"']+)["']\s*\)/g),
  ];
  return statements.map(([statement, type, to]) => ({
    from: file,
    to: to ?? "",
    typeOnly: Boolean(type) || /^import\s*\{(\s*type\s[^,}]+,?)+\s*\}/.test(statement),
  }));
}

const files = sources(src);
const imports = files.flatMap(importsOf);
const internal = imports
  .filter((one) => one.to.startsWith("."))
  .map((one) => ({ ...one, target: resolve(dirname(one.from), one.to) }));

/** The modules that loading a file loads as well. */
function closureOf(file: string): Set<string> {
  const loaded = new Set([file]);
  for (const from of loaded) {
    if (!isAbsolute(from) || !existsSync(from)) continue;
    for (const { to, typeOnly } of importsOf(from)) {
      if (!typeOnly) loaded.add(to.startsWith(".") ? resolve(dirname(from), to) : to);
    }
  }
  return loaded;
}

const show = (one: Import) => `${relative(src, one.from)} imports ${one.to}`;
const isIn = (file: string, folder: string) =>
  file === join(src, folder) || file.startsWith(join(src, folder, "/"));
/** Imports out of a folder to others than those listed. */
const breaches = (folder: string, listed: readonly string[]) =>
  internal
    .filter(({ from }) => isIn(from, folder))
    .filter(({ target }) => ![folder, ...listed].some((one) => isIn(target, one)));

/** One cycle of a graph; undefined if there is none. */
function cycleIn(next: ReadonlyMap<string, ReadonlySet<string>>): string[] | undefined {
  const state = new Map<string, "open" | "closed">();
  const visit = (node: string, path: string[]): string[] | undefined => {
    if (state.get(node) === "closed") return undefined;
    if (state.get(node) === "open") return [...path.slice(path.indexOf(node)), node];
    state.set(node, "open");
    for (const target of next.get(node) ?? []) {
      const cycle = visit(target, [...path, node]);
      if (cycle) return cycle;
    }
    state.set(node, "closed");
    return undefined;
  };
  for (const node of next.keys()) {
    const cycle = visit(node, []);
    if (cycle) return cycle;
  }
  return undefined;
}

describe("the rooms", () => {
  it("The scan finds the rooms", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(internal.length).toBeGreaterThan(150);
  });

  it("Each folder of src has a row in AGENTS.md", () => {
    const entries = readdirSync(src, { withFileTypes: true });
    expect(entries.map(({ name }) => name).toSorted()).toEqual([...rooms.keys(), "cli.ts"].toSorted());
  });

  it("A room imports only rooms of its row", () => {
    expect([...rooms].flatMap(([room, may]) => breaches(room, may)).map(show)).toEqual([]);
  });

  it("A folder inside a room imports only what its wall allows", () => {
    const beyond = Object.entries(walls).flatMap(([folder, may]) => breaches(folder, may));
    expect(beyond.map(show)).toEqual([]);
    const empty = Object.keys(walls).filter((folder) => !files.some((file) => isIn(file, folder)));
    expect(empty).toEqual([]);
  });

  it("Only types cross where values may not", () => {
    const crossing = typesOnly.flatMap(([folder, other]) =>
      internal.filter((one) => {
        if (one.typeOnly || !isIn(one.from, folder) || !isIn(one.target, other)) return false;
        return !(`${folder} -> ${relative(src, one.target)}` in valueExceptions);
      }),
    );
    expect(crossing.map(show)).toEqual([]);
  });

  it("Only its owner imports a third-party package", () => {
    const foreign = imports.filter((one) => {
      const name = Object.keys(owners).find((owned) => one.to === owned || one.to.startsWith(`${owned}/`));
      return name !== undefined && !owners[name]!.some((owner) => isIn(one.from, owner));
    });
    expect(foreign.map(show)).toEqual([]);
  });

  it("No files or folders import each other in a cycle", () => {
    /** For each folder, what its files and folders import of each other. */
    const inside = new Map<string, Map<string, Set<string>>>();
    for (const { from, target } of internal) {
      const [own, other] = [relative(src, from).split("/"), relative(src, target).split("/")];
      const depth = own.findIndex((part, index) => part !== other[index]);
      if (depth < 0) continue;
      const folder = own.slice(0, depth).join("/");
      const next = inside.get(folder) ?? new Map<string, Set<string>>();
      inside.set(folder, next.set(own[depth]!, (next.get(own[depth]!) ?? new Set()).add(other[depth]!)));
    }
    const cycles = [...inside].flatMap(([folder, next]) => {
      const one = cycleIn(next);
      return one === undefined ? [] : [`${folder || "src"}: ${one.join(" -> ")}`];
    });
    expect(cycles).toEqual([]);
  });

  it("Only config reads the environment", () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(file, "utf8")));
    expect(readers.map((file) => relative(src, file))).toEqual(["config/env.ts", "config/process-env.ts"]);
  });

  it("Only one file makes text public", () => {
    const shapes = "PublicText|CheckRunUpdate|CheckAnnotation|InlineComment|FileProposal";
    const claims = new RegExp(
      `\\b(?:as|is)\\s+(?:import\\([^)]*\\)\\.)?(?:${shapes})\\b|<PublicText>|typeof public(?:Text|Plain)`,
    );
    const makers = files.filter((file) => claims.test(readFileSync(file, "utf8")));
    expect(makers.map((file) => relative(src, file))).toEqual(["pull/publish/public-text.ts"]);
  });

  it("Only the port that masks secrets asks a model", () => {
    const having = (text: RegExp) =>
      files.filter((file) => text.test(readFileSync(file, "utf8"))).map((file) => relative(src, file));
    // What the review process sends, the one process that reads a repository for a model.
    expect(having(/\btype: "request_turn", number\b/)).toEqual(["border/parent-port.ts"]);
    // Its loops, and what the parent wraps around a model.
    expect(
      having(/(?<!this)\.respond\(/)
        .filter((file) => !/^agent\/llm\//.test(file))
        .toSorted(),
    ).toEqual(
      [
        "agent/loop/run-agent.ts",
        "cli/create-model.ts",
        "server/jobs/budgets.ts",
        "server/jobs/model-run.ts",
        "border/run-task.ts",
        // With a masking of its own, in the process of `config check`.
        "tasks/rules/rule-examples.ts",
      ].toSorted(),
    );
    expect(having(/client\.post\(/)).toEqual(["agent/llm/endpoint-model.ts"]);
    // What the check sends is written in it.
    expect(having(/embedder\.embed\(/).toSorted()).toEqual([
      "cli/commands/doctor.ts",
      "repo/index/vectors.ts",
    ]);
  });
});

describe("the two processes of a review", () => {
  const namesIn = (file: string) =>
    [...closureOf(join(src, file))].map((one) => (isAbsolute(one) ? relative(src, one) : one));

  it("The review process loads nothing that reaches a network, GitHub, the queue or the environment", () => {
    const loaded = namesIn("border/review-process.ts");
    expect(loaded).toContain("border/child-tasks.ts");
    const ours =
      /^(?:(?:pull|server|pages|cli)\/|core\/egress|config\/(?:\w+-)?env\.ts|agent\/llm\/(?:endpoint-model|openai|anthropic)\.ts)/;
    const packages = /^(?:@?octokit|probot|openai|pg$|hono|undici|node:(?:https?|http2|net|tls|dgram)$)/;
    expect(loaded.filter((name) => ours.test(name) || packages.test(name))).toEqual([]);
  });

  it("The parent of a review process loads the names and shapes of tasks, and none of their work", () => {
    const loaded = namesIn("border/run-task.ts");
    expect(loaded).toContain("tasks/tasks.ts");
    const work = /^(?:agent\/loop\/run-agent|tasks\/\w+\/(?:run-\w+|review-change)|agent\/tools\/index)\.ts$/;
    expect(loaded.filter((name) => work.test(name))).toEqual([]);
  });
});

describe("a test file whose name has no tier", () => {
  const tests = sources(join(src, "../test")).filter((file) => file.endsWith(".test.ts"));
  const inATier = tests.filter((file) => /\.(?:git|server|slow)\.test\.ts$/.test(file));

  it("A test file without a tier loads nothing that starts a program", () => {
    expect(inATier.length).toBeGreaterThan(100);
    const starting = tests.filter(
      (file) => !inATier.includes(file) && closureOf(file).has("node:child_process"),
    );
    expect(starting.map((file) => relative(src, file))).toEqual([]);
  });
});

describe("requests to other machines", () => {
  /** Without comments and type imports. */
  const code = (file: string) =>
    readFileSync(file, "utf8")
      .replace(/^\s*(?:\/\*|\*|\/\/).*$/gm, "")
      .replace(/^import type [^;]*;|\btype \w+,?|\btypeof globalThis\.fetch\b/gm, "");
  const withSuch = (pattern: RegExp) =>
    files.filter((file) => pattern.test(code(file))).map((file) => relative(src, file));

  it("Only egress.ts sends requests to other machines", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(withSuch(/\bglobalThis\b|(?:=|\?\?|\|\|)\s*fetch\s*[;,)}]/)).toEqual([
      expect.stringMatching(/^core\/egress\.ts$/),
    ]);
    const calling = withSuch(/(?<![.\w#]|function )fetch\((?!\))/).filter(
      (file) => !/^core\/egress\.ts$/.test(file),
    );
    expect(calling).toEqual(["agent/llm/probe.ts"]);
    // It calls the `fetch` that it gets as an argument.
    expect(code(join(src, "agent/llm/probe.ts"))).toContain("{ headers, model, fetch }: ModelEndpoint");
  });

  it("No code has other means to reach other machines, except hosts that an operator names", () => {
    const asks = [
      /\b(?:request|get|Agent|ClientRequest)\b[^;]*from "node:https?"/,
      /\{[^}]*\w[^}]*\} from "(?:node:)?(?:https|http2|net|tls|dgram|dns)(?:\/promises)?"/,
      /from "(?:undici|ws|axios|got)"|new (?:WebSocket|EventSource|XMLHttpRequest)\b/,
    ];
    expect(withSuch(new RegExp(asks.map(({ source }) => source).join("|")))).toEqual([
      "sandbox/registry-proxy.ts",
      // To the socket of that proxy alone: it runs where there is no network.
      "sandbox/supervisor/bridge.ts",
    ]);
  });
});

describe("the house", () => {
  const budget = JSON.parse(readFileSync(join(root, "test/budget.json"), "utf8")) as {
    reached: Record<string, { lines: number; files?: number; why: string }>;
    allowances: Record<string, { taken: boolean; for: string; [folder: string]: unknown }>;
  };

  it.each(Object.keys(budget.reached))("The folder %s is within its budget", (folder) => {
    const own = sources(join(root, folder));
    const lines = own.map((file) => readFileSync(file, "utf8").split("\n").length - 1);
    const taken = Object.values(budget.allowances).filter((one) => one.taken);
    const allowed = taken.reduce((sum, one) => sum + Number(one[folder] ?? 0), 0);
    const { lines: most, files: mostFiles = Number.POSITIVE_INFINITY } = budget.reached[folder]!;
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(most + allowed);
    expect(own.length).toBeLessThanOrEqual(mostFiles);
  });
});
