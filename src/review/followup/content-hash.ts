import { createHmac, hash } from "node:crypto";
import { defaultRepoConfig, type EffectiveConfig } from "../../config/repo-config.ts";
import { HASH_CHARACTERS, PATH_CHARACTERS } from "../../ledger/reviewed.ts";
import type { ChangedFile } from "../../tools/tool.ts";

const sha256 = (text: string) => hash("sha256", text, "base64url");

/** Renaming a file makes nothing in it new. */
export const firstName = ({ change }: Pick<ChangedFile, "change">) => change.oldPath ?? change.path;

/** What every hash of a file begins with. */
export const fileMark = (path: string) => sha256(path).slice(0, PATH_CHARACTERS);

/** The beginning of a hash that tells of which file it is. */
export const markOf = (hash: string) => hash.slice(0, PATH_CHARACTERS);

/**
 * Stands among the hashes of a file with this mark where a look at an earlier finding is still due. No content has it, so that
 * something that was read seems to be gone from the file until somebody has looked.
 */
export const lookAgain = (mark: string) => mark + "-".repeat(HASH_CHARACTERS - PATH_CHARACTERS);

/** Whether a hash stands for such a look. */
export const isDue = (hash: string) => hash === lookAgain(markOf(hash));

/** How a state remembers contents of a file, by the digests of its changes: one, or all in order. */
export type ContentHash = (path: string, digests: readonly string[]) => string;

/** What of the configuration decides what is looked for and reported. */
const reportingRules = (config: EffectiveConfig) => {
  const { instructions, minimum_severity, severity_by_path = [], rules } = config;
  return JSON.stringify([instructions, minimum_severity, severity_by_path, rules]);
};
const defaultRules = reportingRules(defaultRepoConfig);

/**
 * The key of what was read under these rules. Under other rules all of it is new: the author of a pull request chooses its base branch,
 * and with an old branch the rules of that time.
 */
export function keyUnder(config: EffectiveConfig, key: string): string {
  const rules = reportingRules(config);
  return rules === defaultRules ? key : sha256(JSON.stringify([key, rules]));
}

/**
 * Who opens a pull request chooses what is hashed, and with so few characters two contents with one hash can be found: without
 * the key nobody can look for them.
 */
export function contentHashBy(key: string): ContentHash {
  return (path, digests) => {
    const content = createHmac("sha256", key)
      .update([path, ...digests].join("\0"))
      .digest("base64url");
    return fileMark(path) + content.slice(0, HASH_CHARACTERS - PATH_CHARACTERS);
  };
}
