import { createHash } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AppError } from "../errors.ts";
import { diskError } from "./git-error.ts";
import { blobSizes } from "./object-listing.ts";
import { endOrphans, lock, tryLock } from "./owner.ts";
import {
  mirrorId,
  mirrorLock,
  placesOf,
  type RepositoryName,
  type RepositoryPlaces,
  removeLeftovers,
  trashFolder,
  writeMirror,
} from "./places.ts";
import { type FetchAccess, type FetchRequest, fetchObjects, partialClone } from "./remote.ts";
import { type Git, isObjectName, type Network, runGit } from "./run-git.ts";

export interface MirrorOptions {
  /** Absolute path of git. */
  gitPath: string;
  /** Everything this room keeps is below it: `mirrors`, `checkouts` and an empty HOME. */
  dataFolder: string;
  repository: RepositoryName;
  /** Where to fetch from; it must not hold credentials. */
  url: string;
  network?: Network | undefined;
}

/** A commit that is needed, and the ref of the remote under which it is expected. */
export interface WantedCommit {
  sha: string;
  /** `refs/pull/7/head`, `refs/heads/main` */
  ref: string;
}

/**
 * What comes along with commits. The first time everything that ever was in a file would come, so only trees do. After
 * that small files come too: they are the ones that changed since, and asking for them later is another round trip.
 */
const filters = { no_files: "blob:none", small_files: "blob:limit=1m" };
/** Blobs asked for at once: the request stays below three megabytes. */
const BLOBS_A_FETCH = 50_000;
const MAX_PACKS = 100;

/**
 * A bare repository that follows one repository of a server. It has all commits and trees, and of the contents what was
 * asked for (a partial clone); a server without filters sends everything.
 */
export class Mirror {
  readonly git: Git;
  readonly gitDir: string;
  /** Where this repository's checkouts are. */
  readonly checkouts: string;
  /** Changes when the mirror is recreated, so that no checkout relies on objects of an earlier one. */
  readonly id: string;
  readonly options: Readonly<MirrorOptions>;

  private constructor(options: MirrorOptions, { gitDir, checkouts }: RepositoryPlaces, id: string) {
    this.options = options;
    this.git = { gitPath: options.gitPath, emptyHome: join(options.dataFolder, "empty-home") };
    this.gitDir = gitDir;
    this.checkouts = checkouts;
    this.id = id;
  }

  /** Opens the mirror and creates it if needed. Rejects with `data_folder_unusable`, `disk_full`. */
  static async open(given: MirrorOptions, signal?: AbortSignal): Promise<Mirror> {
    // git runs in a folder of its own, from which a relative path would lead elsewhere.
    const options = { ...given, dataFolder: resolve(given.dataFolder) };
    checkUrl(options);
    const places = placesOf(options.dataFolder, options.repository);
    try {
      for (let tries = 0; ; tries++) {
        const id = await openFolder(options, places.gitDir, signal).catch(unlessRemovedMeanwhile(tries));
        if (id) return new Mirror(options, places, id);
      }
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw diskError(options.dataFolder, error);
    }
  }

  /** This mirror, or the one that takes its place when it was removed. Held by a checkout, it stays. */
  async present(signal?: AbortSignal): Promise<Mirror> {
    const isHere = (await mirrorId(this.gitDir, this.options.url)) === this.id;
    return isHere ? this : await Mirror.open(this.options, signal);
  }

