import type { RepoConfig } from "../config/repo-config.ts";
import { createPathMatcher } from "../diff/paths.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import { isSamePerson } from "../ledger/authority.ts";
import type { Ledger } from "../ledger/entry.ts";

export interface Skip {
  /** In words for people. */
  reason: string;
  /** The author alone decides when it ends. */
  byAuthor: boolean;
}

/**
 * Why an event starts no review of this pull request; undefined if it starts one. GitHub is asked only about the pull request of an ignored
 * author; rejects if it cannot be reached.
 */
export async function skipOf(
  config: RepoConfig,
  pull: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<Skip | undefined> {
  const reason = await skipReason(config, pull, api);
  return reason === undefined ? chosenByAuthor(config, pull) : { reason, byAuthor: false };
}

/** A draft or a title of work in progress. */
function chosenByAuthor({ review }: RepoConfig, { draft, title }: PullRequest): Skip | undefined {
  if (draft && !review.drafts) return { reason: "it is a draft", byAuthor: true };
  const word = review.ignore_titles.find((one) => hasWords(title, one));
  return word === undefined ? undefined : { reason: `its title contains "${word}"`, byAuthor: true };
}

async function skipReason(
  { review }: RepoConfig,
  pull: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<string | undefined> {
  if (!review.enabled) return "automatic reviews are switched off in this repository";
  if (review.base_branches.length > 0 && !createPathMatcher(review.base_branches)(pull.baseRef).matched) {
    return `its base branch ${pull.baseRef} is not among the configured ones`;
  }
  if (await isOfIgnored(review.ignore_authors, pull, api))
    return `pull requests of ${pull.author} are not reviewed`;
  const has = (name: string) => pull.labels.some((one) => sameWord(one, name));
  if (review.labels.length > 0 && !review.labels.some(has))
    return `it has none of the labels ${review.labels.join(", ")}`;
  const label = review.ignore_labels.find(has);
  return label && `it has the label ${label}`;
}

/** The same for a pull request with paused reviews. */
export const pauseOf = ({ state: { paused } }: Pick<Ledger, "state">): Skip | undefined =>
  paused === null ? undefined : { reason: `paused by ${paused.by}`, byAuthor: false };

/**
 * Whether ignored people opened it and pushed all of it. Everyone with write access can push to a bot's branch, and those pushes are
 * reviewed. The pushers to a fork are not known here.
 */
async function isOfIgnored(
  ignored: readonly string[],
  { author, source, headSha }: PullRequest,
  api: Pick<RepositoryApi, "pushers">,
): Promise<boolean> {
  const isIgnored = (login: string) => ignored.some((one) => isSamePerson(one, login));
  if (!isIgnored(author) || source === null || source.isFork) return false;
  const pushers = await api.pushers(source.branch, headSha);
  return pushers?.every(isIgnored) ?? false;
}

const sameWord = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();

/** Whether a text has these words as whole words, in any case: "wip" is in "[WIP] Pay" and not in "Add swipe". */
function hasWords(text: string, words: string): boolean {
  const wanted = words.trim();
  if (wanted === "") return false;
  const before = /^[\p{L}\p{M}\p{N}_]/u.test(wanted) ? "(?<![\\p{L}\\p{M}\\p{N}_])" : "";
  const after = /[\p{L}\p{M}\p{N}_]$/u.test(wanted) ? "(?![\\p{L}\\p{M}\\p{N}_])" : "";
  const literal = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(before + literal + after, "iu").test(text);
}
