import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const src = resolve(import.meta.dirname, "../src");

/** What a room may import of the others. Every room may import those of `common`. */
const common = new Set(["async", "errors", "finding", "text", "secrets", "egress", "proxies"]);
const mayImport: Record<string, string[]> = {
  async: [],
  errors: [],
  finding: [],
  text: [],
  secrets: [],
  egress: [],
  proxies: [],
  metrics: [],
  "process-identity": [],
  logger: [],
  diff: [],
  git: ["diff", "process-identity"],
  llm: [],
  tools: ["git", "diff", "llm", "code", "graph"],
  agent: ["tools", "llm", "proof"],
  code: [],
  sandbox: ["git", "diff", "tools", "process-identity"],
  proof: ["sandbox", "git", "diff", "code"],
  graph: ["git", "diff", "code"],
  journal: ["agent"],
  analyzers: ["diff", "code"],
  config: ["diff"],
  ledger: ["github"],
  review: ["agent", "tools", "llm", "git", "diff", "config", "analyzers", "code", "ledger", "proof"],
  process: [
    "proof",
    "code",
    "graph",
    "sandbox",
    "review",
    "agent",
    "tools",
    "llm",
    "git",
    "diff",
    "config",
    "analyzers",
    "ledger",
  ],
  github: ["config"],
  reporters: ["review", "diff", "ledger", "config"],
  publish: ["reporters", "review", "github", "diff", "ledger"],
  queue: ["agent", "process-identity"],
  jobs: [
    "figures",
    "queue",
    "journal",
    "git",
    "github",
    "graph",
    "sandbox",
    "process",
    "reporters",
    "publish",
    "review",
    "llm",
    "agent",
    "config",
    "diff",
    "ledger",
    "logger",
  ],
  figures: ["queue", "ledger", "review", "github", "reporters"],
  records: ["agent", "llm", "queue", "review"],
  pages: [
    "figures",
    "records",
    "queue",
    "github",
    "config",
    "ledger",
    "logger",
    "reporters",
    "review",
    "agent",
    "webhooks",
  ],
  webhooks: ["queue", "jobs", "github", "config", "ledger", "logger", "git", "llm"],
  cli: [
    ...[
      "records",
      "code",
      "webhooks",
      "pages",
      "queue",
      "jobs",
      "process",
      "reporters",
      "review",
      "tools",
      "agent",
      "llm",
      "git",
      "github",
      "publish",
      "ledger",
    ],
    ...[
      "diff",
      "config",
      "logger",
      "analyzers",
      "metrics",
      "figures",
      "process-identity",
      "graph",
      "sandbox",
      "proof",
      "journal",
    ],
  ],
};

/** Imports between rooms that are types alone and cross a line that values may not cross. */
const typesOnly: Record<string, string[]> = {
  tools: ["git", "graph"],
  agent: ["tools", "llm", "proof"],
  review: ["git", "llm"],
  queue: ["agent"],
  publish: ["github"],
  ledger: ["github"],
};
/** Values that may cross all the same, each with its reason. */
const valueExceptions: Record<string, string> = {
  "agent -> tools/run-tool.ts": "the one wrapper through which the loop calls tools",
  "agent -> proof/test-end.ts": "its shape is a part of a record's",
  "agent -> tools/to-openai.ts": "the one place that describes a tool to a model",
  "review -> llm/model.ts":
    "names of roles and protocols, parsed where a review begins; what a model says without its thinking",
};

