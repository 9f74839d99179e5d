import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError, errorLine } from "../errors.ts";
import type { Ref, Workspace } from "../git/workspace.ts";
import type { GraphAnswer } from "../tools/tool.ts";
import { Callers } from "./callers.ts";
import {
  type CallSite,
  type EarlierFinding,
  EXTRACTOR_VERSION,
  type Graph,
  type GraphCommit,
  type GraphSource,
  type IndexReport,
  type Nearest,
  SHOWN_CERTAINTY,
  type SymbolPlace,
} from "./graph.ts";
import { indexSource } from "./index-source.ts";
import { folderOf, Modules, type Package } from "./modules.ts";
import { Names, Values } from "./names.ts";
import { findSeeds, intentOf } from "./search.ts";
import { Steps } from "./steps.ts";
import { createTables, createViews, dropTables, forgetOld, Head } from "./store.ts";

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

export interface GraphOptions {
  /** Absolute path of the index, which is made where there is none. Null keeps all of it in memory. */
  file: string | null;
  source: GraphSource;
  /**
   * The file is only read, and what this head adds is forgotten with the connection: nothing of a pull request that nobody
   * has accepted stays for the review of another one.
   */
  readOnly?: boolean;
  /** History up to the head, newest first. */
  commits?: readonly GraphCommit[];
  findings?: readonly EarlierFinding[];
  /** What finds texts by meaning; asked for once the tables are there. */
  openNearest?: (database: DatabaseSync, writable: boolean) => Nearest;
  /** In which texts are parsed. 0: in this one, for texts that are trusted and few. Undefined: as many as there are cores. */
  threads?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Texts of other heads whose facts the file keeps in any case. */
  leastKept?: number;
}

/** How long a connection waits for another one on the same file, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Brings the index up to date with one head and opens it. Costs the blobs that no one indexed before.
 *
 * @throws AppError `data_folder_unusable` where the file cannot be used, `aborted`.
 */
export async function openGraph(options: GraphOptions): Promise<Graph> {
  const { file, readOnly = false } = options;
  // Where Node confines a process it allows no extension, and refuses a connection that might load one.
  const allowExtension = options.openNearest !== undefined;
  const database =
    file === null
      ? new DatabaseSync(":memory:", { allowExtension })
      : openFile(file, readOnly, allowExtension);
  try {
    const start = performance.now();
    if (file === null) createTables(database, "main");
    createTables(database, "temp");
    createViews(database);
    const report: IndexReport = await indexSource(database, options, start);
    if (file !== null && !readOnly) forgetOld(database, options.leastKept);
    const nearest = options.openNearest?.(database, !readOnly);
    return new OpenedGraph(database, { ...options, nearest, report });
  } catch (error) {
    database.close();
    throw error;
  }
}

function openFile(file: string, readOnly: boolean, allowExtension: boolean): DatabaseSync {
  if (!readOnly) makeFile(file);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly, timeout: PATIENCE_MS, allowExtension });
    database.exec("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536");
    if (!readOnly) prepareFile(database);
    else if (versionOf(database) !== EXTRACTOR_VERSION) throw new Error("it was made by another version");
    return database;
  } catch (error) {
    database?.close();
    throw new AppError("data_folder_unusable", `Cannot use the index ${file}: ${errorLine(error)}`, {
      remedy: "Delete the file: it is made again from the repository.",
      cause: error,
    });
  }
}

function makeFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    throw new AppError("data_folder_unusable", `The index ${file} cannot be written: ${errorLine(error)}`, {
      remedy: "Set HUNKWISE_DATA_DIR to a folder that you may write to.",
      cause: error,
    });
  }
}

/** Facts that another version extracted are of no use. */
function prepareFile(database: DatabaseSync): void {
  // What is lost in a power cut is extracted again; with a journal of its own a reader never meets half a write.
  database.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL");
  database.exec("BEGIN IMMEDIATE");
  const version = versionOf(database);
  if (version !== 0 && version !== EXTRACTOR_VERSION) dropTables(database);
  createTables(database, "main");
  database.exec("COMMIT");
}

const versionOf = (database: DatabaseSync) =>
  Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);

/**
 * The regular files of a revision. Private ones are not among them: what is not read cannot be told.
 *
 * @param isPrivate true for paths that the configuration withholds
 */
export async function sourceOfWorkspace(
  workspace: Workspace,
  isPrivate: (path: string) => boolean,
  ref: Ref = "head",
): Promise<GraphSource> {
  const tree = await workspace.tree(ref);
  const files = [...tree.values()].filter(({ path, mode }) => mode.startsWith("100") && !isPrivate(path));
  return {
    files: files.map(({ path, oid }) => ({ path, oid })),
    async read(oid) {
      try {
        const { text, binary } = await workspace.readBlob(oid);
        return binary ? null : text;
      } catch (error) {
        if (error instanceof AppError && error.code === "too_large") return null;
        throw error;
      }
    },
  };
}
