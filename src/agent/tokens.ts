import type { Message, ToolDefinition } from "../llm/model.ts";

/** The rule of thumb for English and code. Other text needs more: the provider's own count corrects it. */
const CHARACTERS_PER_TOKEN = 4;
/** Roles, ids and separators around each message. */
const MESSAGE_OVERHEAD = 16;
/** A report outside of these is no correction but a server that counts something else. */
const MIN_FACTOR = 0.5;
const MAX_FACTOR = 4;

/** Estimates how many tokens text is for this model, ever better with each request. */
export interface TokenEstimator {
  /** Tokens of a request with these messages, tool definitions included. */
  request(messages: readonly Message[]): number;
  /** Tokens of one message. */
  message(message: Message): number;
  /** Tokens of the tool definitions, which every request carries. */
  readonly tools: number;
  /** Corrects the estimate by what the provider counted for a request with these messages. */
  learn(messages: readonly Message[], promptTokens: number): void;
}

/** How many tokens a model makes of what we guess to be one; loops of one run share it, so that each begins with what others learned. */
export interface Calibration {
  factor: number;
}

export function createTokenEstimator(
  tools: readonly ToolDefinition[],
  calibration: Calibration = { factor: 1 },
): TokenEstimator {
  const toolCharacters = tools.length === 0 ? 0 : JSON.stringify(tools).length;
  const tokens = (characters: number) => Math.ceil((characters / CHARACTERS_PER_TOKEN) * calibration.factor);
  return {
    request: (messages) => tokens(toolCharacters + charactersOf(messages)),
    message: (message) => tokens(characters(message)),
    get tools() {
      return tokens(toolCharacters);
    },
    learn(messages, promptTokens) {
      if (promptTokens <= 0) return;
      const guess = (toolCharacters + charactersOf(messages)) / CHARACTERS_PER_TOKEN;
      calibration.factor = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, promptTokens / guess));
    },
  };
}

const charactersOf = (messages: readonly Message[]) =>
  messages.reduce((sum, message) => sum + characters(message), 0);

function characters(message: Message): number {
  const calls = message.role === "assistant" ? message.toolCalls : [];
  const inCalls = calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length + MESSAGE_OVERHEAD,
    0,
  );
  return message.content.length + inCalls + MESSAGE_OVERHEAD;
}
