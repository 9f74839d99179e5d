import type { RepoConfig } from "../config/repo-config.ts";
import type { Limits } from "./review-input.ts";

/** The budget of a repository as the limits of one review. */
export function limitsOf({ budget }: RepoConfig): Limits {
  const { turns, tokens, cost_usd, minutes } = budget;
  return { turns, tokens, costUsd: cost_usd, milliseconds: Math.ceil(minutes * 60_000) };
}
