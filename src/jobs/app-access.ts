import { appReach, lookingReach, type Reach } from "../github/allowlist.ts";
import {
  type AppApi,
  createAppApi,
  createInstallationApi,
  type InstallationApi,
} from "../github/app-client.ts";
import { createGitHubClient } from "../github/client.ts";
import type { AppIdentity } from "../github/own-text.ts";
import type { RateLimiter, RateLimitSeen } from "../github/rate-limit.ts";
import { createLeastTokens, type Granted, type MintToken } from "./tokens.ts";

/** GitHub as the App itself, and as an installation for everything that it reaches. */
export interface AppAccess {
  app(signal: AbortSignal): AppApi;
  installation(id: number, signal: AbortSignal): Promise<InstallationApi>;
}

interface AppAccessOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  /** The App's own JSON web token; `renew` asks for one that is not cached. */
  appToken: (options: { renew: boolean }) => Promise<string>;
  mintToken: MintToken;
  granted: Granted;
  identity: () => Promise<AppIdentity>;
  /** The rate limiter of this process. */
  rateLimiter: RateLimiter;
  onRateLimit?: (seen: RateLimitSeen & { installation: number }) => void;
}

/** Identifies the App's own requests, which count separately from those of each installation. */
const appItself = 0;

/** Permissions to look: nothing that can change anything. */
const looking = { pull_requests: "read", checks: "read" } as const;

export function createAppAccess(options: AppAccessOptions): AppAccess {
  const { apiUrl: baseUrl, userAgent, rateLimiter, onRateLimit, appToken, identity } = options;
  const lookingToken = createLeastTokens(looking, { ...options, now: Date.now });

  function client(
    installation: number,
    reach: Reach,
    token: (how: { renew: boolean }) => Promise<string>,
    signal: AbortSignal,
  ) {
    return createGitHubClient({
      ...{ baseUrl, userAgent, reach, token, signal },
      limits: rateLimiter(installation),
      onRateLimit: (seen) => onRateLimit?.({ installation, ...seen }),
    });
  }

  return {
    app: (signal) => createAppApi(client(appItself, appReach, appToken, signal)),
    async installation(id, signal) {
      const token = (how: { renew: boolean }) => lookingToken(id, how);
      return createInstallationApi(client(id, lookingReach, token, signal), await identity());
    },
  };
}
