import type { IncomingMessage } from "node:http";
import { within } from "../../core/async.ts";
import { errorLine } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Queue } from "../queue/queue.ts";
import { type Answer, Refusal } from "./http.ts";

type QueueState = Awaited<ReturnType<Queue["stats"]>>;

type Readiness = ({ ready: true } & QueueState) | { ready: false; reason: string };

export type Health = ReturnType<typeof createHealth>;

export interface HealthOptions {
  queue: Pick<Queue, "check" | "stats">;
  log: Pick<Logger, "error" | "info">;
  /** Whether there is little disk space left for mirrors and checkouts. */
  isDiskLow?: () => Promise<boolean>;
  /** Fires when the process stops: it is then no longer ready. */
  stop?: AbortSignal;
  now?: () => number;
  /** The process is not ready if the database does not respond within this time. */
  patienceMs?: number;
}

/** Balancers, orchestrators and metrics probe at the same time; each check is a write. */
const freshMs = 1_000;

/** It checks the queue at most once a second for all callers, and never twice at a time. */
export function createHealth({
  queue,
  log,
  stop,
  now = Date.now,
  patienceMs = 2_000,
  isDiskLow = async () => false,
}: HealthOptions) {
  let looking: Promise<Readiness> | undefined;
  let last: { at: number; readiness: Readiness } | undefined;
  let wasReady = true;

  async function look(): Promise<Readiness> {
    try {
      await queue.check();
      const stats = await queue.stats();
      if (!(await isDiskLow())) return noted({ ready: true, ...stats });
      return unready(new Error("the disk of the data folder is nearly full"), "disk_low");
    } catch (error) {
      return unready(error);
    }
  }

  const unready = (error: unknown, reason = reasonOf(error)) => noted({ ready: false, reason }, error);

  /** Logs each change once. */
  function noted(readiness: Readiness, error?: unknown): Readiness {
    if (readiness.ready && !wasReady) log.info("Ready again: jobs can be stored");
    if (!readiness.ready && wasReady)
      log.error({ err: error, ...readiness }, `Not ready: ${errorLine(error)}`);
    wasReady = readiness.ready;
    return readiness;
  }

  async function readiness(): Promise<Readiness> {
    if (stop?.aborted) return { ready: false, reason: "stopping" };
    if (last && now() - last.at < freshMs) return last.readiness;
    looking ??= look().then((readiness) => {
      looking = undefined;
      last = { at: now(), readiness };
      return readiness;
    });
    return within(patienceMs, looking, () =>
      last?.readiness.ready === false
        ? last.readiness
        : unready(new Error("the database does not respond"), "no_answer"),
    );
  }

  return {
    readiness,
    async answer({ method }: IncomingMessage, pathname: string): Promise<Answer | undefined> {
      if (pathname !== "/healthz" && pathname !== "/readyz") return undefined;
      refuseWriting(method);
      return pathname === "/healthz" ? { status: 200, body: "ok" } : answerFor(await readiness());
    },
  };
}

export function refuseWriting(method: string | undefined): void {
  if (method !== "GET" && method !== "HEAD")
    throw new Refusal(405, "Use GET for this page.", { allow: "GET, HEAD" });
}

function answerFor(readiness: Readiness): Answer {
  const { ready } = readiness;
  const shown = ready ? { ready, oldestWaitingMs: readiness.oldestWaitingMs } : readiness;
  return { status: ready ? 200 : 503, type: "application/json", body: JSON.stringify(shown) };
}

/** SQLite's primary result codes ("Result and Error Codes"). */
const sqliteReasons: Readonly<Record<number, string>> = {
  5: "locked",
  6: "locked",
  8: "read_only",
  10: "disk_failed",
  11: "damaged",
  13: "disk_full",
};
/** Postgres' error codes and those of the connection ("Appendix A. PostgreSQL Error Codes"). */
const postgresReasons: readonly [RegExp, string][] = [
  [/^(53100|ENOSPC|EDQUOT)$/, "disk_full"],
  [/^25006$/, "read_only"],
  [/^(08|57P)|^E(CONN|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND|PIPE)/, "unreachable"],
  [/^(55P03|57014|40)/, "locked"],
];

/** One word for an alert; operators find the details in the log. */
function reasonOf(error: unknown): string {
  const { code, errcode, cause } = Object(error) as { code?: unknown; errcode?: unknown; cause?: unknown };
  const known =
    (typeof errcode === "number" ? sqliteReasons[errcode & 0xff] : undefined) ??
    postgresReasons.find(([form]) => typeof code === "string" && form.test(code))?.[1];
  if (known !== undefined) return known;
  if (cause !== undefined) return reasonOf(cause);
  return code === "database_unreachable" ? "unreachable" : "failed";
}
