import { AppError } from "../errors.ts";
import { createGit } from "./create-git.ts";
import type { LocalRepository } from "./discover-repository.ts";
import { type Git, isObjectName } from "./git-environment.ts";

export interface Revision {
  sha: string;
  /** The branch or tag that was meant, without `refs/heads/`; else what was asked for. */
  name: string;
}

/** Resolves whatever git takes for a commit. Rejects with `revision_unknown`, naming branches that are spelt alike. */
export async function resolveRevision(
  git: Git,
  repository: LocalRepository,
  text: string,
): Promise<Revision> {
  const { gitDir } = repository;
  const client = createGit({ git, baseDir: gitDir, gitDir, config: [["safe.directory", "*"]] });
  // No ref begins with a dash, and what does is an option to git.
  const usable = text !== "" && !text.startsWith("-") && !text.includes("\0");
  const sha = usable
    ? await client.raw(["rev-parse", "--verify", "--quiet", `${text}^{commit}`]).catch(() => "")
    : "";
  if (isObjectName(sha)) {
    const full = await client.raw(["rev-parse", "--symbolic-full-name", text]).catch(() => "");
    return { sha, name: full.replace(/^refs\/(?:heads|tags|remotes)\//, "") || text };
  }
  const refs = await client
    .raw(["for-each-ref", "--format=%(refname:short)", "--count=5000"])
    .catch(() => "");
  const near = nearest(text, refs.split("\n").filter(Boolean));
  throw new AppError("revision_unknown", `There is no commit '${text}' in this repository`, {
    remedy:
      near.length > 0 ? `Did you mean ${near.map((name) => `'${name}'`).join(" or ")}?` : "Fetch it first",
  });
}

/** The names that need the fewest changes, at most two and only when they are really alike. */
function nearest(text: string, names: readonly string[]): string[] {
  const limit = Math.max(2, Math.floor(text.length / 3));
  return names
    .filter((name) => Math.abs(name.length - text.length) <= limit || name.endsWith(`/${text}`))
    .map((name) => ({ name, distance: name.endsWith(`/${text}`) ? 1 : editDistance(text, name) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 2)
    .map(({ name }) => name);
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
