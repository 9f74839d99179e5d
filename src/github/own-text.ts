import { z } from "zod";
import type { OwnReview } from "./pull-request-api.ts";

/** The App whose token is used: its id, and the slug in its bot's login. */
export interface AppIdentity {
  id: number;
  slug: string;
}

const Text = z.object({
  id: z.int(),
  body: z.string().nullish(),
  state: z.string().nullish(),
  user: z.object({ login: z.string(), type: z.string() }).nullish().catch(null),
  performed_via_github_app: z.object({ id: z.int() }).nullish().catch(null),
});

/**
 * What we wrote ourselves among reviews or comments. Only a bot account counts: a person who acts through an App's user token is
 * also "performed via" that App, and could forge our markers. Brackets cannot occur in a person's login.
 */
export function ownAmong(items: readonly unknown[], app: AppIdentity): OwnReview[] {
  return items.flatMap((item) => {
    const { success, data } = Text.safeParse(item);
    if (!success || data.user?.type !== "Bot") return [];
    const byApp = data.performed_via_github_app?.id === app.id;
    const byLogin = data.user.login.toLowerCase() === `${app.slug}[bot]`.toLowerCase();
    if (!byApp && !byLogin) return [];
    return [{ id: data.id, body: data.body ?? "", pending: data.state === "PENDING" }];
  });
}
