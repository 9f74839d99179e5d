import type { Account, App, Installation, Repository } from "../model.ts";
import { clientIdOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";
import { filled } from "./filled.ts";

const page = (account: Account) =>
  account.type === "Bot" ? `apps/${account.login.replace(/\[bot\]$/, "")}` : account.login;

export function accountJson(state: GitHubState, account: Account) {
  return filled("simple-user", {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type === "Bot" ? "BOT" : "U", account.id),
    avatar_url: `${state.origin}/avatars/u/${account.id}?v=4`,
    html_url: `${state.origin}/${page(account)}`,
    type: account.type,
  });
}

export function appJson(state: GitHubState, app: App) {
  return filled("integration", {
    id: app.id,
    client_id: clientIdOf(app),
    slug: app.slug,
    node_id: nodeId("A", app.id),
    owner: accountJson(state, app.owner),
    name: app.name,
    html_url: `${state.origin}/apps/${app.slug}`,
    created_at: timestamp(app.createdAt),
    updated_at: timestamp(app.createdAt),
    permissions: app.permissions,
    events: app.events,
  });
}

export function installationJson(state: GitHubState, installation: Installation) {
  const { app, account } = installation;
  return filled("installation", {
    id: installation.id,
    account: accountJson(state, account),
    html_url: `${state.origin}/settings/installations/${installation.id}`,
    app_id: app.id,
    app_slug: app.slug,
    target_id: account.id,
    target_type: account.type,
    repository_selection: "selected",
    permissions: installation.permissions,
    events: app.events,
    created_at: timestamp(installation.createdAt),
    updated_at: timestamp(installation.createdAt),
    suspended_at: installation.suspendedAt ? timestamp(installation.suspendedAt) : null,
  });
}

/** GitHub's `author_association`. Apps have no special association. */
export function associationOf(repository: Repository, author: Account): string {
  if (repository.owner === author) return "OWNER";
  if (repository.collaborators.has(author.login.toLowerCase())) return "COLLABORATOR";
  const contributed = [...repository.pulls.values()].some((pull) => pull.author === author && pull.merged);
  return contributed ? "CONTRIBUTOR" : "NONE";
}
