import { fileKindOf } from "../tools/file-kind.ts";
import type { GraphEdge, GraphNode } from "../tools/tool.ts";
import type { Callers } from "./callers.ts";
import { type CallSite, type EarlierFinding, type GraphCommit, SHOWN_CERTAINTY } from "./graph.ts";
import type { Modules } from "./modules.ts";
import type { Intent, Seed } from "./search.ts";
import { type DefinitionAt, type Head, stemOf } from "./store.ts";

const round = (value: number) => Math.round(value * 10_000) / 10_000;

const symbolId = ({ path, container, name, start }: DefinitionAt): string =>
  `symbol:${path}#${container === null ? "" : `${container}.`}${name}@${start}`;
const fileId = (path: string): string => `file:${path}`;

function symbolNode(of: DefinitionAt, score: number): GraphNode {
  const isSection = of.kind === "section";
  return {
    id: isSection ? `document:${of.path}@${of.start}` : symbolId(of),
    kind: isSection ? "document" : "symbol",
    name: of.container === null ? of.name : `${of.container}.${of.name}`,
    path: of.path,
    startLine: of.docStart,
    endLine: of.end,
    excerpt: of.excerpt,
    score: round(score),
  };
}

const fileNode = (path: string, score: number): GraphNode => ({
  ...{ id: fileId(path), kind: "file", name: path, path, startLine: null, endLine: null, excerpt: "" },
  score: round(score),
});

const MAX_MESSAGE = 600;

function commitNode({ sha, author, date, message }: GraphCommit, score: number): GraphNode {
  const [first = ""] = message.split("\n");
  const excerpt = `${date.slice(0, 10)} ${author}\n${message.trim()}`.slice(0, MAX_MESSAGE);
  const place = { path: null, startLine: null, endLine: null };
  return { id: `commit:${sha}`, kind: "commit", name: first, ...place, excerpt, score: round(score) };
}

function findingNode(one: EarlierFinding, score: number): GraphNode {
  const excerpt = `${one.fate}\n${one.body}`.slice(0, MAX_MESSAGE);
  const place = { path: one.path, startLine: one.line, endLine: one.line };
  return {
    id: `finding:${one.id}`,
    kind: "finding",
    name: one.title,
    ...place,
    excerpt,
    score: round(score),
  };
}

function nodeOf(seed: Seed): GraphNode {
  switch (seed.kind) {
    case "symbol":
      return symbolNode(seed.of, seed.score);
    case "file":
      return fileNode(seed.path, seed.score);
    case "commit":
      return commitNode(seed.of, seed.score);
    case "finding":
      return findingNode(seed.of, seed.score);
  }
}

/** Gathers nodes and edges, each once. What was found first keeps its score. */
class AnswerBuilder {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #edges = new Map<string, GraphEdge>();

  node(node: GraphNode): string {
    if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
    return node.id;
  }

