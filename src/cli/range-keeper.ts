import { existsSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { programPath } from "../config/env.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { AppError } from "../errors.ts";
import {
  createGit,
  discoverRepository,
  hasUncommittedChanges,
  type LocalRepository,
  resolveEnds,
} from "../git/range.ts";
import { type Git, requireGit } from "../git/run-git.ts";
import { makeTempFolder, removeFolder } from "../git/scratch.ts";
import type { ToolContext } from "../tools/tool.ts";
import { toolContext } from "./call-tool.ts";
import { KeptGraph } from "./kept-graph.ts";
import { loadLocalConfig } from "./local-config.ts";
import { type OpenRange, openRange, type RangeOptions, usualBase } from "./open-range.ts";

/** What is said while the work tree has changes that no commit holds. */
export const UNCOMMITTED =
  "The work tree has uncommitted changes. They are not part of this: it shows only commits. Commit them to have them seen.";

/**
 * A range is kept for half a day. After a whole one, ranges that nobody is known to read are removed (`removeAbandoned`), and
 * systems tidy the folder for temporary files file by file.
 */
const KEPT_MS = 12 * 3_600_000;

export interface KeeperOptions extends RangeOptions {
  /** Milliseconds; injected by tests. */
  now?: () => number;
  /** Takes one line for whoever runs this. */
  warn?(text: string): void;
}

/** A range with all that is made of it once. */
export interface OpenedRange {
  range: OpenRange;
  config: EffectiveConfig;
  context: ToolContext;
  /** What the context asks, opened when it is first asked. */
  graph: KeptGraph;
}

export interface CurrentRange extends OpenedRange {
  /** Whether the work tree has changes that no commit holds, looked at anew; null when that cannot be told. */
  dirty: Promise<boolean | null>;
}

/** Keeps a range open for calls that come one after the other while somebody goes on committing. */
export interface RangeKeeper extends AsyncDisposable {
  /**
   * Hands over the range as it is now; it stays as it is until `work` has ended. Opened anew only when one of its revisions has
   * moved, its files are gone, or it is old. Rejects as `openRange` does.
   */
  use<Result>(work: (current: CurrentRange) => Promise<Result>): Promise<Result>;
}

/** A range and how many are at work on it. */
interface Held {
  shas: string;
  since: number;
  opened: Promise<OpenedRange>;
  /** The folders that it is read from, once it is open. */
  folders: readonly string[];
  users: number;
  /** Resolves when it was asked to end and its last user has. */
  unused: PromiseWithResolvers<void>;
  isOld: boolean;
}

/**
 * Rejects with `repository_unavailable` where there is no repository, and as `requireGit` does; revisions may still come.
 *
 * @param options the signal ends what is being opened; work that was begun has to end by itself
 */
export async function createRangeKeeper(options: KeeperOptions): Promise<RangeKeeper> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const folder = await makeTempFolder(resolve(tmpdir()));
  const emptyHome = join(folder, "home");
  const git: Git = { gitPath, emptyHome };
  try {
    await mkdir(emptyHome);
    await discoverRepository(git, options.repo);
  } catch (error) {
    await removeFolder(folder);
    throw error;
  }
  const held = new HeldRanges(options);
  let last: RangeNow | undefined;
  let isClosed = false;
  const lookUp = async (): Promise<RangeNow> => {
    if (!last || !(await isStill(git, last, options.head))) last = await lookUpRange(git, options);
    return last;
  };
  return {
    async use(work) {
      // Somebody may have tidied it away.
      await mkdir(emptyHome, { recursive: true });
      const now = await lookUp();
      if (isClosed) throw new AppError("aborted", "the server is ending");
      const mine = held.take(now);
      const dirty = isDirty(git, now.source, folder);
      try {
        return await work({ ...(await mine.opened), dirty });
      } finally {
        // It writes to the folder that goes away with the last of them.
        await dirty;
        held.release(mine);
      }
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await held.end();
      await removeFolder(folder);
    },
  };
}

