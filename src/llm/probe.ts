import { AppError } from "../errors.ts";
import { ToolsRefused } from "./faults.ts";
import type { Ability } from "./known-models.ts";
import { readLenientObject } from "./lenient-json.ts";
import type { Model, ModelRequest, Protocol, ToolCall } from "./model.ts";
import { withTextProtocol } from "./text-protocol.ts";

export interface ModelProbe {
  /** Null when it answered; otherwise why not. An endpoint that refuses tools has answered. */
  error: AppError | null;
  /** Time until the whole answer was there. */
  milliseconds: number;
  /** It called a tool as a tool, not in prose. */
  callsTools: boolean;
  /** It made several calls in one turn when asked to. */
  callsInParallel: boolean;
  /** Its arguments were JSON of the shape asked for. */
  keepsSchema: boolean;
  /** It wrote the calls as JSON when asked to; null where nobody asked, because it calls tools. */
  writesJson: boolean | null;
  /** Size of its context window in tokens as the endpoint tells; null where it does not. */
  contextTokens: number | null;
  /** Models that the endpoint offers; null where it has no list. */
  models: string[] | null;
  /** False when there is a list and the model is not in it. */
  listed: boolean | null;
}

/** A model, and what else its endpoint can be asked. */
export type Probed = Model & {
  listModels?: (signal: AbortSignal) => Promise<string[] | null>;
  findContextTokens?: (signal: AbortSignal) => Promise<number | null>;
};

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

/**
 * Asks one small question and sees what the model can do; where it calls no tools, the same once more as text. Costs one
 * request or two; never rejects but when aborted.
 */
export async function probeModel(
  model: Probed,
  signal: AbortSignal,
  now: () => number = Date.now,
): Promise<ModelProbe> {
  const models = await courtesy(model.listModels, signal);
  const start = now();
  const native = await tryCalls(model, signal);
  const milliseconds = now() - start;
  const text = native.error || works(native) ? null : await tryCalls(withTextProtocol(model), signal);
  return {
    ...native,
    milliseconds,
    writesJson: text && works(text),
    // Asked now: some servers know the window of a model only once it is loaded.
    contextTokens: native.error ? null : await courtesy(model.findContextTokens, signal),
    models,
    listed: models === null ? null : models.includes(model.name),
  };
}

/** How a model with this ability calls tools best. */
export const protocolFor = ({ callsTools, writesJson }: Ability): Protocol =>
  !callsTools && writesJson ? "text" : "native";

/** What of a probe is worth keeping. */
export const abilityOf = (probe: ModelProbe): Ability => ({
  callsTools: works(probe),
  writesJson: probe.writesJson ?? true,
  contextTokens: probe.contextTokens,
});

const works = ({ callsTools, keepsSchema }: Pick<ModelProbe, "callsTools" | "keepsSchema">) =>
  callsTools && keepsSchema;

type Tried = Pick<ModelProbe, "error" | "callsTools" | "callsInParallel" | "keepsSchema">;

async function tryCalls(model: Model, signal: AbortSignal): Promise<Tried> {
  try {
    const { toolCalls } = await model.respond(request, signal);
    const calls = toolCalls.filter((call) => call.name === "add_numbers");
    return {
      error: null,
      callsTools: calls.length > 0,
      callsInParallel: calls.length > 1,
      keepsSchema: calls.length > 0 && calls.every(holdsTwoNumbers),
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "aborted") throw error;
    const nothing = { callsTools: false, callsInParallel: false, keepsSchema: false };
    return { error: error instanceof ToolsRefused ? null : error, ...nothing };
  }
}

/** What an endpoint tells of itself is a courtesy: its faults show in the real request. */
async function courtesy<T>(
  ask: ((signal: AbortSignal) => Promise<T | null>) | undefined,
  signal: AbortSignal,
): Promise<T | null> {
  try {
    return (await ask?.(signal)) ?? null;
  } catch (error) {
    if (error instanceof AppError && error.code !== "aborted") return null;
    throw error;
  }
}

function holdsTwoNumbers({ arguments: json }: ToolCall): boolean {
  const { a, b } = readLenientObject(json) ?? {};
  return typeof a === "number" && typeof b === "number";
}
