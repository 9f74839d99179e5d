import { atLeast, type Finding, isCertain, type Severity } from "../finding.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import { hasWriteAccess } from "./write-access.ts";

/** What of a finding decides who may dismiss it. */
export interface Dismissible {
  severity: Severity;
  /** Null for a comment of an older version. */
  source: Finding["source"] | null;
}

/** Whether only people with write access may dismiss a finding: it is severe, or certain however mild it is. */
export const isForWriters = ({ severity, source }: Dismissible): boolean =>
  atLeast(severity, "high") || isCertain({ source });

/** Whether a person may dismiss a finding. */
export type MayDismiss = (login: string, finding: Dismissible) => Promise<boolean>;

/** People whose permission is asked for in one reading; whoever comes after them has none. */
const mostAsked = 20;

/**
 * Who may dismiss: people with write access, and the author of the pull request what is not for them only. GitHub is asked once for each
 * person, and only where that decides. Rejects when GitHub cannot be asked.
 */
export function dismissalRights(api: Pick<PullRequestApi, "permissionOf">, author: string): MayDismiss {
  const asked = new Map<string, Promise<boolean>>();
  return async (login, finding) => {
    if (isSamePerson(login, author) && !isForWriters(finding)) return true;
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
