import type { IncomingMessage } from "node:http";
import { errorLine } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Queue } from "../queue/queue.ts";
import { type Answer, Refusal } from "./http.ts";

type QueueState = Awaited<ReturnType<Queue["stats"]>>;

/** Whether jobs can be stored, and if not, why, in one word. */
export type Readiness = ({ ready: true } & QueueState) | { ready: false; reason: string };

export interface Health {
  readiness(): Promise<Readiness>;
  /** Answers `/healthz` and `/readyz`; undefined for any other path. */
  answer(request: IncomingMessage, pathname: string): Promise<Answer | undefined>;
}

export interface HealthOptions {
  queue: Pick<Queue, "check" | "stats">;
  log: Pick<Logger, "error" | "info">;
  /** Whether there is little room left for mirrors and checkouts. */
  isDiskLow?: () => Promise<boolean>;
  /** Fires when the process stops: it is not ready any more. */
  stop?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** A database that answers later than this is not ready; in milliseconds. */
  patienceMs?: number;
}

/** Probes come from balancers, orchestrators and metrics at once; each look is a write. */
const freshMs = 1_000;

/** Tells whether a process lives and whether it is ready: one look at the queue a second at most, whoever asks. */
export function createHealth({
  queue,
  log,
  stop,
  now = Date.now,
  patienceMs = 4_000,
  isDiskLow = async () => false,
}: HealthOptions): Health {
  let looking: Promise<Readiness> | undefined;
  let fresh: { at: number; readiness: Readiness } | undefined;
  let wasReady = true;

  async function look(): Promise<Readiness> {
    try {
      await within(patienceMs, queue.check());
      const stats = await within(patienceMs, queue.stats());
      if (await isDiskLow()) throw new LowDisk();
      if (!wasReady) log.info("Ready again: jobs can be stored");
      wasReady = true;
      return { ready: true, ...stats };
    } catch (error) {
      const reason = reasonOf(error);
      // Once: probes go on for as long as it lasts.
      if (wasReady) log.error({ err: error, reason }, `Not ready: ${errorLine(error)}`);
      wasReady = false;
      return { ready: false, reason };
    }
  }

  async function readiness(): Promise<Readiness> {
    if (stop?.aborted) return { ready: false, reason: "stopping" };
    if (fresh && now() - fresh.at < freshMs) return fresh.readiness;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    const seen = await looking;
    fresh = { at: now(), readiness: seen };
    return seen;
  }

  return {
    readiness,
    async answer({ method }, pathname) {
      if (pathname !== "/healthz" && pathname !== "/readyz") return undefined;
      refuseWriting(method);
      return pathname === "/healthz" ? { status: 200, body: "ok" } : answerFor(await readiness());
    },
  };
}

/** What only shows something takes no other method. */
export function refuseWriting(method: string | undefined): void {
  if (method !== "GET" && method !== "HEAD")
    throw new Refusal(405, "This page is read with GET.", { allow: "GET, HEAD" });
}

function answerFor(readiness: Readiness): Answer {
  const { ready } = readiness;
  const said = ready ? { ready, oldestWaitingMs: readiness.oldestWaitingMs } : readiness;
  return { status: ready ? 200 : 503, type: "application/json", body: JSON.stringify(said) };
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new NoAnswer(milliseconds)), milliseconds);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";

  constructor(milliseconds: number) {
    super(`the database gave no answer within ${milliseconds} ms`);
  }
}

class LowDisk extends Error {
  readonly code = "disk_low";

  constructor() {
    super("little room is left on the disk of the data folder");
  }
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
  [/^disk_low$/, "disk_low"],
  [/^53100$/, "disk_full"],
  [/^(ENOSPC|EDQUOT)$/, "disk_full"],
  [/^25006$/, "read_only"],
  [/^(08|57P)|^E(CONN|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND|PIPE)/, "unreachable"],
  [/^(55P03|57014|40)/, "locked"],
];

/** A word for an alert; whoever may read more reads the log. */
function reasonOf(error: unknown): string {
  const { code, errcode, cause } = Object(error) as { code?: unknown; errcode?: unknown; cause?: unknown };
  const known =
    (typeof errcode === "number" ? sqliteReasons[errcode & 0xff] : undefined) ??
    postgresReasons.find(([form]) => typeof code === "string" && form.test(code))?.[1];
  return known ?? (cause === undefined ? "failed" : reasonOf(cause));
}
