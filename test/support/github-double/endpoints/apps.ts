import { created, type Endpoints, forAnyone, forApp, ok } from "../endpoint.ts";
import { GitHubRefusal, notFound, notGranted } from "../errors.ts";
import { accountJson, appJson, installationJson } from "../json/account.ts";
import { repositoryJson } from "../json/repository.ts";
import type { Access, App, Delivery, Installation, Permissions, Repository } from "../model.ts";
import { timestamp } from "../model.ts";
import type { GitHubState } from "../state.ts";

interface TokenRequest {
  repositories?: string[];
  repository_ids?: number[];
  permissions?: Record<string, Access>;
}

function installationOf(state: GitHubState, app: App, id: number): Installation {
  const installation = state.installations.get(id);
  if (installation?.app !== app) throw notFound();
  return installation;
}

/** The repositories a token is asked for; one that the installation does not have refuses the whole token. */
function scopeOf(installation: Installation, asked: TokenRequest): Repository[] {
  if (!asked.repositories && !asked.repository_ids) return installation.repositories;
  const wanted = [...(asked.repositories ?? []), ...(asked.repository_ids ?? [])];
  return wanted.map((key) => {
    const found = installation.repositories.find((one) => one.name === key || one.id === key);
    if (found) return found;
    throw notGranted(
      "There is at least one repository that does not exist or is not accessible to the parent installation.",
    );
  });
}

function checkAsked(permissions: Permissions, installation: Installation): Permissions {
  for (const [name, access] of Object.entries(permissions)) {
    const granted = name === "metadata" ? "read" : installation.permissions[name];
    if (granted !== "write" && granted !== access) {
      throw notGranted("The permissions requested are not granted to this installation.");
    }
  }
  return permissions;
}

const deliveryJson = (delivery: Delivery) => ({
  id: delivery.id,
  guid: delivery.guid,
  delivered_at: timestamp(delivery.deliveredAt),
  redelivery: delivery.redelivery,
  duration: delivery.durationSeconds,
  status: delivery.statusCode >= 200 && delivery.statusCode < 300 ? "OK" : "Invalid HTTP Response",
  status_code: delivery.statusCode,
  event: delivery.event,
  action: delivery.action,
  installation_id: delivery.installationId,
  repository_id: delivery.repositoryId,
  throttled_at: null,
});

const limit = (max: number, used = 0) => ({ limit: max, remaining: max - used, reset: 0, used });

export const apps: Endpoints = {
  "apps/get-authenticated": forApp(({ state }, app) =>
    ok({
      ...appJson(state, app),
      installations_count: [...state.installations.values()].filter((one) => one.app === app).length,
    }),
  ),

  "apps/get-installation": forApp(({ state, path }, app) =>
    ok(installationJson(state, installationOf(state, app, Number(path.installation_id)))),
  ),

  "apps/get-repo-installation": forApp(({ state, path }, app) => {
    const repository = state.repository(path.owner ?? "", path.repo ?? "");
    const installation = [...state.installations.values()].find(
      (one) => one.app === app && repository && one.repositories.includes(repository),
    );
    if (!installation) throw notFound();
    return ok(installationJson(state, installation));
  }),

  "apps/create-installation-access-token": forApp(({ state, path, body }, app) => {
    const asked = (body ?? {}) as TokenRequest;
    const installation = installationOf(state, app, Number(path.installation_id));
    if (installation.suspendedAt) throw new GitHubRefusal(403, "This installation has been suspended");
    const permissions = asked.permissions
      ? checkAsked(asked.permissions, installation)
      : installation.permissions;
    const token = state.issueToken(installation, { repositories: scopeOf(installation, asked), permissions });
    const narrowed = Boolean(asked.repositories ?? asked.repository_ids);
    return created({
      token: token.value,
      expires_at: timestamp(token.expiresAt),
      permissions: { ...token.permissions, metadata: "read" },
      repository_selection: "selected",
      ...(narrowed ? { repositories: token.repositories.map((one) => repositoryJson(state, one)) } : {}),
    });
  }),

  "apps/list-webhook-deliveries": forApp(({ state, query }) => {
    const before = query.cursor === undefined ? Number.POSITIVE_INFINITY : Number(query.cursor);
    const newestFirst = state.deliveries.filter((delivery) => delivery.id < before).toReversed();
    return ok(newestFirst.slice(0, Number(query.per_page ?? 30)).map(deliveryJson));
  }),

  "apps/create-from-manifest": forAnyone(({ state, path }) => {
    const conversion = state.manifestCodes.get(path.code ?? "");
    if (!conversion) throw notFound();
    state.manifestCodes.delete(path.code ?? "");
    const { app, clientId, clientSecret, webhookSecret, pem } = conversion;
    return created({
      ...appJson(state, app),
      owner: accountJson(state, app.owner),
      client_id: clientId,
      client_secret: clientSecret,
      webhook_secret: webhookSecret,
      pem,
    });
  }),

  "rate-limit/get": forAnyone(() => {
    const core = limit(5000);
    return ok({ resources: { core, search: limit(30), graphql: limit(5000) }, rate: core });
  }),
};
