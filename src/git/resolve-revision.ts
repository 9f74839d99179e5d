import { distance } from "fastest-levenshtein";
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
  const verify = (one: string) => client.raw(["rev-parse", "--verify", "--quiet", one]).catch(() => "");
  // No ref begins with a dash, and what does is an option to git.
  const usable = text !== "" && !text.startsWith("-") && !text.includes("\0");
  const object = usable ? await verify(text) : "";
  // Only now comes the way from a tag to its commit: behind `:/words` it would be taken for more words.
  const sha = isObjectName(object) ? await verify(`${object}^{commit}`) : "";
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
    .map((name) => ({ name, edits: name.endsWith(`/${text}`) ? 1 : distance(text, name) }))
    .filter(({ edits }) => edits <= limit)
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 2)
    .map(({ name }) => name);
}
