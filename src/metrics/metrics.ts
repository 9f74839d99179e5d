/** What is counted of a process; the names and units that Prometheus sees stand in `prometheus.ts`. */

export type DeliveryResult = "stored" | "duplicate" | "ignored" | "refused";

/** How a request to a model ended: with what it took, or with the code of its fault. */
export type ModelEnd =
  | {
      usage: {
        promptTokens: number;
        /** The part of `promptTokens` that the provider had cached. */
        cachedTokens: number;
        completionTokens: number;
        /** US dollars; null where the price is not known. */
        costUsd: number | null;
      };
    }
  | { failed: string };

/** What GitHub said about a limit with one answer. */
export interface RateLimitSeen {
  installation: number;
  /** GitHub's word for what is counted together: "core", "graphql" ... */
  resource: string;
  remaining: number;
  /** When it begins anew, in milliseconds since 1970. */
  resetAt: number;
}

/** What is read at the moment when somebody asks; null while the queue cannot be read or nothing can be stored. */
export type ReadQueue = () => Promise<{
  jobs: Readonly<Record<string, number>>;
  /** How long the oldest job has been waiting that may run, in milliseconds. */
  oldestWaitingMs: number | null;
} | null>;

/**
 * The counters of a process. Methods may be handed on by themselves, never throw and cost next to nothing. No label names a
 * repository, a person or an installation: whoever reads metrics may not know them.
 */
export interface Metrics {
  /** `event` is one of a list: strangers can write anything into a header. */
  delivery(event: string, result: DeliveryResult): void;
  /** From storing a job to its first start. */
  jobWaited(kind: string, milliseconds: number): void;
  /** A worker is done with a job: how, and how long it had it. */
  jobEnded(kind: string, outcome: string, milliseconds: number): void;
  /** A part of a review that went well. */
  phase(phase: string, milliseconds: number): void;
  modelRequest(model: string, end: ModelEnd): void;
  rateLimit(seen: RateLimitSeen): void;
  /** Everything in Prometheus' text format. */
  exposition(readQueue: ReadQueue): Promise<{ text: string; contentType: string }>;
}
