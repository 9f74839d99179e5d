import type { Clock } from "./clock.ts";
import { longestWaitMs, type RateLimit, rateLimited, untoldWait } from "./rate-limit.ts";
import type { SharedPace, Traffic } from "./shared-pace.ts";

export interface HoldsOptions {
  clock: Clock;
  shared: SharedPace;
  /** Told of what could not be shared. */
  warn: (message: string, error: unknown) => void;
}

/**
 * How long nothing may be sent for an installation, and how that grows. This process obeys its own holds also where they could
 * not be shared. That the budget of GraphQL is used up each process finds out for itself, which costs one refusal.
 */
export class Holds {
  readonly #options: HoldsOptions;
  readonly #until = { everything: 0, graphql: 0 };
  /** The hold after which the refusals in a row were last looked at; with a later one somebody may have counted another. */
  readonly #lookedAt = { read: -1, write: -1 };
  #counting: Promise<unknown> = Promise.resolve();

  constructor(options: HoldsOptions) {
    this.#options = options;
  }

  /** Milliseconds until such a call may be sent; nothing or less when it may be now. */
  async left({ graphql }: Traffic): Promise<number> {
    const { shared, clock } = this.#options;
    const until = this.#until;
    until.everything = Math.max(until.everything, await this.#try("A hold", shared.heldUntil(), 0));
    return Math.max(until.everything, graphql ? until.graphql : 0) - clock.now();
  }

  /** Resolves when such a call may be sent; rejects with `github_rate_limited` while a hold lasts for more than a minute. */
  async pass(traffic: Traffic, signal?: AbortSignal): Promise<void> {
    for (let wait = await this.left(traffic); wait > 0; wait = await this.left(traffic)) {
      if (wait > longestWaitMs) throw rateLimited(wait);
      await this.#options.clock.sleep(wait, signal);
    }
  }

  async hold(stops: RateLimit["stops"], milliseconds: number): Promise<void> {
    const { shared, clock } = this.#options;
    const end = clock.now() + milliseconds;
    this.#until[stops] = Math.max(this.#until[stops], end);
    if (stops === "everything") await this.#try("A hold", shared.hold(end), undefined);
  }

  /** Holds for a call that was refused. Resolves to the wait in milliseconds. */
  async refused(traffic: Traffic, { waitMs, stops }: RateLimit): Promise<number> {
    if (waitMs !== undefined) {
      await this.hold(stops, waitMs);
      return waitMs;
    }
    const counted = this.#counting.then(() => this.#refusedUntold(traffic));
    this.#counting = counted;
    return counted;
  }

  /** A call went through: the next refusal of its kind is the first again. A read says nothing of what may be written. */
  async wentThrough({ kind }: Traffic): Promise<void> {
    if (this.#lookedAt[kind] === this.#until.everything) return;
    this.#lookedAt[kind] = this.#until.everything;
    const { shared } = this.#options;
    const forget = async () => {
      if ((await shared.refusals(kind)) > 0) await shared.setRefusals(kind, 0);
    };
    await this.#try("That GitHub takes calls again", forget(), undefined);
  }

  /** What several calls met at once counts once. */
  async #refusedUntold(traffic: Traffic): Promise<number> {
    const known = await this.left(traffic);
    if (known > 0) return known;
    const { shared } = this.#options;
    const what = "How often GitHub refused";
    const earlier = await this.#try(what, shared.refusals(traffic.kind), 0);
    await this.#try(what, shared.setRefusals(traffic.kind, earlier + 1), undefined);
    const wait = untoldWait(earlier);
    await this.hold("everything", wait);
    return wait;
  }

  async #try<T>(what: string, work: Promise<T>, otherwise: T): Promise<T> {
    return work.catch((error: unknown) => {
      this.#options.warn(`${what} was not shared with other processes`, error);
      return otherwise;
    });
  }
}
