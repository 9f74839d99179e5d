import { errorLine } from "../errors.ts";
import type { GraphAnswer, GraphPort } from "../tools/tool.ts";
import { type LocalGraph, type LocalGraphOptions, openLocalGraph } from "./local-graph.ts";

export interface KeptGraphOptions extends Omit<LocalGraphOptions, "signal"> {
  /** Vectors that are missing are made while it is open; else those that are there are made use of. */
  makesVectors: boolean;
}

/**
 * The graph of a range, opened when it is first asked and kept until the range goes. Whoever asks waits for no vectors: they are
 * made meanwhile, and until then words answer.
 */
export class KeptGraph implements GraphPort, AsyncDisposable {
  readonly #options: KeptGraphOptions;
  readonly #open: typeof openLocalGraph;
  readonly #ending = new AbortController();
  #opened: Promise<LocalGraph> | undefined;
  #embedding: Promise<unknown> = Promise.resolve();

  /** @param open injected by tests */
  constructor(options: KeptGraphOptions, open = openLocalGraph) {
    this.#options = options;
    this.#open = open;
  }

  /** Rejects as `openLocalGraph` does, and is tried anew the next time; with the signal's reason once that has fired. */
  async query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer> {
    signal.throwIfAborted();
    this.#opened ??= this.#openNow();
    // Whoever gives up leaves the index to be made for those who ask next.
    const { graph } = await unlessAborted(this.#opened, signal);
    return await graph.query(query, k, signal);
  }

  #openNow(): Promise<LocalGraph> {
    const { signal } = this.#ending;
    const opening = this.#open({ ...this.#options, signal });
    opening.then(
      (opened) => {
        if (this.#options.makesVectors)
          this.#embedding = opened.embed(signal).catch((error: unknown) => {
            if (!signal.aborted) this.#options.warn(`No vectors were made: ${errorLine(error)}`);
          });
      },
      () => {
        this.#opened = undefined;
      },
    );
    return opening;
  }

  /** Ends what is being made. Nobody may be asking any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    const opened = await this.#opened?.catch(() => undefined);
    await this.#embedding;
    opened?.[Symbol.dispose]();
  }
}

function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}
