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
