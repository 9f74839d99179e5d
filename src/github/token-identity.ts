import { z } from "zod";
import { identityReach, viewerQuery } from "./allowlist.ts";
import { createGitHubClient, type GitHubClientOptions } from "./client.ts";
import type { AppIdentity } from "./own-text.ts";
import { createRateLimiter } from "./rate-limit.ts";

const Viewer = z.object({ viewer: z.object({ login: z.string() }) });
const App = z.object({ id: z.int() });

/** The App whose bot every workflow of GitHub Actions is. */
export const actionsSlug = "github-actions";

/** Whose a token is: an App's or a person's. Only GraphQL tells a token its own account; an App's id is public. */
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
  if (slug === undefined) return { id: 0, slug: viewer.login, isPerson: true };
  const { data } = await client.request("GET /apps/{slug}", { slug });
  return { id: App.parse(data).id, slug };
}
