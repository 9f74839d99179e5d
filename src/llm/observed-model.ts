import { AppError, type ErrorCode } from "../errors.ts";
import type { Usage } from "./model.ts";
import type { Probed } from "./probe.ts";

/** How a request ended: what it took, or the code it failed with. */
export type RequestEnd = { usage: Usage } | { failed: ErrorCode };

/** The model, whose requests are told of when they have ended, probes too. Faults of ours count as `model_failed`. */
export function observed(model: Probed, onEnd: (model: string, end: RequestEnd) => void): Probed {
  return {
    ...model,
    async respond(request, signal) {
      try {
        const turn = await model.respond(request, signal);
        onEnd(model.name, { usage: turn.usage });
        return turn;
      } catch (error) {
        onEnd(model.name, { failed: error instanceof AppError ? error.code : "model_failed" });
        throw error;
      }
    },
  };
}
