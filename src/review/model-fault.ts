import type { AppError, ErrorCode } from "../errors.ts";

const sentences: Partial<Record<ErrorCode, string>> = {
  model_unauthorized: "its provider refused the key",
  model_rate_limited: "its provider limits the rate or the quota is used up",
  model_refused: "its provider refused the request",
  model_failed: "its provider could not be reached or gave no usable answer",
  model_unavailable: "its provider keeps failing, so requests to it are paused for a while",
  too_large: "the conversation is too large for it",
};

const FAILED = "The model failed: ";

/** Whether a warning of a review tells of a fault of the model. */
export const isPublicFault = (warning: string): boolean => warning.startsWith(FAILED);

/**
 * What everybody may read of a fault of the model. The error's own text names the operator's endpoint and repeats what the
 * provider said; it goes to whoever operates this, as progress.
 */
export function publicFault({ code }: AppError): string {
  if (code === "budget_spent")
    return "The model was not asked any more: today's budget of the pull request or its installation is used up.";
  return `${FAILED}${sentences[code] ?? "the log of its operator says why"}.`;
}