/** Looks in a folder of its own, as several may look at once. */
async function isDirty(git: Git, source: LocalRepository, folder: string): Promise<boolean | null> {
  try {
    const own = await mkdtemp(join(folder, "status-"));
    const isChanged = await hasUncommittedChanges(git, source, join(own, "status.git"));
    await removeFolder(own);
    return isChanged;
  } catch {
    // Somebody may be writing the index at this moment.
    return null;
  }
}

class HeldRanges {
  readonly #options: KeeperOptions;
  readonly #now: () => number;
  readonly #ending = new Set<Promise<void>>();
  #current: Held | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The range of these revisions. Whoever takes it has to release it. */
  take(now: RangeNow): Held {
    const shas = `${now.baseSha}..${now.headSha}`;
    if (this.#current && !(this.#current.shas === shas && this.#isFresh(this.#current))) this.#retire();
    this.#current ??= this.#hold(shas, now.base);
    this.#current.users += 1;
    return this.#current;
  }

  #isFresh({ since, folders }: Held): boolean {
    return this.#now() - since < KEPT_MS && folders.every((folder) => existsSync(folder));
  }

  release(held: Held): void {
    held.users -= 1;
    if (held.isOld && held.users === 0) held.unused.resolve();
  }

  /** Resolves when nobody is at work on any and all their files are gone. */
  async end(): Promise<void> {
    this.#retire();
    await Promise.all(this.#ending);
  }

  #hold(shas: string, base: string): Held {
    const opened = openWhole({ ...this.#options, base });
    const held: Held = {
      ...{ shas, since: this.#now(), opened, folders: [] },
      ...{ users: 0, unused: Promise.withResolvers(), isOld: false },
    };
    opened.then(
      ({ range: { place } }) => {
        held.folders = [place.root, place.gitDir, place.emptyHome];
      },
      () => {
        // What could not be opened may be asked for again.
        if (this.#current === held) this.#current = undefined;
      },
    );
    return held;
  }

  #retire(): void {
    const old = this.#current;
    this.#current = undefined;
    if (!old) return;
    old.isOld = true;
    if (old.users === 0) old.unused.resolve();
    const ending = close(old).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

async function close({ opened, unused }: Held): Promise<void> {
  await unused.promise;
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

/** What the revisions of a range are at this moment. */
interface RangeNow {
  source: LocalRepository;
  /** What the base was asked for by: anything git takes for a commit. */
  base: string;
  baseSha: string;
  headSha: string;
}

interface RangeToLookUp {
  repo: string;
  /** Undefined: `usualBase`. */
  base: string | undefined;
  head: string;
}

/**
 * Resolves both revisions without making a checkout: some runs of git. Rejects with `repository_unavailable` or
 * `revision_unknown`.
 */
async function lookUpRange(git: Git, { repo, base, head }: RangeToLookUp): Promise<RangeNow> {
  const source = await discoverRepository(git, repo);
  const ends = await resolveEnds(git, source, { base: base ?? usualBase(), head });
  return { source, base: ends.base.asked, baseSha: ends.base.sha, headSha: ends.head.sha };
}

/**
 * Whether both revisions are still what they were: one run of git. False also where that takes more to tell, as for `:/words`, to
 * which nothing can be added.
 */
async function isStill(
  git: Git,
  { source, base, baseSha, headSha }: RangeNow,
  head: string,
): Promise<boolean> {
  // What begins with a dash is an option to git.
  if ([base, head].some((text) => text.startsWith("-"))) return false;
  const { gitDir } = source;
  const commits = [base, head].map((text) => `${text}^{commit}`);
  try {
    const client = createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
    return (await client.raw(["rev-parse", ...commits])) === `${baseSha}\n${headSha}`;
  } catch {
    // One of them is no more, or the repository is not.
    return false;
  }
}
