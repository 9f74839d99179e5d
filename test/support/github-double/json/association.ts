import type { Account, Repository } from "../model.ts";

/** GitHub's `author_association`. Apps have no special association. */
export function associationOf(repository: Repository, author: Account): string {
  if (repository.owner === author) return "OWNER";
  if (repository.collaborators.has(author.login.toLowerCase())) return "COLLABORATOR";
  const contributed = [...repository.pulls.values()].some((pull) => pull.author === author && pull.merged);
  return contributed ? "CONTRIBUTOR" : "NONE";
}
