import { Hono } from "hono";
import { z } from "zod";
import { type Run, readRows } from "../server/queue/database.ts";
import { html, layout } from "./html.ts";
import { badge, type Column, column, facts, head, shown, span, type Tone, table, timeOf } from "./parts.ts";
import type { PagesEnv } from "./viewer.ts";

export interface Checked {
  name: string;
  state: "ok" | "warn" | "fail";
  says: string;
  /** What to do; null if there is no problem. */
  remedy: string | null;
}

export interface HealthDeps {
  run: Run;
  now: () => number;
  /** Runs all checks. Each model is asked once, which costs a fraction of a cent. */
  checkAll(signal: AbortSignal): Promise<readonly Checked[]>;
}

/** Checks are not repeated before, however often somebody looks. */
const freshMs = 15 * 60_000;
const checkPatienceMs = 120_000;
const unended: Checked = {
  name: "checks",
  state: "fail",
  says: `The checks did not end in ${span(checkPatienceMs)}.`,
  remedy: "Run `hunkwise doctor` on the server.",
};
const failedDays = 7;

/** Of those that GitHub sent: acts on pages and events for others are stored in the same way. */
const newestDelivery = `SELECT received_at AS at FROM delivery WHERE event NOT IN ('page', 'notify')
  ORDER BY received_at DESC LIMIT 1`;
const failures = `SELECT id, reason, ended_at FROM job WHERE ended_at >= :since AND state = 'failed' ORDER BY ended_at DESC LIMIT 20`;
const FailureRow = z.object({ id: z.string(), reason: z.string().nullable(), ended_at: z.int() });
const tones: Record<Checked["state"], Tone> = { ok: "good", warn: "warn", fail: "bad" };

/** Whether everything works that the server needs: `/health`, for operators. */
export function health({ run, now, checkAll }: HealthDeps): Hono<PagesEnv> {
  const all = () => checkAll(AbortSignal.timeout(checkPatienceMs)).catch(() => [unended]);
  const look = repeated(all, freshMs, now);
  return new Hono<PagesEnv>().get("/health", async (context) => {
    const viewer = context.get("viewer");
    if (!viewer.isOperator) {
      const body = html`<p>Only operators of this server see its health. The server names them by the ids of their accounts, in <code>HUNKWISE_OPERATORS</code>. Yours is <code>${viewer.account}</code>.</p>`;
      return context.html(layout({ title: "Health", viewer, section: "/health", body }), 403);
    }
    const { newest: checked, at, isRunning } = look();
    const time = now();
    const [delivery] = await readRows(run, z.object({ at: z.int() }), newestDelivery);
    const since = time - failedDays * 86_400_000;
    const failed = await readRows(run, FailureRow, failures, { since });
    const body = html`${facts([
      [
        "Last webhook",
        delivery === undefined ? "none yet" : html`${timeOf(delivery.at)}, ${span(time - delivery.at)} ago`,
      ],
      ["Checked", at === null ? "not yet" : html`${timeOf(at)}, ${span(time - at)} ago`],
    ])}
${isRunning && html`<p class="notice" role="status">The checks are running. This page reloads by itself.</p>`}
${checked !== null && table("Checks of this process, as hunkwise doctor makes them", columns, checked)}
<h2>Jobs that failed in the last ${failedDays} days</h2>
${failed.length === 0 ? html`<p class="empty">None.</p>` : table("Failed jobs, newest first", failedColumns, failed, { isUnderHeading: true })}`;
    const refreshSeconds = isRunning ? 3 : undefined;
    return context.html(layout({ title: "Health", viewer, section: "/health", body, refreshSeconds }));
  });
}

const columns: Column<Checked>[] = [
  head("Check", ({ name }) => name),
  column("State", ({ state }) => badge(state, tones[state])),
  column(
    "Says",
    ({ says, remedy }) => html`${shown(says)}${remedy && html`<span class="sub">${shown(remedy)}</span>`}`,
  ),
];

const failedColumns: Column<z.infer<typeof FailureRow>>[] = [
  head("Ended", ({ ended_at }) => timeOf(ended_at)),
  column("Reason", ({ reason }) => shown(reason ?? "")),
  column("Run", ({ id }) => html`<code>${id}</code>`),
];

interface Repeated<Result> {
  newest: Result | null;
  /** When the newest result was there, in milliseconds since 1970. */
  at: number | null;
  isRunning: boolean;
}

/**
 * Looks at the last result of something slow. A look starts a new measurement if that is old, and does not wait.
 * @param check never rejects
 */
export function repeated<Result>(
  check: (last: Result | null) => Promise<Result>,
  freshMs: number,
  now: () => number,
): () => Readonly<Repeated<Result>> {
  const state: Repeated<Result> = { newest: null, at: null, isRunning: false };
  const measure = async () => {
    state.isRunning = true;
    state.newest = await check(state.newest);
    state.at = now();
    state.isRunning = false;
  };
  return () => {
    if (!state.isRunning && (state.at === null || now() - state.at >= freshMs)) void measure();
    return state;
  };
}
