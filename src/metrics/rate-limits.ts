import type { RateLimitSeen } from "./metrics.ts";

/** GitHub's words ("Rate limits for the REST API"); what is none of them is counted together. */
const resources = new Set(["core", "graphql", "search", "code_search", "integration_manifest"]);

/** What is left to the installation that has the least, by resource: one figure, however many installations there are. */
export class RateLimits {
  readonly #seen = new Map<string, RateLimitSeen>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  see(seen: RateLimitSeen): void {
    const resource = resources.has(seen.resource) ? seen.resource : "other";
    this.#seen.set(`${seen.installation} ${resource}`, { ...seen, resource });
  }

  /** Of those whose time is not over: behind it nothing is known until the next answer. */
  least(): Map<string, number> {
    const least = new Map<string, number>();
    for (const [key, { resource, remaining, resetAt }] of this.#seen) {
      if (resetAt <= this.#now()) this.#seen.delete(key);
      else least.set(resource, Math.min(remaining, least.get(resource) ?? remaining));
    }
    return least;
  }
}