  edge(from: string, kind: GraphEdge["kind"], to: string, line: number | null, certainty: number): void {
    if (from === to) return;
    const key = `${from}\0${kind}\0${to}\0${kind === "calls" ? line : ""}`;
    if (!this.#edges.has(key)) this.#edges.set(key, { from, to, kind, line, certainty: round(certainty) });
  }

  nodes(): GraphNode[] {
    return [...this.#nodes.values()];
  }

  edges(): GraphEdge[] {
    return [...this.#edges.values()];
  }
}

/** What the steps are made with. */
interface Ground {
  head: Head;
  modules: Modules;
  callers: Callers;
  commits: readonly GraphCommit[];
  findings: readonly EarlierFinding[];
}

/** Edges of one kind that are shown of one thing; more where the question is about them. */
const FEW = 6;
const MANY = 25;
/** What a step away is worth of what it was found by. */
const FADING = 0.5;
const MAX_COMMITS = 3;

/** Goes from what a question is about to what is connected with it. */
export class Steps {
  readonly #ground: Ground;
  readonly #intent: Intent;
  readonly answer = new AnswerBuilder();

  constructor(ground: Ground, intent: Intent) {
    this.#ground = ground;
    this.#intent = intent;
  }

  from(seeds: readonly Seed[]): void {
    for (const seed of seeds) this.answer.node(nodeOf(seed));
    for (const seed of seeds) {
      if (seed.kind === "symbol" && seed.of.kind === "section") this.#ofSection(seed.of, seed.score);
      else if (seed.kind === "symbol") this.#ofSymbol(seed.of, seed.score);
      else if (seed.kind === "file") this.#ofFile(seed.path, seed.score);
      else if (seed.kind === "commit") this.#ofCommit(seed.of, seed.score);
      else this.#about(seed.of, seed.score);
    }
  }

  #ofSymbol(of: DefinitionAt, score: number): void {
    const id = this.answer.node(symbolNode(of, score));
    this.answer.edge(this.answer.node(fileNode(of.path, score * FADING)), "defines", id, of.start, 1);
    this.#callersOf(of, id, score);
    this.#usersOf(of, id, score);
    this.#calledBy(of, id, score);
    this.#pathHistory(of.path, score, of);
  }

  #callersOf(of: DefinitionAt, id: string, score: number): void {
    const { callers } = this.#ground;
    const sites = callers.of(
      callers.at({ path: of.path, name: of.name, line: of.signatureEnd }),
      SHOWN_CERTAINTY,
    );
    const isTest = (path: string) => fileKindOf(path) === "test";
    const groups = [
      {
        of: sites.filter(({ path }) => !isTest(path)),
        kind: "calls",
        most: this.#intent.callers ? MANY : FEW,
      },
      {
        of: sites.filter(({ path }) => isTest(path)),
        kind: "tests",
        most: this.#intent.tests ? MANY : FEW / 2,
      },
    ] as const;
    for (const { of: group, kind, most } of groups)
      for (const site of group.slice(0, most)) this.#site(site, kind, id, score);
  }

  /** Where it is used and not called: types, constants, functions that are handed on. */
  #usersOf(of: DefinitionAt, id: string, score: number): void {
    const { callers } = this.#ground;
    const place = { path: of.path, name: of.name, line: of.signatureEnd };
    const sites = callers.usesOf(callers.at(place), SHOWN_CERTAINTY);
    for (const site of sites.slice(0, this.#intent.callers ? MANY : FEW))
      this.#site(site, "references", id, score);
  }

  /** An edge from the definition around a place, or from its file. */
  #site(
    { path, line, certainty, within }: CallSite,
    kind: GraphEdge["kind"],
    id: string,
    score: number,
  ): void {
    const around =
      within &&
      this.#ground.head
        .definitionsIn(path)
        .find((one) => one.start === within.startLine && one.name === within.name);
    const worth = score * FADING * certainty;
    const node = around ? symbolNode(around, worth) : fileNode(path, worth);
    this.answer.edge(this.answer.node(node), kind, id, line, certainty);
  }

  /** What it calls itself, as far as it is part of the repository. */
  #calledBy(of: DefinitionAt, id: string, score: number): void {
    const { head, callers } = this.#ground;
    const seen = new Set<string>();
    for (const reference of head.referencesIn(of.path)) {
      if (seen.size >= FEW || reference.line > of.end) break;
      if (reference.line < of.start || reference.role !== "call" || seen.has(reference.name)) continue;
      const meant = callers.meantBy(reference);
      if (
        !meant ||
        meant.certainty < SHOWN_CERTAINTY ||
        (meant.of.path === of.path && meant.of.seq === of.seq)
      )
        continue;
      seen.add(reference.name);
      const to = this.answer.node(symbolNode(meant.of, score * FADING * meant.certainty));
      this.answer.edge(id, "calls", to, reference.line, meant.certainty);
    }
  }

