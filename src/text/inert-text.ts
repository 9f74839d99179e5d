declare const rendered: unique symbol;

/**
 * Text that may be published under our name. Only `publicText` of the reporters makes it, from rendered text, so that nothing
 * else can be sent to GitHub.
 */
export type PublicText = string & { readonly [rendered]: true };

/** GitHub links from 7 digits on, and no name has more than 64. */
const digits = /^[0-9a-f]{7,64}$/i;

/** How long names in full are, by SHA-1 and SHA-256. */
const whole = new Set([40, 64]);

/**
 * Whether a word may be read as the name of a commit. Short words ("defaced") and numbers (1000000) are more often just that: one
 * in thirty names has no letter in its first seven digits, and not one in a thousand has only letters.
 */
export function mayNameCommit(word: string): boolean {
  if (!digits.test(word)) return false;
  return whole.has(word.length) || (/\d/.test(word) && /[a-f]/i.test(word));
}

/**
 * Bots that read a comment that addresses them as a command. Many read the source of a comment, and so also its code.
 * A name may be followed by more of it: "gemini" is "gemini-code-assist", too.
 */
const bots =
  "allcontributors bors claude codecov coderabbit codex codium conda-forge copilot cubic cursor dependabot devin ellipsis gemini github-actions graphite greptile homu hunkwise imgbot jules google-labs k8s-ci korbit linear meeseeks mergify netlify nx-cloud openhands opencode pre-commit pytorch qodo renovate rultor rust-timer rustbot snyk sourcery sweep vercel"
    .split(" ")
    .join("|");

const spokenTo = new RegExp(`@(?=(?:${bots}))`, "gi");

/** A line that begins with a slash and a word, optionally with arguments. A path has more slashes. */
const command = /^([ \t>]*\/)(?=[a-z][\w-]*(?:[ \t]|$))/gim;

/** Invisible, and separates what would otherwise be read as one word. */
export const breaker = "\u200b";

/**
 * Code without commands to other bots: names of known ones after `@`, and lines that begin with `/word`.
 * All other code stays as it is, also `@` and a name, which is a decorator more often than a person.
 */
export function withoutCommands(code: string): string {
  return code.replace(spokenTo, `@${breaker}`).replace(command, `$1${breaker}`);
}

/** Mentions; issues, also of external trackers after a closing keyword; and bracketed words that skip checks. */
const before =
  /@(?=[a-z0-9])|#(?=\d)|\bGH-(?=\d)|(?<=\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|complete[sd]?|implement(?:s|ed)?):? )(?!(?:utf|sha|iso|rfc|cve|aes)-)[a-z][a-z0-9]{0,9}-(?=\d)|\[(?=[^\][\n]{0,40}(?<![a-z])(?:skip|no)(?![a-z])[^\][\n]{0,40}\])/gi;

const words = /[a-z0-9]{7,}/gi;

/**
 * Text for the description of a pull request. GitHub may turn it into a commit message, in which mentions, issues and closing
 * keywords work even inside code.
 */
export function inertMessage(text: string): string {
  return text
    .replace(before, (sign) => sign + breaker)
    .replace(words, (word) =>
      mayNameCommit(word) ? word.replace(/.{6}(?=.)/g, (part) => part + breaker) : word,
    );
}
