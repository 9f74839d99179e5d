declare const rendered: unique symbol;

/**
 * Text that may stand in public under our name. `publicText` of the reporters alone makes it, of what the renderer wrote, so
 * that nothing else can be handed to GitHub.
 */
export type PublicText = string & { readonly [rendered]: true };

/** GitHub links as few digits as this, and no name has more than the other. */
const digits = /^[0-9a-f]{7,64}$/i;

/** How long names in full are, by SHA-1 and SHA-256. */
const whole = new Set([40, 64]);

/**
 * Whether a word may be read as the name of a commit. In short, a word ("defaced") and a number (1000000) are what they look like far
 * more often: one in thirty names has no letter in its first seven digits, and not one in a thousand has letters alone.
 */
export function mayNameCommit(word: string): boolean {
  if (!digits.test(word)) return false;
  return whole.has(word.length) || (/\d/.test(word) && /[a-f]/i.test(word));
}

/**
 * Bots that take a comment for a command when it speaks to them. Many read the source of a comment, and so also what stands in code.
 * A name may be followed by more of it: "gemini" is "gemini-code-assist", too.
 */
const bots =
  "allcontributors bors claude codecov coderabbit codex codium conda-forge copilot cubic cursor dependabot devin ellipsis gemini github-actions graphite greptile homu hunkwise imgbot jules google-labs k8s-ci korbit linear meeseeks mergify netlify nx-cloud openhands opencode pre-commit pytorch qodo renovate rultor rust-timer rustbot snyk sourcery sweep vercel"
    .split(" ")
    .join("|");

const spokenTo = new RegExp(`@(?=(?:${bots}))`, "gi");

/** A line that is one word behind a slash, and what is said to it. A path has more slashes. */
const command = /^([ \t>]*\/)(?=[a-z][\w-]*(?:[ \t]|$))/gim;

/** Does not show, and ends what would otherwise be read as one word. */
export const breaker = "\u200b";

/**
 * Code without what other bots would take for a command to them: names of known ones behind `@`, and lines that begin with `/word`.
 * All other code stays as it is, also `@` and a name, which is a decorator more often than a person.
 */
export function withoutCommands(code: string): string {
  return code.replace(spokenTo, `@${breaker}`).replace(command, `$1${breaker}`);
}

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