  #ofFile(path: string, score: number): void {
    const { head, modules } = this.#ground;
    const id = this.answer.node(fileNode(path, score));
    const top = head
      .definitionsIn(path)
      .filter(({ outer, exported, kind }) => outer === null && exported && kind !== "test");
    for (const one of top.slice(0, FEW))
      this.answer.edge(id, "defines", this.answer.node(symbolNode(one, score * FADING)), one.start, 1);
    const targets = new Map<string, number>();
    for (const { specifier, line } of head.importsIn(path))
      if (specifier !== "")
        for (const target of modules.resolve(path, specifier))
          if (!targets.has(target)) targets.set(target, line);
    for (const [target, line] of [...targets].slice(0, FEW))
      this.answer.edge(id, "imports", this.answer.node(fileNode(target, score * FADING)), line, 1);
    for (const importer of this.#importersOf(path)) {
      const kind = fileKindOf(importer) === "test" ? "tests" : "imports";
      this.answer.edge(this.answer.node(fileNode(importer, score * FADING)), kind, id, null, 1);
    }
    this.#pathHistory(path, score, null);
  }

  #importersOf(path: string): string[] {
    const { head, modules } = this.#ground;
    const stems = new Set([stemOf(path), stemOf(path.slice(0, Math.max(0, path.lastIndexOf("/"))))]);
    const found = [...stems].filter(Boolean).flatMap((stem) => head.importsNaming(stem));
    const importers = found.filter(
      ({ path: from, specifier }) => from !== path && modules.resolve(from, specifier).includes(path),
    );
    const isTest = (from: string) => fileKindOf(from) === "test";
    const all = [...new Set(importers.map((one) => one.path))].sort();
    return [
      ...all.filter((one) => !isTest(one)).slice(0, this.#intent.callers ? MANY : FEW),
      ...all.filter(isTest).slice(0, this.#intent.tests ? MANY : FEW),
    ];
  }

  /** Commits that changed a path, and findings about it. */
  #pathHistory(path: string, score: number, of: DefinitionAt | null): void {
    const { commits, findings } = this.#ground;
    const about = findings.filter((one) => one.path === path && (of === null || isIn(one.line, of)));
    for (const one of about.slice(0, FEW)) this.#about(one, score * FADING);
    if (!this.#intent.history) return;
    for (const one of commits.filter(({ paths }) => paths.includes(path)).slice(0, MAX_COMMITS)) {
      const commit = this.answer.node(commitNode(one, score * FADING));
      this.answer.edge(commit, "changed", this.answer.node(fileNode(path, score * FADING)), null, 1);
    }
  }

  #ofCommit(of: GraphCommit, score: number): void {
    const id = this.answer.node(commitNode(of, score));
    // What was moved away or is withheld is not at the head.
    const present = of.paths.filter((path) => this.#ground.head.files.has(path));
    for (const path of present.slice(0, FEW))
      this.answer.edge(id, "changed", this.answer.node(fileNode(path, score * FADING)), null, 1);
  }

  #about(of: EarlierFinding, score: number): void {
    const { head } = this.#ground;
    const id = this.answer.node(findingNode(of, score));
    if (!head.files.has(of.path)) return;
    const around = head
      .definitionsIn(of.path)
      .filter((one) => of.line !== null && isIn(of.line, one))
      .at(-1);
    const to = around ? symbolNode(around, score * FADING) : fileNode(of.path, score * FADING);
    this.answer.edge(id, "about", this.answer.node(to), null, 1);
  }

  /** Names in backticks that only one definition of the repository has. */
  #ofSection(of: DefinitionAt, score: number): void {
    const { head } = this.#ground;
    const id = this.answer.node(symbolNode(of, score));
    const names = new Set(
      [...of.excerpt.matchAll(/`([\p{L}_$][\p{L}\p{N}_$]{2,60})(?:\(\))?`/gu)].map((one) => one[1] ?? ""),
    );
    for (const name of names) {
      const [one, ...others] = head
        .named(name)
        .filter(({ kind, path }) => kind !== "section" && fileKindOf(path) !== "test");
      if (one && others.length === 0)
        this.answer.edge(id, "documents", this.answer.node(symbolNode(one, score * FADING)), null, 0.8);
    }
    const paths = new Set(
      [...of.excerpt.matchAll(/[\w./-]{1,200}\.\w{1,5}\b/g)].map((one) => one[0].replace(/^\.\//, "")),
    );
    for (const path of paths)
      if (head.files.has(path))
        this.answer.edge(id, "documents", this.answer.node(fileNode(path, score * FADING)), null, 0.9);
    this.answer.edge(fileId(of.path), "defines", id, of.start, 1);
    this.answer.node(fileNode(of.path, score * FADING));
  }
}

const isIn = (line: number | null, { docStart, end }: DefinitionAt) =>
  line !== null && docStart <= line && line <= end;
