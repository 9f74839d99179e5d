import { setTimeout as systemSleep } from "node:timers/promises";
import { AppError, errorLine } from "../errors.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";

export type Sleep = (milliseconds: number) => Promise<unknown>;

/** How long GitHub may take to show what it has stored, before each look. */
const looksAfterMs = [1_000, 4_000];
const mostTries = 3;

/** The request may have been carried out or not: a time-out, a lost connection, a fault on GitHub's side. */
export function isAmbiguous(error: unknown): boolean {
  return error instanceof AppError && error.code === "github_failed" && error.retryable;
}

/**
 * Creates something that must not stand twice. After an ambiguous failure it looks whether the thing stands, and creates
 * again only when it does not; rejects with the last failure when that does not help.
 */
export async function postOnce(
  create: () => Promise<unknown>,
  stands: () => Promise<boolean>,
  sleep: Sleep = systemSleep,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await create();
      return;
    } catch (error) {
      if (!isAmbiguous(error)) throw error;
      if (await standsSoon(stands, sleep)) return;
      if (tries === mostTries) throw error;
    }
  }
}

async function standsSoon(stands: () => Promise<boolean>, sleep: Sleep): Promise<boolean> {
  for (const pause of looksAfterMs) {
    await sleep(pause);
    if (await stands()) return true;
  }
  return false;
}

/** "No comments on lines: ..."; throws what is no refusal, or one that concerns all channels alike. */
export function refusalNotice(error: unknown, channel: string): string {
  const isFinal = error instanceof AppError && error.code.startsWith("github_") && !error.retryable;
  if (!isFinal || error.code === "github_unauthorized") throw error;
  return `No ${channel}: ${errorLine(error)}`;
}

/** GitHub understood, and refuses what it was given. */
export const isInvalid = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

/** What was reviewed, and where it is to be said. */
interface Reviewed {
  api: Pick<PullRequestApi, "pull">;
  headSha: string;
}

/** Rejects with `stale_head` when the pull request has moved on. */
export async function requireHead({ api, headSha }: Reviewed): Promise<void> {
  const pull = await api.pull();
  if (pull.headSha !== headSha) throw new AppError("stale_head", `The head moved on to ${pull.headSha}`);
}
