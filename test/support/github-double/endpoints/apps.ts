import {
  type Answer,
  type Call,
  created,
  type Endpoints,
  forAnyone,
  forApp,
  forToken,
  listed,
  ok,
} from "../endpoint.ts";
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

/** The requested repositories of a token; one outside the installation refuses the whole token. */
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

/**
 * If the request names no permission, the token gets all of them. GitHub does not document an empty list; the double assumes the worse
 * case.
 */
const namesAny = (permissions: Permissions | undefined): permissions is Permissions =>
  Object.keys(permissions ?? {}).length > 0;

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

/** Newest first; only the link header shows the next page. */
function listDeliveries({ state, query }: Call): Answer {
  const before =
    query.cursor === undefined ? Number.POSITIVE_INFINITY : Number(String(query.cursor).slice(3));
  const size = Number(query.per_page ?? 30);
  const left = state.deliveries.filter(({ id }) => id < before).toReversed();
  const page = left.slice(0, size);
  const next = `${state.apiUrl}/app/hook/deliveries?per_page=${size}&cursor=v1_${page.at(-1)?.id}`;
  const headers: Record<string, string> = left.length > size ? { link: `<${next}>; rel="next"` } : {};
  return { status: 200, body: page.map(deliveryJson), headers };
}

export const apps: Endpoints = {
  "apps/get-authenticated": forApp(({ state }, app) =>
    ok({
      ...appJson(state, app),
      installations_count: [...state.installations.values()].filter((one) => one.app === app).length,
    }),
  ),

  "apps/get-by-slug": forAnyone(({ state, path }) => {
    const app = [...state.apps.values()].find(({ slug }) => slug === path.app_slug);
    if (!app) throw notFound();
    return ok(appJson(state, app));
  }),

  "apps/get-installation": forApp(({ state, path }, app) =>
    ok(installationJson(state, installationOf(state, app, Number(path.installation_id)))),
  ),

  "apps/create-installation-access-token": forApp(({ state, path, body }, app) => {
    const asked = (body ?? {}) as TokenRequest;
    const installation = installationOf(state, app, Number(path.installation_id));
    if (installation.suspendedAt) throw new GitHubRefusal(403, "This installation has been suspended");
    const permissions = namesAny(asked.permissions)
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

  "apps/list-installations": forApp(({ state }, app) => {
    const installations = [...state.installations.values()].filter((one) => one.app === app);
    return listed(installations, (one) => installationJson(state, one));
  }),

  "apps/list-repos-accessible-to-installation": forToken(({ state }, { repositories }) => ({
    ...listed(repositories, (one) => repositoryJson(state, one)),
    wrap: (page, total) => ({ total_count: total, repository_selection: "selected", repositories: page }),
  })),

  "apps/revoke-installation-access-token": forToken((_, token) => {
    token.revoked = true;
    return { status: 204 };
  }),

  "apps/list-webhook-deliveries": forApp(listDeliveries),

  "apps/get-webhook-delivery": forApp(({ state, path }) => {
    const delivery = state.deliveries.find(({ id }) => id === Number(path.delivery_id));
    if (!delivery) throw notFound();
    const { headers, payload, answer } = delivery;
    const exchanged = {
      request: { headers, payload },
      response: { headers: {}, payload: answer },
    };
    return ok({ ...deliveryJson(delivery), url: "", ...exchanged });
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
};
