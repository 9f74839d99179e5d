import type { PullRequestApi } from "../github/pull-request-api.ts";

/**
 * Whether GitHub says that a person can write to the repository. Rejects if GitHub cannot be asked.
 * @param account the person's numeric id, if it is known: a login may have passed to somebody else
 */
export async function hasWriteAccess(
  api: Pick<PullRequestApi, "permissionOf">,
  login: string,
  account?: number,
): Promise<boolean> {
  const permission = await api.permissionOf(login, account);
  return permission === "admin" || permission === "write";
}

/** A fact that changes what is posted or concluded. */
interface Fact {
  name: string;
  means: string;
  /** Who may cause it, and by which act. */
  by: string;
  /** The evidence that it is read from. */
  evidence: string;
  /** What applies if the evidence cannot be read completely. */
  otherwise: string;
}

/**
 * Every fact that changes what is posted or concluded, and who decides it: SECURITY.md shows this table. Authors without write
 * access, commenters and other bots decide none of them.
 */
export const facts: readonly Fact[] = [
  {
    name: "open",
    means: "A finding is held against the change",
    by: "a review that found it",
    evidence: "our own comment with its marker, or the state in our summary comment",
    otherwise: "the finding is reported again",
  },
  {
    name: "fixed",
    means: "The fault is gone from the code",
    by: "the code: a model that looks again says so, or an analyzer no longer finds it",
    evidence:
      "our reply in the thread (we read every comment there); a later reply by someone with write access reverses it",
    otherwise: "open",
  },
  {
    name: "dismissed",
    means: "The finding is not reported again, although its code is unchanged",
    by: "people with write access: 👎, a reply that says so, `/resolve`, its number in `/resolve`, the same on a page, resolving the thread, deleting our comment (GitHub requires the same access for that)",
    evidence:
      "all reactions and comments of the thread, who resolved it, and the permission that GitHub reports for them; once read, the decision is kept in our summary comment",
    otherwise: "open",
  },
  {
    name: "theirs",
    means: "We answer that the finding is fixed, but do not resolve its thread",
    by: "people with write access who wrote in the thread or resolved it",
    evidence: "all comments of the thread, and the permission that GitHub reports for their authors",
    otherwise: "theirs",
  },
  {
    name: "answered",
    means: "A comment is not answered again",
    by: "our own answer",
    evidence: "our own comments on the pull request, all pages",
    otherwise: "the job fails and is tried again",
  },
  {
    name: "paused",
    means: "Pushes start no review",
    by: "people with write access: `/pause` and `/resume`, or the same on a page",
    evidence: "the state in our summary comment",
    otherwise: "reviews go on",
  },
  {
    name: "known",
    means: "Changed lines are not read again",
    by: "a review that read the same lines in the same surroundings",
    evidence: "keyed hashes in the state of our summary comment",
    otherwise: "everything is read",
  },
  {
    name: "skipped",
    means: "A head gets no review",
    by: "the configuration on the base branch, about drafts, branches, labels, titles and authors",
    evidence:
      "the base branch, and the pull request as GitHub shows it when the job runs; for an ignored author also GitHub's list of who pushed to the branch",
    otherwise: "the head is reviewed, or the check is neutral and names what is wrong",
  },
];

/** Who may decide about findings, in one reading of a pull request. */
export interface Deciders {
  /** Whether a person may. Null: GitHub was not asked, because too many people spoke. Rejects if GitHub cannot be asked. */
  mayDecide(login: string): Promise<boolean | null>;
  /** Which people were not looked up, as a notice for people; null if all were. */
  notice(): string | null;
}

/** People whose permission is looked up in one reading. An attacker needs as many accounts to use them up. */
const mostAsked = 200;

/** People with write access decide. GitHub is asked once for each person. */
export function writersDecide(api: Pick<PullRequestApi, "permissionOf">): Deciders {
  const asked = new Map<string, Promise<boolean>>();
  let isFull = false;
  return {
    async mayDecide(login) {
      const name = login.toLowerCase();
      const known = asked.get(name);
      if (known !== undefined) return known;
      if (asked.size >= mostAsked) {
        isFull = true;
        return null;
      }
      const answer = hasWriteAccess(api, login);
      asked.set(name, answer);
      return answer;
    },
    notice: () =>
      isFull
        ? `More than ${mostAsked} people replied or reacted to findings. Hunkwise did not check the permissions of all of them, so some findings that they dismissed stay open`
        : null,
  };
}

/** GitHub's logins are the same in small and capital letters. */
export const isSamePerson = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
