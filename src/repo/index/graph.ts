import type { Commit } from "../git/workspace.ts";

export interface GraphFile {
  path: string;
  /** Identifies its content: two files with one oid have the same text. */
  oid: string;
}

/** What is indexed: the files of one revision, and their texts on request. */
export interface GraphSource {
  files: readonly GraphFile[];
  /** Null for binaries, and for files beyond the size limit; undefined for what git cannot read. */
  read(oid: string): Promise<string | null | undefined>;
}

export interface GraphCommit extends Commit {
  paths: readonly string[];
}

export interface GraphFinding {
  id: string;
  path: string;
  line: number | null;
  title: string;
  body: string;
  /** In words for people: "fixed", "dismissed: intended". */
  fate: string;
}

/** A part of a blob by its lines (1-indexed, inclusive). */
export interface RankedChunk {
  oid: string;
  startLine: number;
  endLine: number;
  /** 0 for the same direction, 2 for the opposite one. */
  distance: number;
}

/** Finds texts by meaning. Optional: without it, queries only use words. */
export interface VectorSearch {
  /** The nearest chunks first. */
  nearest(query: string, k: number, signal: AbortSignal): Promise<readonly RankedChunk[]>;
}

/** A definition by its name and place. */
export interface SymbolLocation {
  path: string;
  name: string;
  /** Any line of the definition. If definitions of one name are nested, a line of its head says which one is meant. */
  line: number;
}

/** A place that calls or uses a symbol. */
export interface CallSite {
  path: string;
  /** The line of the symbol's name. */
  line: number;
  /** 0 to 1: how certain it is that this symbol is meant. */
  certainty: number;
  /** The definition around the call; null on the top level of a file. */
  within: { name: string; container: string | null; startLine: number; endLine: number } | null;
}

/** How far the index is: texts that were read for it, of those that must be read. */
export interface IndexProgress {
  done: number;
  total: number;
}

export interface IndexReport {
  files: number;
  /** Blobs that were read for this head, and those whose facts were known. */
  parsed: number;
  known: number;
  /** Files of which only the path is known. */
  skipped: number;
  milliseconds: number;
}

/** A node of the knowledge graph, and why it was found. */
export interface GraphNode {
  id: string;
  kind: "file" | "symbol" | "commit" | "document" | "finding";
  /** Its name for people: a path, a name, the first line of a message. */
  name: string;
  path: string | null;
  /** 1-indexed, inclusive. */
  startLine: number | null;
  endLine: number | null;
  /** A few lines that describe it. */
  excerpt: string;
  score: number;
}

/** The kind says what `from` does to `to`. */
export interface GraphEdge {
  from: string;
  to: string;
  kind: "defines" | "calls" | "references" | "imports" | "tests" | "documents" | "changed" | "about";
  /** The line in `from`'s file; 1-indexed. */
  line: number | null;
  /** 0 to 1: how certain it is that this node is meant. Edges below one half are left out. */
  certainty: number;
}

export interface GraphAnswer {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
}

/** The knowledge graph of a repository at one head. Holds a database open until it is disposed. */
export interface Graph extends Disposable {
  readonly report: IndexReport;
  query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer>;
  /** Calls of a symbol, the most certain first; empty if there is no such symbol. */
  callers(symbol: SymbolLocation, leastCertainty?: number): readonly CallSite[];
  /** Uses of a symbol other than calls: as a value, as a type, as a base class. The most certain first. */
  uses(symbol: SymbolLocation, leastCertainty?: number): readonly CallSite[];
  symbols(name: string): readonly SymbolLocation[];
}
