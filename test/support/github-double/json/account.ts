import type { Account, App, Installation } from "../model.ts";
import { clientIdOf, nodeId, timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";

const page = (account: Account) =>
  account.type === "Bot" ? `apps/${account.login.replace(/\[bot\]$/, "")}` : account.login;

export function accountJson(state: GitHubState, account: Account) {
  const url = `${state.apiUrl}/users/${encodeURIComponent(account.login)}`;
  return {
    login: account.login,
    id: account.id,
    node_id: nodeId(account.type === "Bot" ? "BOT" : "U", account.id),
    avatar_url: `${state.origin}/avatars/u/${account.id}?v=4`,
    gravatar_id: "",
    url,
    html_url: `${state.origin}/${page(account)}`,
    followers_url: `${url}/followers`,
    following_url: `${url}/following{/other_user}`,
    gists_url: `${url}/gists{/gist_id}`,
    starred_url: `${url}/starred{/owner}{/repo}`,
    subscriptions_url: `${url}/subscriptions`,
    organizations_url: `${url}/orgs`,
    repos_url: `${url}/repos`,
    events_url: `${url}/events{/privacy}`,
    received_events_url: `${url}/received_events`,
    type: account.type,
    user_view_type: "public",
    site_admin: false,
  };
}

export function appJson(state: GitHubState, app: App) {
  return {
    id: app.id,
    client_id: clientIdOf(app),
    slug: app.slug,
    node_id: nodeId("A", app.id),
    owner: accountJson(state, app.owner),
    name: app.name,
    description: null,
    external_url: `${state.origin}/${app.slug}`,
    html_url: `${state.origin}/apps/${app.slug}`,
    created_at: timestamp(app.createdAt),
    updated_at: timestamp(app.createdAt),
    permissions: app.permissions,
    events: app.events,
  };
}

export function installationJson(state: GitHubState, installation: Installation) {
  const { app, account } = installation;
  return {
    id: installation.id,
    account: accountJson(state, account),
    repository_selection: "selected",
    access_tokens_url: `${state.apiUrl}/app/installations/${installation.id}/access_tokens`,
    repositories_url: `${state.apiUrl}/installation/repositories`,
    html_url: `${state.origin}/settings/installations/${installation.id}`,
    app_id: app.id,
    app_slug: app.slug,
    target_id: account.id,
    target_type: account.type,
    permissions: installation.permissions,
    events: app.events,
    created_at: timestamp(installation.createdAt),
    updated_at: timestamp(installation.createdAt),
    single_file_name: null,
    has_multiple_single_files: false,
    single_file_paths: [],
    suspended_by: null,
    suspended_at: installation.suspendedAt ? timestamp(installation.suspendedAt) : null,
  };
}
