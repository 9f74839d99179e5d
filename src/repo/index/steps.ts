import { isTestFile } from "../code/test-file.ts";
import { importersOf, SHOWN_CERTAINTY } from "./callers.ts";
import type { CallSite, GraphAnswer, GraphCommit, GraphEdge, GraphFinding, GraphNode } from "./graph.ts";
import type { Intent, QuerySources, Seed } from "./search.ts";
import type { DefinitionAt } from "./store.ts";

/** Maximum edges of one kind shown for one node; more if the query asks for them. */
const FEW = 6;
const MANY = 25;
/** Factor of the score for each step away. */
const FADING = 0.5;
const MAX_COMMITS = 3;
const MAX_MESSAGE = 600;

/** Goes from the matches of a query to the nodes connected with them. */
export function expandSeeds(seeds: readonly Seed[], intent: Intent, sources: QuerySources): GraphAnswer {
  const expansion = new Expansion(intent, sources);
  for (const seed of seeds) expansion.seed(seed);
  for (const seed of seeds) expansion.expand(seed);
  return { nodes: [...expansion.nodes.values()], edges: [...expansion.edges.values()] };
}

class Expansion {
  /** By id. A node keeps the score with which it was found first. */
  readonly nodes = new Map<string, GraphNode>();
  readonly edges = new Map<string, GraphEdge>();
  readonly #intent: Intent;
  readonly #sources: QuerySources;

  constructor(intent: Intent, sources: QuerySources) {
    this.#intent = intent;
    this.#sources = sources;
  }

  /** Adds the node of a seed. Answers its id. */
  seed(seed: Seed): string {
    if (seed.kind === "symbol") return this.#symbol(seed.of, seed.score);
    if (seed.kind === "file") return this.#file(seed.path, seed.score);
    if (seed.kind === "commit") return this.#commit(seed.of, seed.score);
    return this.#finding(seed.of, seed.score);
  }

  expand(seed: Seed): void {
    if (seed.kind === "symbol" && seed.of.kind === "section") this.#expandSection(seed.of, seed.score);
    else if (seed.kind === "symbol") this.#expandSymbol(seed.of, seed.score);
    else if (seed.kind === "file") this.#expandFile(seed.path, seed.score);
    else if (seed.kind === "commit") this.#expandCommit(seed.of, seed.score);
    else this.#expandFinding(seed.of, seed.score);
  }

