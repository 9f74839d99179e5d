import type { Account, Repository } from "../model.ts";

/** What GitHub says an author is to a repository. Apps are nobody in particular to it. */
export function associationOf(repository: Repository, author: Account): string {
  if (repository.owner === author) return "OWNER";
  if (repository.collaborators.has(author.login.toLowerCase())) return "COLLABORATOR";
  const contributed = [...repository.pulls.values()].some((pull) => pull.author === author && pull.merged);
  return contributed ? "CONTRIBUTOR" : "NONE";
}
