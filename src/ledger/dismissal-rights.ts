import { atLeast, type Severity } from "../finding.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import { hasWriteAccess } from "./write-access.ts";

/** Whether a person may dismiss a finding of this severity. */
export type MayDismiss = (login: string, severity: Severity) => Promise<boolean>;

/** People whose permission is asked for in one reading; whoever comes after them has none. */
const mostAsked = 20;

/**
 * Who may dismiss: people with write access, and the author of the pull request below high. GitHub is asked once for each
 * person, and only where that decides. Rejects when GitHub cannot be asked.
 */
export function dismissalRights(api: Pick<PullRequestApi, "permissionOf">, author: string): MayDismiss {
  const asked = new Map<string, Promise<boolean>>();
  return async (login, severity) => {
    if (isSamePerson(login, author) && !atLeast(severity, "high")) return true;
    const name = login.toLowerCase();
    const known = asked.get(name);
    if (known !== undefined) return known;
    if (asked.size >= mostAsked) return false;
    const answer = hasWriteAccess(api, login);
    asked.set(name, answer);
    return answer;
  };
}

/** GitHub's logins are the same in small and capital letters. */
export const isSamePerson = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
