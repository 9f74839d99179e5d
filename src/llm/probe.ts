import { AppError } from "../errors.ts";
import type { Model, ModelRequest } from "./model.ts";

export interface ModelProbe {
  /** Null when it answered; otherwise why not. */
  error: AppError | null;
  /** Time until the whole answer was there. */
  milliseconds: number;
  /** It called a tool as a tool, not in prose. */
  callsTools: boolean;
  /** It made several calls in one turn when asked to. */
  callsInParallel: boolean;
  /** Its arguments were JSON of the shape asked for. */
  keepsSchema: boolean;
  /** Models that the endpoint offers; null where it has no list. */
  models: string[] | null;
  /** False when there is a list and the model is not in it. */
  listed: boolean | null;
}

/** A model, and the list of its endpoint where there is one. */
export type Probed = Model & { listModels?: (signal: AbortSignal) => Promise<string[] | null> };

const request: ModelRequest = {
  messages: [
    { role: "system", content: "You test a tool interface. Answer with tool calls alone." },
    { role: "user", content: "Call add_numbers twice in this one answer: for 2 and 3, and for 20 and 30." },
  ],
  tools: [
    {
      name: "add_numbers",
      description: "Adds two numbers.",
      parameters: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
        additionalProperties: false,
      },
    },
  ],
  // Reasoning models count their thinking as output.
  maxOutputTokens: 4_096,
};

/** Asks one small question and sees what the model can do. Costs one request; never rejects but when aborted. */
export async function probeModel(
  model: Probed,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<ModelProbe> {
  const models = await listed(model, signal);
  const known = { models, listed: models === null ? null : models.includes(model.name) };
  const start = now();
  try {
    const { toolCalls } = await model.respond(request, signal);
    const calls = toolCalls.filter((call) => call.name === "add_numbers");
    return {
      error: null,
      milliseconds: now() - start,
      callsTools: calls.length > 0,
      callsInParallel: calls.length > 1,
      keepsSchema: calls.length > 0 && calls.every((call) => holdsTwoNumbers(call.arguments)),
      ...known,
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "aborted") throw error;
    const nothing = { callsTools: false, callsInParallel: false, keepsSchema: false };
    return { error, milliseconds: now() - start, ...nothing, ...known };
  }
}

/** The list is a courtesy of the endpoint: its faults show in the real request. */
async function listed(model: Probed, signal: AbortSignal): Promise<string[] | null> {
  try {
    return (await model.listModels?.(signal)) ?? null;
  } catch (error) {
    if (error instanceof AppError && error.code !== "aborted") return null;
    throw error;
  }
}

function holdsTwoNumbers(json: string): boolean {
  try {
    const { a, b } = JSON.parse(json) as { a?: unknown; b?: unknown };
    return typeof a === "number" && typeof b === "number";
  } catch {
    return false;
  }
}
