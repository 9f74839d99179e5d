import type { AppCredentials, Env } from "../config/env.ts";
import { removeRepository } from "../git/disk/remove-repository.ts";
import type { AppIdentity } from "../github/own-text.ts";
import { createAppAccess } from "../jobs/app-access.ts";
import type { GitHubAccessOptions } from "../jobs/github-access.ts";
import type { Pacings } from "../jobs/pacings.ts";
import type { Granted, MintToken } from "../jobs/tokens.ts";
import type { Upkeep } from "../jobs/upkeep.ts";
import type { Stores } from "../queue/stores.ts";
import { decide, handlesEvent } from "../webhooks/decide.ts";
import { appAuth, type createProbot } from "../webhooks/probot.ts";

export interface UpkeepOptions {
  env: Env;
  credentials: AppCredentials;
  stores: Pick<Stores, "queue" | "notes">;
  probot: ReturnType<typeof createProbot>;
  mintToken: MintToken;
  granted: Granted;
  userAgent: string;
  /** Who the App is. */
  identity: () => Promise<AppIdentity>;
  pacings: Pacings;
  onRateLimit?: NonNullable<GitHubAccessOptions["onRateLimit"]>;
}

/** Composes what reconciling and purging work with. */
export function openUpkeep(options: UpkeepOptions): Upkeep {
  const { env, credentials, stores, probot, mintToken, granted, userAgent } = options;
  const { identity, pacings, onRateLimit } = options;
  const { host, apiUrl } = env.github;
  return {
    access: createAppAccess({
      ...{ apiUrl, userAgent, identity, pacings },
      ...{ appToken: appAuth(probot), mintToken, granted },
      ...(onRateLimit && { onRateLimit }),
    }),
    ...{ queue: stores.queue, notes: stores.notes },
    handles: handlesEvent,
    async jobsOf(event, payload) {
      const { slug: appSlug } = await identity();
      const decision = decide(event, payload, {
        ...{ appSlug, appId: credentials.id, pushWindowMs: env.pushWindowMs },
      });
      return "jobs" in decision ? decision.jobs : [];
    },
    removeRepository: (place) => removeRepository(env.dataDir, { host, ...place }),
  };
}
