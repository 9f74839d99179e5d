import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AppError, errorLine, isUnreadable } from "../../core/errors.ts";
import { folderOf, Modules, type Package } from "../code/imports.ts";
import type { Ref, Workspace } from "../git/workspace.ts";
import { Callers } from "./callers.ts";
import type { Graph, GraphCommit, GraphFinding, GraphSource, IndexReport, VectorSearch } from "./graph.ts";
import { type IndexOptions, indexSource } from "./index-source.ts";
import { findSeeds, intentOf, type QuerySources } from "./search.ts";
import { expandSeeds } from "./steps.ts";
import {
  createTables,
  createViews,
  dropTables,
  EXTRACTOR_VERSION,
  forgetOld,
  HeadFacts,
  inTransaction,
} from "./store.ts";

export interface GraphOptions extends IndexOptions {
  /** Absolute path of the index, which is created if missing. Null keeps all of it in memory. */
  file: string | null;
  /** History up to the head, newest first. */
  commits?: readonly GraphCommit[];
  findings?: readonly GraphFinding[];
  /** Opens the search by meaning, once the tables exist. Not for a file that is only read. */
  openNearest?: (database: DatabaseSync) => VectorSearch;
  /** Texts of other heads whose facts the file keeps in any case. */
  leastKept?: number;
}

/** How long a connection waits for another one on the same file, in milliseconds. */
const BUSY_TIMEOUT_MS = 10_000;

/** Brings the index up to date with one head and opens it. @throws AppError `data_folder_unusable`, `aborted` */
export async function openGraph(options: GraphOptions): Promise<Graph> {
  const { file, readOnly = false } = options;
  // A process confined by Node's permission model must not ask for extensions: Node refuses such a connection.
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
    return openedGraph(database, report, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

function openFile(file: string, readOnly: boolean, allowExtension: boolean): DatabaseSync {
  if (!readOnly) createFile(file);
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { readOnly, timeout: BUSY_TIMEOUT_MS, allowExtension });
    database.exec("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536");
    if (!readOnly) prepareFile(database);
    else if (versionOf(database) !== EXTRACTOR_VERSION) throw new Error("another version created it");
    return database;
  } catch (error) {
    database?.close();
    throw new AppError("data_folder_unusable", `Cannot use the index ${file}: ${errorLine(error)}`, {
      remedy: "Delete the file. Hunkwise rebuilds it from the repository.",
      cause: error,
    });
  }
}

function createFile(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, "a", 0o600));
    chmodSync(file, 0o600);
  } catch (error) {
    throw new AppError("data_folder_unusable", `The index ${file} cannot be written: ${errorLine(error)}`, {
      remedy: "Set HUNKWISE_DATA_DIR to a folder that you can write to.",
      cause: error,
    });
  }
}

function prepareFile(database: DatabaseSync): void {
  // What a power cut loses is extracted again. Unlike WAL, a rollback journal lets a process read the file that may not write.
  database.exec("PRAGMA journal_mode = DELETE; PRAGMA synchronous = NORMAL");
  inTransaction(database, () => {
    const version = versionOf(database);
    if (version !== 0 && version !== EXTRACTOR_VERSION) dropTables(database);
    createTables(database, "main");
  });
}

const versionOf = (database: DatabaseSync) =>
  Number(database.prepare("PRAGMA user_version").get()?.user_version ?? 0);

function openedGraph(
  database: DatabaseSync,
  report: IndexReport,
  { openNearest, commits = [], findings = [] }: GraphOptions,
): Graph {
  const nearest = openNearest?.(database);
  const head = new HeadFacts(database);
  const modules = new Modules(head.files.keys(), packagesOf(database));
  const callers = new Callers(head, modules);
  const sources: QuerySources = { database, head, modules, callers, commits, findings, nearest };
  return {
    report,
    callers: (symbol, least) => callers.callsOf(callers.definitionsAt(symbol), least),
    uses: (symbol, least) => callers.usesOf(callers.definitionsAt(symbol), least),
    symbols(name) {
      const found = head.named(name).filter(({ kind }) => kind !== "section");
      return found.map(({ path, signatureEnd }) => ({ path, name, line: signatureEnd }));
    },
    async query(query, k, signal) {
      signal.throwIfAborted();
      const seeds = await findSeeds(sources, query, k, signal);
      return expandSeeds(seeds, intentOf(query), sources);
    },
    [Symbol.dispose]: () => database.close(),
  };
}

function packagesOf(database: DatabaseSync): Package[] {
  const rows = database
    .prepare("SELECT path, package FROM temp.present JOIN all_blob ON blob = id WHERE package IS NOT NULL")
    .all();
  return rows.map(({ path, package: name }) => ({ name: String(name), folder: folderOf(String(path)) }));
}

/** The regular files of a revision, without private ones: what is not read cannot leak. */
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
        if (isUnreadable(error)) return undefined;
        if (error instanceof AppError && error.code === "too_large") return null;
        throw error;
      }
    },
  };
}
