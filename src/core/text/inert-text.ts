declare const rendered: unique symbol;

/** Text that may be published under our name. Only `publicText` creates it, so that nothing else can be sent to GitHub. */
export type PublicText = string & { readonly [rendered]: true };

/** GitHub links names of 7 digits or more; a name has at most 64. */
const digits = /^[0-9a-f]{7,64}$/i;

/** Lengths of full names, by SHA-1 and SHA-256. */
const whole = new Set([40, 64]);

/** Whether a word may be read as the name of a commit. Short words ("defaced") and numbers (1000000) are more often just that. */
export function mayNameCommit(word: string): boolean {
  if (!digits.test(word)) return false;
  return whole.has(word.length) || (/\d/.test(word) && /[a-f]/i.test(word));
}

/** Bots that obey a comment that addresses them; many read its source, with its code. Each entry also matches longer names. */
const bots =
  "allcontributors bors claude codecov coderabbit codex codium conda-forge copilot cubic cursor dependabot devin ellipsis gemini github-actions graphite greptile homu hunkwise imgbot jules google-labs k8s-ci korbit linear meeseeks mergify netlify nx-cloud openhands opencode pre-commit pytorch qodo renovate rultor rust-timer rustbot snyk sourcery sweep vercel"
    .split(" ")
    .join("|");

const spokenTo = new RegExp(`@(?=(?:${bots}))`, "gi");

/** A line that begins with a slash and a word, optionally with arguments. A path has more slashes. */
const command = /^([ \t>]*\/)(?=[a-z][\w-]*(?:[ \t]|$))/gim;

/** An invisible character that splits text which would otherwise be read as one word. */
export const breaker = "\u200b";

/** Code without commands to other bots: known ones after `@`, and lines that begin with `/word`. Other names after `@` are mostly decorators. */
export function withoutCommands(code: string): string {
  return code.replace(spokenTo, `@${breaker}`).replace(command, `$1${breaker}`);
}

/** Starts of mentions; of issues, including those of external trackers after a closing keyword; and of bracketed words that skip checks. */
const before =
  /@(?=[a-z0-9])|#(?=\d)|\bGH-(?=\d)|(?<=\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|complete[sd]?|implement(?:s|ed)?):? )(?!(?:utf|sha|iso|rfc|cve|aes)-)[a-z][a-z0-9]{0,9}-(?=\d)|\[(?=[^\][\n]{0,40}(?<![a-z])(?:skip|no)(?![a-z])[^\][\n]{0,40}\])/gi;

const words = /[a-z0-9]{7,}/gi;

/** Text for a pull request's description, which may become a commit message, where mentions, issues and keywords work even inside code. */
export function inertMessage(text: string): string {
  return text
    .replace(before, (sign) => sign + breaker)
    .replace(words, (word) =>
      mayNameCommit(word) ? word.replace(/.{6}(?=.)/g, (part) => part + breaker) : word,
    );
}
