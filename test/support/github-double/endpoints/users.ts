import type { Call } from "../endpoint.ts";
import { type Endpoints, forClient, forUser, listed, ok } from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { accountJson, installationJson } from "../json/account.ts";
import { repositoryJson } from "../json/repository.ts";
import type { Installation, Repository, Role, UserToken } from "../model.ts";

/** Of the repositories of an installation, those to which a person was given access. Being public is none. */
function seenBy({ account }: UserToken, installation: Installation): Repository[] {
  return installation.repositories.filter(({ collaborators }) =>
    collaborators.has(account.login.toLowerCase()),
  );
}

const installationsOf = (state: Call["state"], token: UserToken) =>
  [...state.installations.values()].filter(
    (one) => one.app === token.app && (one.account === token.account || seenBy(token, one).length > 0),
  );

const roles: readonly Role[] = ["read", "triage", "write", "maintain", "admin"];
function permissionsOf(role: Role) {
  const may = (least: Role) => roles.indexOf(role) >= roles.indexOf(least);
  return {
    admin: may("admin"),
    maintain: may("maintain"),
    push: may("write"),
    triage: may("triage"),
    pull: true,
  };
}

/** What a person reads through an App, and what the App does about their tokens. */
export const users: Endpoints = {
  "users/get-authenticated": forUser(({ state }, { account }) =>
    ok({
      ...accountJson(state, account),
      ...{ name: null, company: null, blog: "", location: null, email: null, hireable: null, bio: null },
      ...{ public_repos: 0, public_gists: 0, followers: 0, following: 0 },
      ...{ created_at: "2011-01-25T18:44:36Z", updated_at: "2026-11-20T08:00:00Z" },
    }),
  ),

  "apps/list-installations-for-authenticated-user": forUser(({ state }, token) => ({
    ...listed(installationsOf(state, token), (one) => installationJson(state, one)),
    wrap: (page, total) => ({ total_count: total, installations: page }),
  })),

  "apps/list-installation-repos-for-authenticated-user": forUser(({ state, path }, token) => {
    const installation = installationsOf(state, token).find(({ id }) => id === Number(path.installation_id));
    if (!installation) throw notFound();
    if (installation.suspendedAt) throw new GitHubRefusal(403, "This installation has been suspended");
    const login = token.account.login.toLowerCase();
    return {
      ...listed(seenBy(token, installation), (one) => ({
        ...repositoryJson(state, one),
        permissions: permissionsOf(one.collaborators.get(login) ?? "read"),
      })),
      wrap: (page, total) => ({ total_count: total, repository_selection: "selected", repositories: page }),
    };
  }),

  "apps/delete-token": forClient(({ state, path, body }, app) => {
    const token = state.userTokens.get((body as { access_token: string }).access_token);
    if (app.oauth?.clientId !== path.client_id || token?.app !== app) throw notFound();
    state.userTokens.delete(token.value);
    return { status: 204 };
  }),
};