/** Each third-party package has one owner. */
const owners: Record<string, string[]> = {
  openai: ["llm"],
  "p-retry": ["llm"],
  probot: ["webhooks"],
  "@octokit/rest": ["github"],
  "simple-git": ["git"],
  "@vscode/ripgrep": ["git"],
  "parse-diff": ["diff"],
  "node:sqlite": ["queue", "graph"],
  "sqlite-vec": ["graph"],
  "@modelcontextprotocol": ["tools", "cli"],
  diff: ["jobs"],
  pg: ["queue"],
  "prom-client": ["metrics"],
  "@ast-grep": ["code"],
  pino: ["logger"],
  yauzl: ["process"],
  hono: ["pages"],
  picocolors: ["cli", "reporters"],
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
    .map((entry) => join(entry.parentPath, entry.name));
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

const roomOf = (file: string) => relative(src, file).split("/")[0]!.replace(/\.ts$/, "");
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

describe("the rooms", () => {
  it("are scanned at all", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(internal.length).toBeGreaterThan(150);
  });

  it("are all known", () => {
    const unknown = files.map(roomOf).filter((room) => !(room in mayImport));
    expect([...new Set(unknown)]).toEqual([]);
  });

  it("import only the rooms they may", () => {
    const breaches = internal.filter((one) => {
      const [from, to] = [roomOf(one.from), roomOf(one.target)];
      return from !== to && !common.has(to) && from !== "cli.ts" && !mayImport[from]?.includes(to);
    });
    expect(breaches.map(show)).toEqual([]);
  });

  it("import types alone where values may not cross", () => {
    const breaches = internal.filter((one) => {
      const [from, to] = [roomOf(one.from), roomOf(one.target)];
      const exception = `${from} -> ${relative(src, one.target)}` in valueExceptions;
      return from !== to && typesOnly[from]?.includes(to) && !one.typeOnly && !exception;
    });
    expect(breaches.map(show)).toEqual([]);
  });

  it("leave each third-party package to its owner", () => {
    const breaches = imports.filter((one) => {
      const name = Object.keys(owners).find((owned) => one.to === owned || one.to.startsWith(`${owned}/`));
      return name !== undefined && !owners[name]!.includes(roomOf(one.from));
    });
    expect(breaches.map(show)).toEqual([]);
  });

  it("hold no import cycle", () => {
    const next = new Map<string, string[]>();
    for (const one of internal) next.set(one.from, [...(next.get(one.from) ?? []), one.target]);
    const state = new Map<string, "open" | "closed">();
    const cycles: string[] = [];
    const visit = (file: string, path: string[]) => {
      if (state.get(file) === "closed") return;
      if (state.get(file) === "open") {
        cycles.push([...path.slice(path.indexOf(file)), file].map((one) => relative(src, one)).join(" -> "));
        return;
      }
      state.set(file, "open");
      for (const target of next.get(file) ?? []) visit(target, [...path, file]);
      state.set(file, "closed");
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  it("read the environment only in config", () => {
    const readers = files.filter((file) => /process\.env\b/.test(readFileSync(file, "utf8")));
    expect(readers.map((file) => relative(src, file))).toEqual(["config/env.ts", "config/process-env.ts"]);
  });

  it("make text public in one place alone", () => {
    const shapes = "PublicText|CheckRunUpdate|CheckAnnotation|InlineComment|FileProposal";
    const claims = new RegExp(
      `\\b(?:as|is)\\s+(?:import\\([^)]*\\)\\.)?(?:${shapes})\\b|<PublicText>|typeof public(?:Text|Plain)`,
    );
    const makers = files.filter((file) => claims.test(readFileSync(file, "utf8")));
    expect(makers.map((file) => relative(src, file))).toEqual(["publish/public-text.ts"]);
  });

  it("ask a model through the port that masks secrets alone", () => {
    const having = (text: RegExp) =>
      files.filter((file) => text.test(readFileSync(file, "utf8"))).map((file) => relative(src, file));
    // What the review process sends, the one process that reads a repository for a model.
    expect(having(/^\s+type: "request_turn",$/m)).toEqual(["process/parent-port.ts"]);
    // Its loops, and what the parent wraps around a model.
    expect(
      having(/(?<!this)\.respond\(/)
        .filter((file) => !file.startsWith("llm/"))
        .toSorted(),
    ).toEqual([
      "agent/run-agent.ts",
      "cli/create-model.ts",
      "jobs/budgets.ts",
      "jobs/model-run.ts",
      "process/run-task.ts",
      // With a masking of its own, in the process of `config check`.
      "review/rule-examples.ts",
    ]);
    expect(having(/client\.post\(/)).toEqual(["llm/endpoint-model.ts"]);
    // What the check sends is written in it.
    expect(having(/embedder\.embed\(/).toSorted()).toEqual(["cli/commands/doctor.ts", "graph/vectors.ts"]);
  });
});

describe("the two processes of a review", () => {
  const namesIn = (file: string) =>
    [...closureOf(join(src, file))].map((one) => (isAbsolute(one) ? relative(src, one) : one));

  it("The review process loads nothing that reaches a network, GitHub, the queue or the environment", () => {
    const loaded = namesIn("process/review-process.ts");
    expect(loaded).toContain("process/child-tasks.ts");
    const ours =
      /^(?:(?:github|queue|jobs|publish|webhooks|pages|cli)\/|egress|config\/(?:\w+-)?env\.ts|llm\/(?:endpoint-model|openai|anthropic)\.ts)/;
    const packages = /^(?:@?octokit|probot|openai|pg$|hono|undici|node:(?:https?|http2|net|tls|dgram)$)/;
    expect(loaded.filter((name) => ours.test(name) || packages.test(name))).toEqual([]);
  });

  it("The parent of a review process loads the names and shapes of tasks, and none of their work", () => {
    const loaded = namesIn("process/run-task.ts");
    expect(loaded).toContain("review/tasks.ts");
    const work = /^(?:agent\/run-agent|review\/(?:review-change|run-loop|\w+\/run-\w+)|tools\/index)\.ts$/;
    expect(loaded.filter((name) => work.test(name))).toEqual([]);
  });
});

describe("a test file whose name has no tier", () => {
  const tests = sources(join(src, "../test")).filter((file) => file.endsWith(".test.ts"));
  const inATier = tests.filter((file) => /\.(?:git|server|slow)\.test\.ts$/.test(file));

  it("loads nothing that starts a program", () => {
    expect(inATier.length).toBeGreaterThan(100);
    const starting = tests.filter(
      (file) => !inATier.includes(file) && closureOf(file).has("node:child_process"),
    );
    expect(starting.map((file) => relative(src, file))).toEqual([]);
  });
});

describe("requests to other machines", () => {
  const files = readdirSync(src, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name));
  /** Without comments and type imports. */
  const code = (file: string) =>
    readFileSync(file, "utf8")
      .replace(/^\s*(?:\/\*|\*|\/\/).*$/gm, "")
      .replace(/^import type [^;]*;|\btype \w+,?|\btypeof globalThis\.fetch\b/gm, "");
  const withSuch = (pattern: RegExp) =>
    files.filter((file) => pattern.test(code(file))).map((file) => relative(src, file));

  it("go through egress.ts only", () => {
    expect(files.length).toBeGreaterThan(100);
    expect(withSuch(/\bglobalThis\b|(?:=|\?\?|\|\|)\s*fetch\s*[;,)}]/)).toEqual(["egress.ts"]);
    const calling = withSuch(/(?<![.\w#]|function )fetch\((?!\))/).filter((file) => file !== "egress.ts");
    expect(calling).toEqual(["llm/probe.ts"]);
    // It calls the `fetch` that it gets as an argument.
    expect(code(join(src, "llm/probe.ts"))).toContain("{ headers, model, fetch }: ModelEndpoint");
  });

  it("are not made by other means, except for hosts that an operator names", () => {
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
