import { createHmac, hash } from "node:crypto";
import { defaultRepoConfig, type EffectiveConfig } from "../../config/repo-config.ts";
import { HASH_CHARACTERS, PATH_CHARACTERS } from "../../core/ledger/state.ts";
import type { ChangedFile } from "../../repo/diff-source.ts";

const sha256 = (text: string) => hash("sha256", text, "base64url");

/** The name at the merge base: renaming a file makes nothing in it new. */
export const firstName = ({ change }: Pick<ChangedFile, "change">) => change.oldPath ?? change.path;

export const fileMark = (path: string) => sha256(path).slice(0, PATH_CHARACTERS);

/** The prefix of a hash, which identifies the file. */
export const markOf = (hash: string) => hash.slice(0, PATH_CHARACTERS);

/**
 * A pseudo hash that records that a file has an earlier finding with a due re-check. No content has this hash, so the file counts
 * as changed until the re-check is done.
 */
export const lookAgain = (mark: string) => mark + "-".repeat(HASH_CHARACTERS - PATH_CHARACTERS);

export const isDue = (hash: string) => hash === lookAgain(markOf(hash));

/** Hashes the changes of a file for the state: one digest, or all in order. */
export type ContentHash = (path: string, digests: readonly string[]) => string;

/** The part of the configuration that decides what is searched and reported. */
const reportingRules = (config: EffectiveConfig) => {
  const {
    instructions,
    minimum_severity,
    severity_by_path = [],
    rules,
    guidance,
    organization_rules,
  } = config;
  const more = [guidance, organization_rules].filter((one) => one !== undefined);
  return JSON.stringify([instructions, minimum_severity, severity_by_path, rules, ...more]);
};
const defaultRules = reportingRules(defaultRepoConfig);

/**
 * The key for hashes under these rules. Under other rules everything is new: the author of a pull request chooses the base branch,
 * and with an old branch the rules of that time.
 */
export function keyUnder(config: EffectiveConfig, key: string): string {
  const rules = reportingRules(config);
  return rules === defaultRules ? key : sha256(JSON.stringify([key, rules]));
}

/**
 * Hashes with a secret key. The author of a pull request chooses the content, and hashes this short have findable collisions; without
 * the key, no one can search for them.
 */
export function contentHashBy(key: string): ContentHash {
  return (path, digests) => {
    const content = createHmac("sha256", key)
      .update([path, ...digests].join("\0"))
      .digest("base64url");
    return fileMark(path) + content.slice(0, HASH_CHARACTERS - PATH_CHARACTERS);
  };
}
