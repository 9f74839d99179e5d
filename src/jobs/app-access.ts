import { AppError } from "../errors.ts";
import {
  type AppApi,
  createAppApi,
  createInstallationApi,
  type InstallationApi,
} from "../github/app-client.ts";
import { createGitHubClient } from "../github/client.ts";
import type { Clock } from "../github/clock.ts";
import type { AppIdentity } from "../github/own-text.ts";
import type { RateLimitSeen } from "../github/rate-limit.ts";
import type { Pacings } from "./pacings.ts";

/** GitHub as the App sees itself, and as an installation sees all that it reaches. */
export interface AppAccess {
  app(signal: AbortSignal): AppApi;
  installation(id: number, signal: AbortSignal): Promise<InstallationApi>;
}

export interface AppAccessOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  /** The App's own JSON web token; `renew` asks for one that is no kept copy. */
  appToken: (options: { renew: boolean }) => Promise<string>;
  /** A token for all repositories of an installation. */
  mintToken: (
    installation: number,
    scope: { permissions?: Readonly<Record<string, "read" | "write">> | undefined; renew?: boolean },
  ) => Promise<string>;
  identity: () => Promise<AppIdentity>;
  /** Shared with whatever else talks to GitHub in this process. */
  pacings: Pacings;
  onRateLimit?: (seen: RateLimitSeen & { installation: number }) => void;
  clock?: Clock;
}

/** The App's own requests count apart from those of each installation. */
const appItself = 0;

/** What looking takes. Asked for in this order, until GitHub grants one; the last is all that the installation has. */
const wishes = [{ pull_requests: "read", checks: "read" }, undefined] as const;

export function createAppAccess(options: AppAccessOptions): AppAccess {
  const { apiUrl: baseUrl, userAgent, pacings, onRateLimit, clock, appToken, identity } = options;

  function client(
    installation: number,
    token: (how: { renew: boolean }) => Promise<string>,
    signal: AbortSignal,
  ) {
    return createGitHubClient({
      ...{ baseUrl, userAgent, token, signal },
      pacing: pacings(installation),
      onRateLimit: (seen) => onRateLimit?.({ installation, ...seen }),
      ...(clock && { clock }),
    });
  }

  return {
    app: (signal) => createAppApi(client(appItself, appToken, signal)),
    async installation(id, signal) {
      const token = ({ renew }: { renew: boolean }) => readingToken(id, renew, options);
      return createInstallationApi(client(id, token, signal), await identity());
    },
  };
}

async function readingToken(installation: number, renew: boolean, { mintToken }: AppAccessOptions) {
  for (const permissions of wishes) {
    try {
      return await mintToken(installation, { permissions, renew });
    } catch (error) {
      const isRefused = error instanceof AppError && error.code === "github_invalid";
      if (!isRefused || permissions === undefined) throw error;
    }
  }
  throw new AppError("github_invalid", `GitHub grants installation ${installation} no token`);
}
