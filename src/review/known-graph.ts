import type { Commit } from "../git/workspace.ts";
import type { GraphPort } from "../tools/tool.ts";

/** A commit before the change, with the paths that it changed. */
export interface EarlierCommit extends Commit {
  paths: readonly string[];
}

/** A place where something is called, as the graph understands it. */
export interface KnownCall {
  path: string;
  line: number;
  /** 0 to 1: how sure it is that this very thing is meant. */
  certainty: number;
}

/** What the repository's graph knows at the head. */
export interface OpenedGraph extends GraphPort {
  /** Calls under the names of a definition, surest first; those below a certainty are left out. */
  callers(of: { path: string; name: string; line: number }, least: number): readonly KnownCall[];
  /** Commits up to the merge base, newest first; none where history was cut off. */
  readonly commits: readonly EarlierCommit[];
}

/** The graph, opened when it is first asked for. */
export interface KnownGraph {
  /** Null where there is no index and none is made in a moment: then everything works without. Rejects only when aborted. */
  open(): Promise<OpenedGraph | null>;
}
