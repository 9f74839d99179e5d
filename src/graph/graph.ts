import type { Commit } from "../git/workspace.ts";
import type { GraphPort } from "../tools/tool.ts";

/** Extracted facts change with this: an index of another version is made anew. */
export const EXTRACTOR_VERSION = 2;

/** From which certainty on an edge is shown. */
export const SHOWN_CERTAINTY = 0.5;

/** A regular file of the head. */
export interface GraphFile {
  path: string;
  /** Names its content: two files with one oid have the same text. */
  oid: string;
}

/** What is indexed: the files of one revision, and their texts when they are asked for. */
export interface GraphSource {
  files: readonly GraphFile[];
  /** Null for what is no text: binaries, and files beyond the size that anything is read of. */
  read(oid: string): Promise<string | null>;
}

/** A commit with the paths that it changed. */
export interface GraphCommit extends Commit {
  paths: readonly string[];
}

/** What we found earlier, and what became of it. */
export interface EarlierFinding {
  id: string;
  path: string;
  line: number | null;
  title: string;
  body: string;
  /** In words that people read: "fixed", "dismissed: intended". */
  fate: string;
}

/** A part of a blob by its lines (1-indexed, inclusive); the nearer the smaller the distance. */
export interface RankedChunk {
  oid: string;
  startLine: number;
  endLine: number;
  distance: number;
}

/** What finds texts by meaning. Where there is none, everything works by words alone. */
export interface Nearest {
  nearest(query: string, k: number, signal: AbortSignal): Promise<readonly RankedChunk[]>;
}

/** A definition as people point at it. */
export interface SymbolPlace {
  path: string;
  name: string;
  /** Any line from the first of the definition to that of its name. */
  line: number;
}

/** A place where a symbol is called or used. */
export interface CallSite {
  path: string;
  /** Where the symbol's name stands. */
  line: number;
  /** 0 to 1: how certain it is that this very symbol is meant. */
  certainty: number;
  /** The definition around the call; null on the top level of a file. */
  within: { name: string; container: string | null; startLine: number; endLine: number } | null;
}

/** How an index came about. */
export interface IndexReport {
  files: number;
  /** Blobs that were read for this head, and those whose facts were known. */
  parsed: number;
  known: number;
  /** Files that nothing is known of but their paths. */
  skipped: number;
  milliseconds: number;
}

/** The knowledge graph of a repository as it is at one head. Dispose of it: it keeps a database open. */
export interface Graph extends GraphPort, Disposable {
  readonly report: IndexReport;
  /** Calls of a symbol, surest first; empty where there is no such symbol. */
  callers(symbol: SymbolPlace, leastCertainty?: number): readonly CallSite[];
  /** Where a symbol is used without being called: as a value, as a type, by what extends it. Surest first. */
  uses(symbol: SymbolPlace, leastCertainty?: number): readonly CallSite[];
  /** Every definition of a name at the head. */
  symbols(name: string): readonly SymbolPlace[];
}
