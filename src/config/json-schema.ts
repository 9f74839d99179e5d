import { z } from "zod";
import { NestedConfig } from "./nested/nested-config.ts";
import { RepoConfig } from "./repo-config.ts";

/** The JSON Schema of `.github/hunkwise.yml`, for editors. */
export const repoConfigSchema = () =>
  schemaOf(RepoConfig, "Hunkwise", "How Hunkwise reviews pull requests of this repository.");

/** The JSON Schema of `.hunkwise.yml` in a folder. */
export const nestedConfigSchema = () =>
  schemaOf(NestedConfig, "Hunkwise, in a folder", "How Hunkwise reviews files of this folder.");

/** In the draft that every editor knows. */
function schemaOf(type: z.ZodType, title: string, description: string): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(type, { io: "input", target: "draft-7" });
  return { $schema, title, description, ...schema };
}
