import type { StopReason } from "../agent/events.ts";

/** What outweighs what when several loops ended differently: the review as a whole ended for the gravest reason. */
const gravestFirst: readonly StopReason[] = [
  "aborted",
  "model_error",
  "cost_limit",
  "token_limit",
  "time_limit",
  "turn_limit",
  "repeated_calls",
  "no_tool_calls",
  "no_model",
  "finished",
];

export const worstStop = (reasons: readonly StopReason[]): StopReason =>
  gravestFirst.find((reason) => reasons.includes(reason)) ?? "finished";

const words: Partial<Record<StopReason, string>> = {
  no_tool_calls: "the model stopped without finishing it",
  repeated_calls: "the model made the same calls over and over",
  turn_limit: "the limit of model turns was reached",
  token_limit: "the limit of tokens was reached",
  cost_limit: "the limit of costs was reached",
  time_limit: "the time limit was reached",
  aborted: "it was aborted",
  model_error: "the model failed",
};

/** The summary of a review that has none of its own. */
export const unfinishedSummary = (reason: StopReason): string =>
  `The review was not finished: ${whyUnfinished(reason)}. What was found until then is reported.`;

/** As the end of a sentence: "The review was not finished: ...". */
export const whyUnfinished = (reason: StopReason): string => words[reason] ?? reason;
