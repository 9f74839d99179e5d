import { breaker } from "./other-bots.ts";

/** Names, issues, and what keeps checks from being run. */
const before = /@(?=[a-z0-9])|#(?=\d)|\bGH-(?=\d)|\[(?=(?:skip|ci|no|actions)[ -](?:ci|skip|actions)\])/gi;

/** So much of a commit's name makes a link to it. */
const commit = /(?<![a-z0-9])[0-9a-f]{7,}(?![a-z0-9])/gi;

/**
 * Text for the description of a pull request. GitHub may make the message of a commit of it, where no Markdown keeps a name, an
 * issue or a closing keyword from being one, not even code.
 */
export function inertMessage(text: string): string {
  return text
    .replace(before, (sign) => sign + breaker)
    .replace(commit, (name) => name.replace(/.{6}(?=.)/g, (part) => part + breaker));
}
