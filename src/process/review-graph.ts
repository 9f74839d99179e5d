import { AppError, errorLine } from "../errors.ts";
import type { CheckoutPlace, Workspace } from "../git/workspace.ts";
import type { Graph, GraphCommit, EarlierFinding as KnownFinding } from "../graph/graph.ts";
import type { KnownGraph, OpenedGraph } from "../review/known-graph.ts";
import type { EarlierFinding } from "../review/review-input.ts";

export interface ReviewGraphOptions {
  place: CheckoutPlace;
  workspace: Workspace;
  /** Absolute path of the index of the repository, which is only read. */
  file: string;
  isPrivate(path: string): boolean;
  /** What earlier reviews of the same pull request found. */
  earlier: readonly EarlierFinding[];
  /** Told of a fault of ours that there is no graph for. */
  onCrash(error: string): void;
  signal: AbortSignal;
}

/** For everything. What takes longer is not worth that a review waits for it. */
const MILLISECONDS = 10_000;
/** A review shares its machine with others, and its memory with what it reads. */
const THREADS = 1;

/**
 * The graph of a repository for one review. Nothing of the review's head is written anywhere: the index is opened for reading
 * alone, and what the head adds to it lies in memory.
 */
export class ReviewGraph implements KnownGraph, AsyncDisposable {
  readonly #options: ReviewGraphOptions;
  readonly #ending = new AbortController();
  #opened: Promise<Opened | null> | undefined;

  constructor(options: ReviewGraphOptions) {
    this.#options = options;
  }

  open(): Promise<OpenedGraph | null> {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  async #open(): Promise<Opened | null> {
    const { signal, onCrash } = this.#options;
    const ended = AbortSignal.any([signal, this.#ending.signal, AbortSignal.timeout(MILLISECONDS)]);
    try {
      return await openIndex(this.#options, ended);
    } catch (error) {
      signal.throwIfAborted();
      // No review ends for what its context might have gained.
      if (!ended.aborted && !(error instanceof AppError)) onCrash(errorLine(error));
      return null;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    const opened = await this.#opened?.catch(() => null);
    opened?.[Symbol.dispose]();
  }
}

type Opened = OpenedGraph & Disposable;

async function openIndex(options: ReviewGraphOptions, signal: AbortSignal): Promise<Opened> {
  const { place, workspace, file, isPrivate, earlier } = options;
  const [{ openGraph }, { readHistory }, { sourceOfWorkspace }] = await Promise.all([
    import("../graph/open-graph.ts"),
    import("../graph/history.ts"),
    import("../graph/source.ts"),
  ]);
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    // Where history was cut off, the rest is known all the same.
    readHistory(place, place.shas.mergeBase, signal).catch(() => []),
  ]);
  signal.throwIfAborted();
  const findings = earlier.filter(({ path }) => path !== "" && !isPrivate(path)).map(asKnown);
  const graph = await openGraph({
    ...{ file, source, commits, findings, signal, threads: THREADS },
    readOnly: true,
  });
  return opened(graph, commits);
}

function opened(graph: Graph, commits: readonly GraphCommit[]): Opened {
  return {
    commits,
    callers: (symbol, least) => graph.callers(symbol, least),
    query: (query, k, signal) => graph.query(query, k, signal),
    [Symbol.dispose]: () => graph[Symbol.dispose](),
  };
}

const fates: Record<EarlierFinding["state"], string> = {
  open: "open",
  fixed: "fixed",
  dismissed: "dismissed",
  outdated: "its code has changed",
};

/** What people answered says why it became so. */
function asKnown({ id, path, line, title, text, state, replies }: EarlierFinding): KnownFinding {
  const fate = [fates[state], ...replies.slice(0, 1)].join(": ");
  return { id, path, line, title, body: text, fate };
}
