import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { LocalEnv } from "../config/env.ts";

/** Where this user's index of a repository lies, by its folder; null where there is no folder to keep it in. */
export function localIndex(repo: string, { modelFolder }: Pick<LocalEnv, "modelFolder">): string | null {
  if (modelFolder === null) return null;
  const name = createHash("sha256").update(resolve(repo)).digest("hex").slice(0, 32);
  return join(modelFolder, "graphs", `${name}.db`);
}

/** The same where somebody has asked the graph before: else null. */
export function presentIndex(repo: string, env: Pick<LocalEnv, "modelFolder">): string | null {
  const file = localIndex(repo, env);
  return file !== null && existsSync(file) ? file : null;
}
