/** What a request for vectors came to. */
export interface Embedded {
  /** One for each text, in their order, all of one length. */
  vectors: readonly Float32Array[];
  /** That were paid for; estimated where the endpoint does not tell. */
  tokens: number;
}

/** Makes vectors of texts: near to each other where the texts mean the same. */
export interface Embedder {
  /** Vectors of another name cannot be compared with its own: the endpoint and the model. */
  readonly name: string;
  /** Rejects with an AppError; nothing is sent for no texts. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>;
}
