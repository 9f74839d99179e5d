import type { ModelFacts } from "../llm/model.ts";

/** How a model's context window is divided for one loop, in bytes. */
export interface Window {
  /** Of the diff in the first message. */
  diffBytes: number;
  /** Of the code around it in the first message. */
  contextBytes: number;
  /** Of what each later message may show of what was not read. */
  portionBytes: number;
}

/** A token of code is about four characters; three leave room for text that is dense in tokens. */
const BYTES_PER_TOKEN = 3;
/** Parts of the window; the rest is for instructions, for reading around and for answers. */
const DIFF_SHARE = 0.4;
const CONTEXT_SHARE = 0.2;
const PORTION_SHARE = 0.2;

/** A longer diff is read less carefully, however large the window is. */
const MAX_DIFF_BYTES = 160_000;

/** A small change may bring this much of the code around it, whatever its own size. */
const SMALL_CHANGE_CONTEXT = 40_000;
/** Context for each byte of diff in a large one: what it costs stays in proportion. */
const CONTEXT_A_DIFF_BYTE = 0.5;

const bytesOf = (tokens: number) => Math.floor(tokens * BYTES_PER_TOKEN);

/** The most that the diff of one unit may have. */
export function unitBytes({ contextTokens }: Pick<ModelFacts, "contextTokens">): number {
  return Math.min(MAX_DIFF_BYTES, bytesOf(contextTokens * DIFF_SHARE));
}

/** The window of a loop over a diff of so many bytes; `isWhole` where that is the whole change. */
export function windowFor(model: ModelFacts, diffBytes: number, isWhole: boolean): Window {
  const proportional = diffBytes * CONTEXT_A_DIFF_BYTE;
  const wanted = isWhole ? Math.max(SMALL_CHANGE_CONTEXT, proportional) : proportional;
  return {
    diffBytes: unitBytes(model),
    contextBytes: Math.floor(Math.min(bytesOf(model.contextTokens * CONTEXT_SHARE), wanted)),
    portionBytes: bytesOf(model.contextTokens * PORTION_SHARE),
  };
}

/** So many bytes of a text as a window has room for, where `share` of it is this text's. */
export function roomFor(
  { contextTokens }: Pick<ModelFacts, "contextTokens">,
  bytes: number,
  share: number,
): number {
  return Math.min(bytes, bytesOf(contextTokens * share));
}
