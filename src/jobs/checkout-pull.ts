import { type Checkout, checkout } from "../git/checkout.ts";
import type { Disk } from "../git/disk/disk.ts";
import type { Network } from "../git/git-environment.ts";
import { Mirror } from "../git/mirror.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { CheckoutRequest } from "./job-dependencies.ts";

export interface CheckoutPullOptions {
  /** Absolute path of git. */
  gitPath: string;
  dataFolder: string;
  host: string;
  /** Root of GitHub's pages and repositories, without a slash at the end. */
  webUrl: string;
  network: Network;
  /** Keeps room for it. */
  disk: Disk;
  authorization(repository: RepositoryRef): Promise<string>;
}

/** Fetches a pull request into its repository's mirror and checks its head out. Forks come from the base repository too. */
export function createCheckoutPull(
  options: CheckoutPullOptions,
): (request: CheckoutRequest) => Promise<Checkout> {
  const { gitPath, dataFolder, host, webUrl, network, disk } = options;
  return async ({ repository, pull, head, base, baseRef, signal }) => {
    const { owner, name } = repository;
    const url = `${webUrl}/${owner}/${name}.git`;
    const made = await disk.using(async () => {
      const mirror = await Mirror.open(
        { gitPath, dataFolder, repository: { host, owner, name }, url, network },
        signal,
      );
      return checkout({
        mirror,
        head: { sha: head, ref: `refs/pull/${pull}/head` },
        base: { sha: base, ref: `refs/heads/${baseRef}` },
        authorization: () => options.authorization(repository),
        requireRoom: (need) => disk.require(need),
        signal,
      });
    });
    const release = async () => {
      await made.release();
      // Nobody waits for the room.
      void disk.keepNowAndThen();
    };
    return { ...made, release };
  };
}
