import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AppError } from "../../core/errors.ts";
import { diskError, isLocked } from "./git-error.ts";
import { blobSizes } from "./object-listing.ts";
import { endOrphans, lock, tryLock } from "./owner.ts";
import {
  type HostedRepository,
  makePrivate,
  mirrorId,
  mirrorLock,
  placesOf,
  type RepositoryPlaces,
  removeLeftovers,
  trashFolder,
  writeMirror,
} from "./places.ts";
import { type FetchAccess, type FetchRequest, fetchObjects, partialClone } from "./remote.ts";
import { type Git, isObjectName, type Network, runGit } from "./run-git.ts";

export interface MirrorOptions {
  gitPath: string;
  /** Contains everything that this folder's code stores: `mirrors`, `checkouts` and an empty HOME. */
  dataFolder: string;
  repository: HostedRepository;
  /** The URL to fetch from; it must not contain credentials. */
  url: string;
  network?: Network | undefined;
}

/** A required commit, and the ref of the remote that should contain it. */
export interface WantedCommit {
  sha: string;
  /** `refs/pull/7/head`, `refs/heads/main` */
  ref: string;
}

/** Filters for fetches of commits: the first one gets only trees, because it would include every past content; later ones also small files. */
const filters = { no_files: "blob:none", small_files: "blob:limit=1m" };
/** Maximum blobs in one request, which keeps it below three megabytes. */
const BLOBS_A_FETCH = 50_000;
const MAX_PACKS = 100;

/** A bare repository that mirrors one of a server: all commits and trees, and of the contents what was requested, or all without filters. */
export class Mirror {
  readonly git: Git;
  readonly gitDir: string;
  readonly checkouts: string;
  /** Changes if the mirror is recreated, so that no checkout relies on objects of an earlier one. */
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
    // git runs in a folder of its own, where a relative path would lead elsewhere.
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

  /** This mirror, or its replacement if it was removed. While a checkout holds it, it is not removed. */
  async present(signal?: AbortSignal): Promise<Mirror> {
    const isHere = (await mirrorId(this.gitDir, this.options.url)) === this.id;
    return isHere ? this : await Mirror.open(this.options, signal);
  }

  /** Fetches missing commits: by ref first, and by name if the ref has moved on. Rejects with `revision_unknown` if the server has lost one. */
  async fetchCommits(
    commits: readonly WantedCommit[],
    along: keyof typeof filters,
    access: FetchAccess,
  ): Promise<void> {
    const filter = filters[along];
    const byRef = await this.#missing(commits, access);
    if (byRef.length === 0) return;
    await locked(this.gitDir, access.signal, async () => {
      // A branch may have been deleted since; its commits may still be available by name.
      await this.#fetch({ wanted: byRef.map(({ ref }) => refspec(ref)), filter }, access).catch(
        unlessUnknown,
      );
      const byName = await this.#missing(byRef, access);
      if (byName.length === 0) return;
      await this.#fetch({ wanted: byName.map(({ sha }) => sha), filter }, access);
      const [lost] = await this.#missing(byName, access);
      if (lost) throw new AppError("revision_unknown", `The git server no longer has the commit ${lost.sha}`);
    });
  }

  /** Fetches missing blobs. If the server refuses to send single objects, `refs` are fetched whole. */
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

  /** Joins packs, of which every fetch adds one. Does nothing while another process writes to the mirror, and never fails. */
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
      // We hold the lock, so git's leftovers are not in use.
      await removeLeftovers(this.gitDir);
      // A git process of ours was killed unnoticed.
      if (!isLocked(error)) throw error;
      await fetch();
    });
  }
}

/** Ignores errors about revisions that the server does not know, and throws all others. */
function unlessUnknown(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== "revision_unknown") throw error;
}

async function openFolder(
  { dataFolder, url }: MirrorOptions,
  gitDir: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  // The trash is created before it is needed: on a full disk no folder can be created.
  for (const folder of [join(dataFolder, "empty-home"), trashFolder(dataFolder)]) await makePrivate(folder);
  await makePrivate(gitDir);
  const present = await mirrorId(gitDir, url);
  return present ?? (await locked(gitDir, signal, () => writeMirror(gitDir, url)));
}

/** A folder that was just created has no holder yet, so another process may remove it as unused: try again. */
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
    // Otherwise git would look for the objects that the partial clone left out.
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

/** Runs `work` with the lock for writing to the mirror, after cleaning up behind a dead holder. */
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
    throw new AppError("usage", "The address of a repository must not contain credentials");
  if (protocol === "https:" || (protocol === "http:" && network?.allowHttp)) return;
  throw new AppError("usage", `Repositories are not fetched over ${protocol.replace(":", "")}`, {
    remedy: "Use https, or set GHE_PROTOCOL=http for a server without https",
  });
}
