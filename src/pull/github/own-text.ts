import { z } from "zod";
import { Side } from "../../core/finding.ts";
import type { OwnText } from "../../core/ledger/entry.ts";
import type { OwnComment, OwnReview } from "./pull-request-api.ts";

export interface AppIdentity {
  /** The App's id; 0 for a person, who has no check runs. */
  id: number;
  /** The name in the login of the App's bot; a person's login. */
  slug: string;
  /** A person asked for this one review, and it carries that person's name. */
  isPerson?: boolean;
}

/** Whether an account is the one whose token is used. `login` is a bot's name without brackets. */
export const isSelf = (type: string, login: string, { slug, isPerson = false }: AppIdentity): boolean =>
  type === (isPerson ? "User" : "Bot") && login.toLowerCase() === slug.toLowerCase();

const Text = z.object({
  id: z.int(),
  body: z.string().nullish(),
  state: z.string().nullish(),
  user: z.object({ login: z.string(), type: z.string() }).nullish().catch(null),
  performed_via_github_app: z.object({ id: z.int() }).nullish().catch(null),
  reactions: z.object({ total_count: z.int() }).nullish().catch(null),
});
type Text = z.infer<typeof Text>;

export const ownAmong = (items: readonly unknown[], app: AppIdentity): OwnReview[] =>
  oursAmong(items, Text, app).map(({ id, body, state }) => {
    return { id, body: body ?? "", pending: state === "PENDING" };
  });

/** Our own texts among comments in the conversation, with people's reactions to them. */
export const ownTextsAmong = (items: readonly unknown[], app: AppIdentity): OwnText[] =>
  oursAmong(items, Text, app).map((text) => {
    return { id: text.id, body: text.body ?? "", touched: hasReactions(text) };
  });

const oursAmong = <T extends Text>(items: readonly unknown[], shape: z.ZodType<T>, app: AppIdentity): T[] =>
  items.flatMap((item) => {
    const { data } = shape.safeParse(item);
    return data && isOurs(data, app) ? [data] : [];
  });

const hasReactions = ({ reactions }: Text) => (reactions?.total_count ?? 0) > 0;

/**
 * GitHub also reports "performed via" an App for a person who uses an App's user token, and that person could forge our markers: only a bot
 * account counts. A person's login cannot contain brackets.
 */
function isOurs({ user, performed_via_github_app }: Text, app: AppIdentity): boolean {
  if (app.isPerson) return user !== null && user !== undefined && isSelf(user.type, user.login, app);
  if (user?.type !== "Bot") return false;
  const byApp = performed_via_github_app?.id === app.id;
  return byApp || user.login.toLowerCase() === `${app.slug}[bot]`.toLowerCase();
}

const Comment = Text.extend({
  path: z.string(),
  side: Side.nullish().catch(null),
  line: z.int().nullish(),
  subject_type: z.string().nullish(),
  html_url: z.string(),
  created_at: z.string(),
  pull_request_review_id: z.int().nullish().catch(null),
});

const Reply = z.object({ in_reply_to_id: z.int() });

export function ownCommentsAmong(items: readonly unknown[], app: AppIdentity): OwnComment[] {
  const answered = new Set(items.map((item) => Reply.safeParse(item).data?.in_reply_to_id));
  return oursAmong(items, Comment, app).map((data) => {
    const { id, path, html_url: url, created_at: createdAt, pull_request_review_id: review = null } = data;
    const [body, side, line] = [data.body ?? "", data.side ?? "RIGHT", data.line ?? null];
    const outdated = line === null && data.subject_type !== "file";
    const touched = hasReactions(data) || answered.has(id);
    return { id, body, path, side, line, outdated, url, touched, review, createdAt };
  });
}
