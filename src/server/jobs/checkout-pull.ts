import { AppError } from "../../core/errors.ts";
import { type Checkout, checkout } from "../../repo/git/checkout.ts";
import { type Disk, OverLimit } from "../../repo/git/disk.ts";
import { DISK_FULL_REMEDY } from "../../repo/git/git-error.ts";
import { Mirror } from "../../repo/git/mirror.ts";
import { type HostedRepository, isMirrored, removeRepository } from "../../repo/git/places.ts";
import { type PushEnd, pushCommit } from "../../repo/git/remote.ts";
import type { Network } from "../../repo/git/run-git.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { BranchPush, CheckoutRequest } from "./job-dependencies.ts";

interface CheckoutPullOptions {
  gitPath: string;
  dataFolder: string;
  host: string;
  webUrl: string;
  network: Network;
  disk: Disk;
  authorization(repository: RepositoryRef): Promise<string>;
  /** Writes no file of the head. */
  onlyObjects?: boolean;
}

/** Fetches a pull request into its repository's mirror and checks out its head. Forks are fetched from the base repository too. */
export function createCheckoutPull(
  options: CheckoutPullOptions,
): (request: CheckoutRequest) => Promise<Checkout> {
  const { gitPath, dataFolder, host, webUrl, network, disk } = options;
  const make = ({ repository, pull, signal }: CheckoutRequest) => {
    const { owner, name, id } = repository;
    const url = `${webUrl}/${owner}/${name}.git`;
    return disk.using(async () => {
      const place = { gitPath, dataFolder, repository: { host, id }, url, network };
      const mirror = await Mirror.open(place, signal);
      return checkout({
        mirror,
        head: { sha: pull.headSha, ref: `refs/pull/${pull.number}/head` },
        base: { sha: pull.baseSha, ref: `refs/heads/${pull.baseRef}` },
        authorization: () => options.authorization(repository),
        requireRoom: (need) => disk.require(need),
        requireFits: (bytes) => disk.requireFits(bytes),
        onlyObjects: options.onlyObjects,
        signal,
      });
    });
  };
  return async (request) => {
    const { id } = request.repository;
    const made = await withFreshMirror(dataFolder, { host, id }, () => make(request));
    const release = async () => {
      await made.release();
      disk.keepSoon();
    };
    return { ...made, release };
  };
}

/** A mirror may not fit only because of what earlier pull requests needed. Then it is removed and created again. */
async function withFreshMirror(
  dataFolder: string,
  repository: HostedRepository,
  make: () => Promise<Checkout>,
): Promise<Checkout> {
  const hasMirror = await isMirrored(dataFolder, repository);
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof OverLimit)) throw error;
    const isRemoved = await removeRepository(dataFolder, repository);
    if (!hasMirror) throw error;
    if (isRemoved) return await withFreshMirror(dataFolder, repository, make);
    throw new AppError(
      "disk_full",
      "The mirror is too large and cannot be replaced now, because it is in use",
      { retryable: true, remedy: DISK_FULL_REMEDY, cause: error },
    );
  }
}

export function createPushBranch({ webUrl, network }: { webUrl: string; network: Network }) {
  return ({ place, owner, name, ...push }: BranchPush): Promise<PushEnd> =>
    pushCommit({ ...push, git: place, gitDir: place.gitDir, network, url: `${webUrl}/${owner}/${name}.git` });
}
