import { AppError, errorLine } from "../core/errors.ts";
import type { PostedFinding } from "../core/ledger/entry.ts";
import type { RevisionPlace, Workspace } from "../repo/git/workspace.ts";
import type { GraphFinding } from "../repo/index/graph.ts";
import type { KnownGraph, OpenedGraph } from "../tasks/loop/review-run.ts";

interface ReviewGraphOptions {
  place: RevisionPlace;
  workspace: Workspace;
  file: string;
  isPrivate(path: string): boolean;
  /** Findings of earlier reviews of the same pull request. */
  earlier: readonly PostedFinding[];
  /** Called with the error if a bug prevented the graph. */
  onCrash(error: string): void;
  signal: AbortSignal;
}

/** The graph is not worth a longer delay of the review. */
const TIMEOUT_MS = 10_000;
/** Other reviews run on the same machine. */
const THREADS = 1;

type Opened = OpenedGraph & Disposable;

/** The graph of a repository for one review. The index is opened read-only; what the head changes is kept in memory. */
export function createReviewGraph(options: ReviewGraphOptions): KnownGraph & AsyncDisposable {
  const { signal, onCrash } = options;
  const ending = new AbortController();
  let opened: Promise<Opened | null> | undefined;

  async function open(): Promise<Opened | null> {
    const ended = AbortSignal.any([signal, ending.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      return await openIndex(options, ended);
    } catch (error) {
      signal.throwIfAborted();
      // A review goes on without the graph.
      if (!ended.aborted && !(error instanceof AppError)) onCrash(errorLine(error));
      return null;
    }
  }

  return {
    open() {
      opened ??= open();
      return opened;
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      (await opened?.catch(() => null))?.[Symbol.dispose]();
    },
  };
}

async function openIndex(options: ReviewGraphOptions, signal: AbortSignal): Promise<Opened> {
  const { place, workspace, file, isPrivate, earlier } = options;
  const [{ openGraph, sourceOfWorkspace }, { readHistory }] = await Promise.all([
    import("../repo/index/open-graph.ts"),
    import("../repo/index/history.ts"),
  ]);
  const [source, commits] = await Promise.all([
    sourceOfWorkspace(workspace, isPrivate),
    // In a shallow clone, the graph has no commits.
    readHistory(place, place.shas.mergeBase, signal).catch(() => []),
  ]);
  signal.throwIfAborted();
  const findings = earlier.filter(({ path }) => path !== "" && !isPrivate(path)).map(asKnown);
  const graph = await openGraph({
    file,
    source,
    commits,
    findings,
    signal,
    threads: THREADS,
    readOnly: true,
  });
  return Object.assign(graph, { commits });
}

const fates: Record<PostedFinding["state"], string> = {
  open: "open",
  fixed: "fixed",
  dismissed: "dismissed",
  outdated: "its code has changed",
};

/** The first reply says why it has that state. */
function asKnown({ id, path, line, title, text, state, replies }: PostedFinding): GraphFinding {
  const fate = [fates[state], ...replies.slice(0, 1)].join(": ");
  return { id, path, line, title, body: text, fate };
}
