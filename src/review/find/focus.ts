import type { Effort } from "../../config/repo-config.ts";

/** What one loop looks for. The text is at the end of its first message. */
export interface Focus {
  /** Names the loop: "contracts". */
  name: string;
  focus: string;
}

/**
 * The loops of a review with high effort, which read the same change independently. Together they find more than one does;
 * duplicates are merged (see "Aggregation" in docs/quality.md).
 */
const focuses: readonly Focus[] = [
  {
    name: "contracts",
    focus:
      "Look above all for broken contracts: callers of what changed, implementations of the same interface, what a called function really returns or refuses, values that are renamed, reordered, defaulted or dropped, and documentation that promises something else.",
  },
  {
    name: "data",
    focus:
      "Look above all at data and state: what a value can be at each point (empty, zero, null, negative, huge, repeated, already used), conditions and bounds, order of updates, what a rewrite dropped, state that two calls or two threads share, and what is stored or sent.",
  },
  {
    name: "errors",
    focus:
      "Look above all at error paths and resources: what happens when each call fails, what is closed, released, rolled back or awaited, what is swallowed, what is retried, what leaks, what happens on the second call and on shutdown.",
  },
  {
    name: "security",
    focus:
      "Look above all for security faults that the change brings or opens: input that reaches a query, command, path, template, URL or deserialiser; missing or moved checks of identity and permission; secrets; comparisons, randomness and cryptography; limits that can be exceeded.",
  },
];

/** One loop that looks for everything. */
const everything: readonly (Focus | null)[] = [null];

export const focusesOf = (effort: Effort): readonly (Focus | null)[] =>
  effort === "high" ? focuses : everything;
