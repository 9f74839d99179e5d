import { createHash, randomBytes } from "node:crypto";
import { type Context, Hono } from "hono";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { type Run, readRows } from "../server/queue/database.ts";
import { type Act, askedJob } from "../server/queue/job.ts";
import type { Queue } from "../server/queue/queue.ts";
import { type Html, type HtmlPart, html, layout, type SectionPath } from "./html.ts";
import { address } from "./parts.ts";
import { type PagesEnv, type VisibleRepository, visibleTo } from "./viewer.ts";

/*
 * What people can do on the pages. A form stores a job and nothing else: the worker asks GitHub again whether the person may write. That a form
 * comes from a page of this server is checked before it arrives here.
 */

export interface ActDeps {
  run: Run;
  accept: Queue["accept"];
  /** Called after a job was stored: wakes the worker of this process. */
  onAccepted: () => void;
  now: () => number;
}

/** Of one person; beyond, the queue would only fill. */
const acts = { most: 30, perMs: 60_000 };
const mostCounted = 10_000;

/** What a form sends besides its own fields: the same if it is sent twice. */
export const Sent = z.object({ form: z.string().regex(/^[\w-]{22}$/) });
/** The field of {@link Sent}. */
export const sentOnce = (): Html =>
  html`<input type="hidden" name="form" value="${randomBytes(16).toString("base64url")}">`;

const buttons = {
  "review-new": { name: "review", mode: "new" },
  "review-full": { name: "review", mode: "full" },
  pause: { name: "pause" },
  resume: { name: "resume" },
} as const satisfies Record<string, Act>;

const PullForm = Sent.extend({ act: z.enum(Object.keys(buttons) as (keyof typeof buttons)[]) });

const later = html`It will appear on the pull request in a moment. <a href="/">Now</a> shows what is queued, and
<a href="/reviews">Reviews</a> how it ended.`;
const done: Readonly<Record<Act["name"], Html>> = {
  review: html`You asked for a review. ${later}`,
  pause: html`You asked for a pause. ${later}`,
  resume: html`You asked to resume reviews. ${later}`,
  demote: html`You asked for a change to the configuration. The App opens a pull request, or, if it may not write code, posts a patch. A
comment on the newest pull request with such a finding says where.`,
  dismiss: html`You asked to dismiss the finding. ${later}`,
};

/** The sentence after an act. */
export function doneNotice(context: Context<PagesEnv>): HtmlPart {
  const name = context.req.query("done") ?? "";
  return Object.hasOwn(done, name) && html`<p class="notice" role="status">${done[name as Act["name"]]}</p>`;
}

const reviewPath = (id: string) => `/reviews/${encodeURIComponent(id)}`;

/** What a person who may write can do about the pull request of a run, as part of the run's page. */
export const pullForm = ({ mayWrite }: VisibleRepository, id: string): HtmlPart =>
  mayWrite &&
  html`<h2>What you can do</h2>
<form class="filters" method="post" action="${reviewPath(id)}">${sentOnce()}
<button name="act" value="review-new">Review what is new</button>
<button name="act" value="review-full">Review the whole change again</button>
<button name="act" value="pause">Pause reviews of pushes</button>
<button name="act" value="resume">Resume them</button>
</form>
<p class="note">These buttons work like the commands <code>/review</code>, <code>/review full</code>, <code>/pause</code> and <code>/resume</code> in a
comment, with the same limits. The pull request will show your name.</p>`;

/** A page that says why nothing was done. */
export function refuse(
  context: Context<PagesEnv>,
  status: 400 | 403 | 409 | 429,
  section: SectionPath,
  why: HtmlPart,
): Response | Promise<Response> {
  const body = html`<p class="notice" role="alert">${why}</p><p>Nothing was done.</p>`;
  return context.html(layout({ title: "Not done", viewer: context.var.viewer, section, body }), status);
}

export const readOnly = "GitHub does not let you write to this repository, so you may not do this.";
export const incomplete = "The form was incomplete. Go back, reload the page, and try again.";

interface Wanted {
  act: Act;
  /** Of {@link Sent}. */
  form: string;
  repository: VisibleRepository;
  pull: number;
  /** The page to return to. */
  back: string;
  section: SectionPath;
}

/** Stores what a person does as a job, at most once for each form, and leads back. */
export type DoAct = (context: Context<PagesEnv>, wanted: Wanted) => Promise<Response>;

export function createActs({ accept, onAccepted, now }: Omit<ActDeps, "run">): DoAct {
  const counted = new LRUCache<number, { began: number; count: number }>({ max: mostCounted });

  function mayAct(account: number): boolean {
    const { began, count } = counted.get(account) ?? { began: 0, count: 0 };
    const isNew = now() - began >= acts.perMs;
    counted.set(account, isNew ? { began: now(), count: 1 } : { began, count: count + 1 });
    return isNew || count < acts.most;
  }

  return async (context, { act, form, repository, pull, back, section }) => {
    const { account, login } = context.var.viewer;
    if (!mayAct(account))
      return refuse(context, 429, section, "Too many actions in one minute. Wait a minute.");
    const { mayWrite: _, ...about } = repository;
    const id = createHash("sha256")
      .update(JSON.stringify([account, about.id, pull, act, form]))
      .digest("base64url")
      .slice(0, 22);
    const by = { account, requestedBy: login };
    const job = askedJob({ kind: "act", act, repository: about, pull, id, ...by, headSha: null });
    if (await accept({ id: `page:${id}`, event: "page", action: act.name }, [job])) onAccepted();
    return context.redirect(address(back, { done: act.name }), 303);
  };
}

const RunRow = z.object({ repository: z.int(), pull: z.int() });

export function actions({ run }: Pick<ActDeps, "run">, doAct: DoAct): Hono<PagesEnv> {
  return new Hono<PagesEnv>().post("/reviews/:id", async (context) => {
    const id = context.req.param("id");
    // A database refuses NUL.
    if (!/^[\w-]+$/.test(id)) return context.notFound();
    const [row] = await readRows(run, RunRow, "SELECT repository, pull FROM run WHERE id = :id", { id });
    const repository = visibleTo(context.var.viewer, row?.repository);
    if (!row || !repository) return context.notFound();
    const section = "/reviews";
    if (!repository.mayWrite) return refuse(context, 403, section, readOnly);
    const sent = PullForm.safeParse(await context.req.parseBody());
    if (!sent.success) return refuse(context, 400, section, incomplete);
    const { form, act } = sent.data;
    const { pull } = row;
    return doAct(context, { act: buttons[act], form, repository, pull, back: reviewPath(id), section });
  });
}
