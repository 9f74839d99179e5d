import type { DatabaseSync } from "node:sqlite";
import { folderOf, Modules, type Package } from "../code/imports.ts";
import type { GraphAnswer } from "../tools/tool.ts";
import { Callers } from "./callers.ts";
import {
  type CallSite,
  type EarlierFinding,
  type Graph,
  type GraphCommit,
  type IndexReport,
  type Nearest,
  SHOWN_CERTAINTY,
  type SymbolPlace,
} from "./graph.ts";
import { Head } from "./head.ts";
import { Names } from "./names.ts";
import { findSeeds, intentOf } from "./search.ts";
import { Steps } from "./steps.ts";
import { Values } from "./values.ts";

interface Given {
  report: IndexReport;
  nearest?: Nearest | undefined;
  commits?: readonly GraphCommit[];
  findings?: readonly EarlierFinding[];
}

/** Answers questions to an index that is up to date. */
export class OpenedGraph implements Graph {
  readonly report: IndexReport;
  readonly #database: DatabaseSync;
  readonly #given: Given;
  readonly #head: Head;
  readonly #modules: Modules;
  readonly #callers: Callers;

  constructor(database: DatabaseSync, given: Given) {
    this.#database = database;
    this.#given = given;
    this.report = given.report;
    this.#head = new Head(database);
    this.#modules = new Modules(this.#head.files.keys(), packagesOf(database));
    const names = new Names(this.#head, this.#modules);
    const values = new Values(this.#head, names, this.#modules);
    this.#callers = new Callers({ head: this.#head, names, values, modules: this.#modules });
  }

  callers(symbol: SymbolPlace, leastCertainty = SHOWN_CERTAINTY): readonly CallSite[] {
    return this.#callers.of(this.#callers.at(symbol), leastCertainty);
  }

  uses(symbol: SymbolPlace, leastCertainty = SHOWN_CERTAINTY): readonly CallSite[] {
    return this.#callers.usesOf(this.#callers.at(symbol), leastCertainty);
  }

  symbols(name: string): readonly SymbolPlace[] {
    const found = this.#head.named(name).filter(({ kind }) => kind !== "section");
    return found.map(({ path, signatureEnd }) => ({ path, name, line: signatureEnd }));
  }

  async query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer> {
    signal.throwIfAborted();
    const { nearest, commits = [], findings = [] } = this.#given;
    const head = this.#head;
    const seeds = await findSeeds(
      { database: this.#database, head, commits, findings, nearest },
      query,
      k,
      signal,
    );
    const ground = { head, modules: this.#modules, callers: this.#callers, commits, findings };
    const steps = new Steps(ground, intentOf(query));
    steps.from(seeds);
    return { nodes: steps.answer.nodes(), edges: steps.answer.edges() };
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

function packagesOf(database: DatabaseSync): Package[] {
  const rows = database
    .prepare("SELECT path, package FROM temp.present JOIN all_blob ON blob = id WHERE package IS NOT NULL")
    .all();
  return rows.map(({ path, package: name }) => ({ name: String(name), folder: folderOf(String(path)) }));
}
