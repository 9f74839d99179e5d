import { accountJson, installationJson } from "./json/account.ts";
import type { Account, Installation, Repository } from "./model.ts";
import { fullName, nodeId } from "./model.ts";
import type { Payload } from "./payloads.ts";
import type { GitHubState } from "./state.ts";

/** A repository in events about installations. */
const named = (repository: Repository) => ({
  id: repository.id,
  node_id: nodeId("R", repository.id),
  name: repository.name,
  full_name: fullName(repository),
  private: repository.private,
});

/** The payload of an `installation` event. */
export function installationPayload(
  state: GitHubState,
  installation: Installation,
  action: "created" | "deleted" | "suspend" | "unsuspend",
  sender: Account = installation.account,
): Payload {
  const repositories = installation.repositories.map(named);
  return {
    action,
    installation: installationJson(state, installation),
    repositories,
    sender: accountJson(state, sender),
  };
}

/** The payload of an `installation_repositories` event: these repositories were added to an installation or removed from it. */
export function installationRepositoriesPayload(
  state: GitHubState,
  installation: Installation,
  action: "added" | "removed",
  repositories: readonly Repository[],
): Payload {
  const moved = repositories.map(named);
  return {
    action,
    installation: installationJson(state, installation),
    repository_selection: "selected",
    repositories_added: action === "added" ? moved : [],
    repositories_removed: action === "removed" ? moved : [],
    requester: null,
    sender: accountJson(state, installation.account),
  };
}
