import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { privacyOf } from "../agent/tools/paths.ts";
import type { ToolContext } from "../agent/tools/tool.ts";
import { programPath, userHome } from "../config/process-env.ts";
import { type EffectiveConfig, mildestMinimum } from "../config/repo-config.ts";
import { AppError } from "../core/errors.ts";
import { createDiffSource } from "../repo/diff-source.ts";
import { uncommittedStamp } from "../repo/git/capture.ts";
import { discoverRepository, findCommits, type LocalRepository } from "../repo/git/repository.ts";
import type { Git } from "../repo/git/run-git.ts";
import { makeTempFolder, removeFolder } from "../repo/git/scratch.ts";
import { createAnchorFiles } from "../tasks/anchor/anchor.ts";
import { createCoverageGate, createReviewCoverage } from "../tasks/review/find/coverage-gate.ts";
import { createFindingCollector } from "../tasks/review/find/finding-collector.ts";
import { KeptGraph } from "./local-graph.ts";
import { loadLocalConfig, type OpenRange, openRange, type RangeOptions, usualBase } from "./open-range.ts";

export const UNCOMMITTED =
  "The working tree has uncommitted changes. They are not part of this result, because this server shows only commits.";

/** Half a day: after a whole one, `removeAbandoned` and systems delete what is in the folder for temporary files. */
const KEPT_MS = 12 * 3_600_000;

interface KeeperOptions extends RangeOptions {
  /** Milliseconds; injected by tests. */
  now?: () => number;
  /** Takes one line for the user. */
  warn?(text: string): void;
}

export interface OpenedRange {
  range: OpenRange;
  config: EffectiveConfig;
  context: ToolContext;
  /** Opened by the first query. */
  graph: KeptGraph;
}

export interface CurrentRange extends OpenedRange {
  /** Whether the work tree has uncommitted changes that the range does not show; null if that is unknown. */
  dirty: Promise<boolean | null>;
}

/** Keeps a range open for successive calls while the repository changes. */
export interface RangeKeeper extends AsyncDisposable {
  /** Gives the current range to `work`, unchanged until `work` has ended. Reopens it only if it is old. Rejects as `openRange` does. */
  use<Result>(work: (current: CurrentRange) => Promise<Result>): Promise<Result>;
}

/** A range with the calls that use it. */
interface Held {
  /** The state of the repository that it shows. */
  state: string;
  since: number;
  opened: Promise<OpenedRange>;
  users: Set<Promise<unknown>>;
}

/** Rejects with `repository_unavailable`, and as `requireGit` does. The revisions need not exist yet. The signal stops no running work. */
export async function createRangeKeeper(options: KeeperOptions): Promise<RangeKeeper> {
  const { requireGit } = await import("../repo/git/run-git.ts");
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const folder = await makeTempFolder(resolve(tmpdir()));
  const emptyHome = join(folder, "home");
  const git: Git = { gitPath, emptyHome };
  let source: LocalRepository;
  try {
    await mkdir(emptyHome);
    source = await discoverRepository(git, options.repo);
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
  const { scope = "commits" } = options;
  const showsCommits = scope === "commits" || scope === "commit";
  const { now = Date.now } = options;
  let current: Held | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  const retire = () => {
    if (current) ended = Promise.all([ended, close(current)]);
    current = undefined;
  };
  const hold = (state: string): Held => {
    const held: Held = { state, since: now(), opened: openWhole(options), users: new Set() };
    held.opened.catch(() => {
      // A failed open may be tried again.
      if (current === held) current = undefined;
    });
    return held;
  };
  let edits: string | null = null;
  let isClosed = false;
  /** Null if it is unknown: another program may be writing the index. */
  const lookForEdits = async (): Promise<boolean | null> => {
    // Several calls may run at once.
    const own = await mkdtemp(join(folder, "status-"));
    try {
      edits = await uncommittedStamp(git, source, { folder: join(own, "status.git"), user: userHome() });
      return edits !== null;
    } catch {
      return null;
    } finally {
      await removeFolder(own);
    }
  };
  return {
    async use(work) {
      // A cleaner of temporary files may have removed it.
      await mkdir(emptyHome, { recursive: true });
      const names = options.base === undefined ? usualBase().names : [options.base];
      const looking = lookForEdits();
      const revisions = await findCommits(git, source, [options.head, ...names]);
      // Edits that it shows make it another range; of others it only says that they exist.
      if (!showsCommits) await looking;
      if (isClosed) throw new AppError("aborted", "the server is stopping");
      const state = [...revisions, showsCommits ? "" : edits].join("\0");
      if (current?.state !== state || now() - current.since >= KEPT_MS) retire();
      current ??= hold(state);
      const { opened, users } = current;
      const dirty = showsCommits ? looking : Promise.resolve(false);
      const finish = async () => {
        try {
          return await work({ ...(await opened), dirty });
        } finally {
          // The check writes to the folder that is removed with the last user.
          await looking;
        }
      };
      const using = finish();
      users.add(using);
      try {
        return await using;
      } finally {
        users.delete(using);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      retire();
      await ended;
      await removeFolder(folder);
    },
  };
}

/** Ends a range after its last use. */
async function close({ opened, users }: Held): Promise<void> {
  while (users.size > 0) await Promise.allSettled(users);
  const open = await opened.catch(() => null);
  await open?.graph[Symbol.asyncDispose]();
  await open?.range[Symbol.asyncDispose]();
}

async function openWhole({ warn = () => {}, ...options }: KeeperOptions): Promise<OpenedRange> {
  const range = await openRange(options);
  try {
    const { config } = await loadLocalConfig(range.workspace);
    const context = await toolContext(range, config);
    const about = { range, repo: resolve(options.repo), isPrivate: context.isPrivate };
    const graph = new KeptGraph({ ...about, warn, makesVectors: true });
    return { range, config, graph, context: { ...context, graph } };
  } catch (error) {
    await range[Symbol.asyncDispose]();
    throw error;
  }
}

/** The tools' context for a range, as at the start of a review. */
export async function toolContext(
  { workspace, names, roots }: OpenRange,
  config: EffectiveConfig,
): Promise<ToolContext> {
  const isPrivate = await privacyOf(workspace, config.paths.private);
  const diffs = createDiffSource(workspace, { ...config.paths, isPrivate });
  const files = await diffs.files();
  const coverage = createReviewCoverage(files);
  const gate = createCoverageGate({ files, diffs, coverage, portionBytes: 0 });
  return {
    targetBranch: names.base,
    workspace,
    alsoRoots: roots,
    diffs,
    coverage,
    report: createFindingCollector({
      anchorFile: createAnchorFiles(workspace, diffs),
      refuseToFinish: gate.refuseToFinish,
      minimumSeverity: mildestMinimum(config),
      isPrivate,
      onFinding: () => {},
    }),
    isPrivate,
  };
}