  /**
   * Makes sure that the commits are here with their histories and trees. Asks the server only for what is missing: by
   * its ref first, and by name where the ref has moved on. Rejects with `revision_unknown` when the server has lost it.
   */
  async fetchCommits(
    commits: readonly WantedCommit[],
    along: keyof typeof filters,
    access: FetchAccess,
  ): Promise<void> {
    const filter = filters[along];
    const byRef = await this.#missing(commits, access);
    if (byRef.length === 0) return;
    await locked(this.gitDir, access.signal, async () => {
      // A branch may have been deleted since; its commits may be had by name all the same.
      await this.#fetch({ wanted: byRef.map(({ ref }) => refspec(ref)), filter }, access).catch(
        unlessUnknown,
      );
      const byName = await this.#missing(byRef, access);
      if (byName.length === 0) return;
      await this.#fetch({ wanted: byName.map(({ sha }) => sha), filter }, access);
      const [lost] = await this.#missing(byName, access);
      if (lost) throw new AppError("revision_unknown", `The server has no commit ${lost.sha} any more`);
    });
  }

  /** Fetches blobs that are missing. `refs` are fetched whole instead where the server refuses to give single objects. */
  async fetchBlobs(oids: readonly string[], refs: readonly string[], access: FetchAccess): Promise<void> {
    await locked(this.gitDir, access.signal, async () => {
      try {
        for (let at = 0; at < oids.length; at += BLOBS_A_FETCH) {
          const wanted = oids.slice(at, at + BLOBS_A_FETCH);
          await this.#fetch({ wanted, filter: filters.no_files, byName: true }, access);
        }
      } catch (error) {
        unlessUnknown(error);
        await this.#fetch({ wanted: refs.map(refspec), filter: null, refetch: true }, access);
      }
    });
  }

  /**
   * Every fetch adds a pack, and every look-up searches all of them: makes one of many, now and then. Does nothing while
   * another process writes to the mirror, and never fails, because the mirror is correct without it.
   */
  async tidy(signal?: AbortSignal, maxPacks = MAX_PACKS): Promise<void> {
    const packs = await readdir(join(this.gitDir, "objects", "pack")).catch(() => []);
    if (packs.filter((name) => name.endsWith(".pack")).length <= maxPacks) return;
    const held = await tryLock(mirrorLock(this.gitDir)).catch(() => undefined);
    try {
      if (held) await repack(this.git, this.gitDir, signal);
    } catch {
      await removeLeftovers(this.gitDir).catch(() => {});
    } finally {
      await held?.release();
    }
  }

  async #missing(commits: readonly WantedCommit[], { signal }: FetchAccess): Promise<WantedCommit[]> {
    const bad = commits.find(({ sha }) => !isObjectName(sha));
    if (bad) throw new AppError("revision_unknown", `'${bad.sha}' is not a full object name`);
    const present = await blobSizes(
      { git: this.git, gitDir: this.gitDir, signal },
      commits.map(({ sha }) => sha),
    );
    return commits.filter(({ sha }) => !present.has(sha));
  }

  async #fetch(request: Pick<FetchRequest, "wanted" | "filter" | "byName" | "refetch">, access: FetchAccess) {
    const { url, network = {} } = this.options;
    const fetch = () =>
      fetchObjects({ ...access, ...request, git: this.git, gitDir: this.gitDir, network, url });
    await fetch().catch(async (error: unknown) => {
      // We hold the lock, so nothing else needs git's leftovers.
      await removeLeftovers(this.gitDir);
      // A git of ours was killed without us noticing.
      if (!(error instanceof AppError) || !/\.lock': File exists/.test(error.message)) throw error;
      await fetch();
    });
  }
}

/** Lets errors about revisions that the server does not know pass, and throws all others. */
function unlessUnknown(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== "revision_unknown") throw error;
}

/** The id of the mirror in this folder. */
async function openFolder(
  { dataFolder, url }: MirrorOptions,
  gitDir: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  // The trash is there before it is needed: on a full disk no folder can be made.
  for (const folder of [join(dataFolder, "empty-home"), trashFolder(dataFolder)])
    await mkdir(folder, { recursive: true });
  await mkdir(gitDir, { recursive: true });
  const present = await mirrorId(gitDir, url);
  return present ?? (await locked(gitDir, signal, () => writeMirror(gitDir, url)));
}

/** A folder that was just made has no holder yet, so another process may remove it as unused: try again. */
function unlessRemovedMeanwhile(tries: number) {
  return (error: NodeJS.ErrnoException): undefined => {
    if (error.code !== "ENOENT" || tries >= 5) throw error;
  };
}

async function repack(git: Git, gitDir: string, signal: AbortSignal | undefined): Promise<void> {
  await runGit({
    git,
    gitDir,
    what: "repack",
    args: ["repack", "-a", "-d", "-q"],
    // Otherwise it would look for what was left out of the partial clone.
    config: partialClone,
    timeoutMs: 900_000,
    signal,
  });
}

/** Fetches a ref of the server to a local name that cannot conflict with another ref's name. */
function refspec(ref: string): string {
  if (!/^refs\/[^\s:^~?*[\\]+$/.test(ref))
    throw new AppError("revision_unknown", `'${ref}' is not a full ref name`);
  return `+${ref}:refs/hunkwise/${createHash("sha256").update(ref).digest("hex").slice(0, 32)}`;
}

/** Runs something as the only one who writes to the mirror, after cleaning up behind a holder that died. */
async function locked<Result>(
  gitDir: string,
  signal: AbortSignal | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  const held = await lock(mirrorLock(gitDir), signal, { evenFrozen: true });
  try {
    if (held.inherited) {
      await endOrphans();
      await removeLeftovers(gitDir);
    }
    return await run();
  } finally {
    await held.release();
  }
}

function checkUrl({ url, network }: MirrorOptions): void {
  const { protocol, username, password } = new URL(url);
  if (username || password)
    throw new AppError("usage", "The address of a repository must not hold credentials");
  if (protocol === "https:" || (protocol === "http:" && network?.allowHttp)) return;
  throw new AppError("usage", `Repositories are not fetched over ${protocol.replace(":", "")}`, {
    remedy: "Use https, or set GHE_PROTOCOL=http for a server that has no https",
  });
}