  #symbol(of: DefinitionAt, score: number): string {
    const name = of.container === null ? of.name : `${of.container}.${of.name}`;
    const isSection = of.kind === "section";
    return this.#add({
      id: isSection ? `document:${of.path}@${of.start}` : `symbol:${of.path}#${name}@${of.start}`,
      kind: isSection ? "document" : "symbol",
      name,
      path: of.path,
      startLine: of.docStart,
      endLine: of.end,
      excerpt: of.excerpt,
      score,
    });
  }

  #file(path: string, score: number): string {
    const lines = { startLine: null, endLine: null };
    return this.#add({ id: `file:${path}`, kind: "file", name: path, path, ...lines, excerpt: "", score });
  }

  #commit({ sha, author, date, message }: GraphCommit, score: number): string {
    const [name = ""] = message.split("\n");
    const excerpt = `${date.slice(0, 10)} ${author}\n${message.trim()}`.slice(0, MAX_MESSAGE);
    const place = { path: null, startLine: null, endLine: null };
    return this.#add({ id: `commit:${sha}`, kind: "commit", name, ...place, excerpt, score });
  }

  #finding({ id, path, line, title, body, fate }: GraphFinding, score: number): string {
    const excerpt = `${fate}\n${body}`.slice(0, MAX_MESSAGE);
    const place = { path, startLine: line, endLine: line };
    return this.#add({ id: `finding:${id}`, kind: "finding", name: title, ...place, excerpt, score });
  }

  #add(node: GraphNode): string {
    if (!this.nodes.has(node.id)) this.nodes.set(node.id, { ...node, score: round(node.score) });
    return node.id;
  }

  #edge(from: string, kind: GraphEdge["kind"], to: string, line: number | null, certainty = 1): void {
    if (from === to) return;
    const key = `${from}\0${kind}\0${to}\0${kind === "calls" ? line : ""}`;
    if (!this.edges.has(key)) this.edges.set(key, { from, to, kind, line, certainty: round(certainty) });
  }

  #expandSymbol(of: DefinitionAt, score: number): void {
    const { callers } = this.#sources;
    const id = this.#symbol(of, score);
    this.#edge(this.#file(of.path, score * FADING), "defines", id, of.start);
    const definitions = callers.definitionsAt({ path: of.path, name: of.name, line: of.signatureEnd });
    const calls = callers.callsOf(definitions);
    const most = this.#intent.callers ? MANY : FEW;
    this.#addSites(calls.filter(({ path }) => !isTestFile(path)).slice(0, most), "calls", id, score);
    const mostTests = this.#intent.tests ? MANY : FEW / 2;
    this.#addSites(calls.filter(({ path }) => isTestFile(path)).slice(0, mostTests), "tests", id, score);
    this.#addSites(callers.usesOf(definitions).slice(0, most), "references", id, score);
    this.#addCallees(of, id, score);
    this.#addHistory(of.path, score, of);
  }

  /** Edges from the definitions around some places, or from their files. */
  #addSites(sites: readonly CallSite[], kind: GraphEdge["kind"], to: string, score: number): void {
    for (const { path, line, certainty, within } of sites) {
      const around =
        within &&
        this.#sources.head
          .definitionsIn(path)
          .find((one) => one.start === within.startLine && one.name === within.name);
      const worth = score * FADING * certainty;
      const from = around ? this.#symbol(around, worth) : this.#file(path, worth);
      this.#edge(from, kind, to, line, certainty);
    }
  }

  #addCallees(of: DefinitionAt, id: string, score: number): void {
    const { head, callers } = this.#sources;
    const seen = new Set<string>();
    for (const reference of head.referencesIn(of.path)) {
      if (seen.size >= FEW || reference.line > of.end) break;
      if (reference.line < of.start || reference.role !== "call" || seen.has(reference.name)) continue;
      const callee = callers.calleeOf(reference);
      if (!callee || callee.certainty < SHOWN_CERTAINTY) continue;
      if (callee.of.path === of.path && callee.of.seq === of.seq) continue;
      seen.add(reference.name);
      const to = this.#symbol(callee.of, score * FADING * callee.certainty);
      this.#edge(id, "calls", to, reference.line, callee.certainty);
    }
  }

  #expandFile(path: string, score: number): void {
    const { head, modules } = this.#sources;
    const near = score * FADING;
    const id = this.#file(path, score);
    const top = head
      .definitionsIn(path)
      .filter(({ outer, exported, kind }) => outer === null && exported && kind !== "test");
    for (const one of top.slice(0, FEW)) this.#edge(id, "defines", this.#symbol(one, near), one.start);
    const targets = new Map<string, number>();
    for (const { specifier, line } of head.importsIn(path))
      if (specifier !== "")
        for (const target of modules.resolve(path, specifier))
          if (!targets.has(target)) targets.set(target, line);
    for (const [target, line] of [...targets].slice(0, FEW))
      this.#edge(id, "imports", this.#file(target, near), line);
    const importers = [...importersOf(path, head, modules)].filter((from) => from !== path).sort();
    const shown = [
      ...importers.filter((one) => !isTestFile(one)).slice(0, this.#intent.callers ? MANY : FEW),
      ...importers.filter(isTestFile).slice(0, this.#intent.tests ? MANY : FEW),
    ];
    for (const one of shown)
      this.#edge(this.#file(one, near), isTestFile(one) ? "tests" : "imports", id, null);
    this.#addHistory(path, score, null);
  }

  /** Findings about a path, or about a definition in it, and commits that changed the path. */
  #addHistory(path: string, score: number, of: DefinitionAt | null): void {
    const { commits, findings } = this.#sources;
    const about = findings.filter((one) => one.path === path && (of === null || isIn(one.line, of)));
    for (const one of about.slice(0, FEW)) this.#expandFinding(one, score * FADING);
    if (!this.#intent.history) return;
    for (const one of commits.filter(({ paths }) => paths.includes(path)).slice(0, MAX_COMMITS)) {
      const commit = this.#commit(one, score * FADING);
      this.#edge(commit, "changed", this.#file(path, score * FADING), null);
    }
  }

  #expandCommit(of: GraphCommit, score: number): void {
    const id = this.#commit(of, score);
    // Files that were moved away or are withheld are not at the head.
    const present = of.paths.filter((path) => this.#sources.head.files.has(path));
    for (const path of present.slice(0, FEW))
      this.#edge(id, "changed", this.#file(path, score * FADING), null);
  }

  #expandFinding(of: GraphFinding, score: number): void {
    const { head } = this.#sources;
    const id = this.#finding(of, score);
    if (!head.files.has(of.path)) return;
    const around = head.definitionsIn(of.path).findLast((one) => isIn(of.line, one));
    const to = around ? this.#symbol(around, score * FADING) : this.#file(of.path, score * FADING);
    this.#edge(id, "about", to, null);
  }

  /** A section documents the files it names, and the names in backticks that have one definition in the repository. */
  #expandSection(of: DefinitionAt, score: number): void {
    const { head } = this.#sources;
    const near = score * FADING;
    const id = this.#symbol(of, score);
    const names = of.excerpt.matchAll(/`([\p{L}_$][\p{L}\p{N}_$]{2,60})(?:\(\))?`/gu);
    for (const name of new Set([...names].map((match) => match[1] ?? ""))) {
      const [one, ...others] = head
        .named(name)
        .filter(({ kind, path }) => kind !== "section" && !isTestFile(path));
      if (one && others.length === 0) this.#edge(id, "documents", this.#symbol(one, near), null, 0.8);
    }
    const paths = of.excerpt.matchAll(/[\w./-]{1,200}\.\w{1,5}\b/g);
    for (const path of new Set([...paths].map(([match]) => match.replace(/^\.\//, ""))))
      if (head.files.has(path)) this.#edge(id, "documents", this.#file(path, near), null, 0.9);
    this.#edge(this.#file(of.path, near), "defines", id, of.start);
  }
}

const round = (value: number) => Math.round(value * 10_000) / 10_000;

const isIn = (line: number | null, { docStart, end }: DefinitionAt) =>
  line !== null && docStart <= line && line <= end;
