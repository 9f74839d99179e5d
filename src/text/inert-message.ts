import { mayNameCommit } from "./commit-name.ts";
import { breaker } from "./other-bots.ts";

/** Names; issues, also of trackers that are told of what repairs them; and words in brackets that keep checks from being run. */
const before =
  /@(?=[a-z0-9])|#(?=\d)|\bGH-(?=\d)|(?<=\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|complete[sd]?|implement(?:s|ed)?):? )(?!(?:utf|sha|iso|rfc|cve|aes)-)[a-z][a-z0-9]{0,9}-(?=\d)|\[(?=[^\][\n]{0,40}(?<![a-z])(?:skip|no)(?![a-z])[^\][\n]{0,40}\])/gi;

const words = /[a-z0-9]{7,}/gi;

/**
 * Text for the description of a pull request. GitHub may make the message of a commit of it, where no Markdown keeps a name, an
 * issue or a closing keyword from being one, not even code.
 */
export function inertMessage(text: string): string {
  return text
    .replace(before, (sign) => sign + breaker)
    .replace(words, (word) =>
      mayNameCommit(word) ? word.replace(/.{6}(?=.)/g, (part) => part + breaker) : word,
    );
}
