import { z } from "zod";
import { Severity } from "../../finding.ts";
import type { ConfigKind } from "../check-schema.ts";
import { type ParsedConfig, parseConfig } from "../parse-repo-config.ts";
import { RepoConfig } from "../repo-config.ts";

/** `.hunkwise.yml` in any folder but the root. Its patterns are relative to its folder. */
export const NestedConfig = z.strictObject({
  paths: z
    .strictObject({
      ignore: z
        .array(z.string())
        .default([])
        .describe(
          "gitignore-style patterns of files of this folder that are not reviewed, behind those of the folders above.",
        ),
      private: z
        .array(z.string())
        .default([])
        .describe(
          "gitignore-style patterns of files of this folder that no model ever sees. They add to those of the folders above; an exception (`!...`) is one from this list alone.",
        ),
    })
    .prefault({})
    .describe("Which files of this folder take part."),
  instructions: RepoConfig.shape.instructions.describe(
    "What to look for in files of this folder that match a pattern, beside what the folders above ask for.",
  ),
  minimum_severity: Severity.optional().describe(
    "Milder findings in this folder are not reported. Left out: as in the folder above.",
  ),
});
export type NestedConfig = z.infer<typeof NestedConfig>;

const nestedFile: ConfigKind<NestedConfig> = { schema: NestedConfig, fallback: NestedConfig.parse({}) };

/** Reads a nested file by the rules of the one of the repository: never throws, and privacy fails closed. */
export function parseNestedConfig(text: string): ParsedConfig<NestedConfig> {
  return parseConfig(text, nestedFile);
}
