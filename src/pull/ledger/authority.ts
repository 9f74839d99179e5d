import type { PullRequestApi } from "../github/pull-request-api.ts";

/**
 * Whether GitHub says that a person can write to the repository. `account` is the person's id: a login may have passed to somebody else.
 */
export async function hasWriteAccess(
  api: Pick<PullRequestApi, "permissionOf">,
  login: string,
  account?: number,
): Promise<boolean> {
  const permission = await api.permissionOf(login, account);
  return permission === "admin" || permission === "write";
}

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
