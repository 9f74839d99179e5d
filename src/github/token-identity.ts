import { z } from "zod";
import { AppError } from "../errors.ts";
import { identityReach, viewerQuery } from "./allowlist.ts";
import { createGitHubClient, type GitHubClientOptions } from "./client.ts";
import type { AppIdentity } from "./own-text.ts";
import { createRateLimiter } from "./rate-limit.ts";

const Viewer = z.object({ viewer: z.object({ login: z.string() }) });
const App = z.object({ id: z.int() });

/** The App whose bot every workflow of GitHub Actions is. */
export const actionsSlug = "github-actions";

/**
 * The App that an installation token belongs to. Only GraphQL tells a token its own account; the App's id is public.
 * Rejects with `usage` for a person's token: what it writes would carry that person's name, and nothing would tell it from their own words.
 */
export async function tokenIdentity(
  options: Pick<GitHubClientOptions, "baseUrl" | "userAgent" | "signal"> & { token: string },
): Promise<AppIdentity> {
  const client = createGitHubClient({
    ...options,
    token: async () => options.token,
    reach: identityReach,
    limits: createRateLimiter()(0),
  });
  const { viewer } = await client.query(viewerQuery, {}, Viewer);
  const [, slug] = /^([\w-]+)\[bot\]$/.exec(viewer.login) ?? [];
  if (slug === undefined) {
    throw new AppError("usage", `The token belongs to ${viewer.login}, not to a GitHub App`, {
      remedy: "Use the token of the job (github.token) or of an App (actions/create-github-app-token)",
    });
  }
  const { data } = await client.request("GET /apps/{slug}", { slug });
  return { id: App.parse(data).id, slug };
}
