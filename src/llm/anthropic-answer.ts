import { z } from "zod";
import {
  finishReason,
  MAX_CALLS,
  MAX_EXTRAS,
  MAX_WRITTEN,
  type ParsedTurn,
  parseAnswer,
  tooMuch,
  withUniqueIds,
} from "./answer.ts";
import { anthropic } from "./anthropic-client.ts";
import type { HideKey } from "./endpoint.ts";
import { isObject } from "./lenient-json.ts";
import type { Extras } from "./model.ts";
import { isFiltered } from "./refusal.ts";

/** Blocks of an answer; those of other kinds are none that a review asks for. */
const Text = z.looseObject({ type: z.literal("text"), text: z.string() });
const ToolUse = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
});
const Thinking = z.looseObject({ type: z.enum(["thinking", "redacted_thinking"]) });
const Other = z.looseObject({ type: z.string() });
const Block = z.union([Text, ToolUse, Thinking, Other]);

const Count = z.number().min(0).nullish().catch(null);
const Answer = z.looseObject({
  // Counted before any is read.
  content: z.array(z.unknown()).max(MAX_CALLS).pipe(z.array(Block)),
  stop_reason: z.string().nullish().catch(null),
  usage: z
    .looseObject({
      input_tokens: Count,
      output_tokens: Count,
      cache_creation_input_tokens: Count,
      cache_read_input_tokens: Count,
    })
    .nullish()
    .catch(null),
});

/** A turn with the tokens that were written to the cache, which are part of its prompt and cost more. */
export interface ClaudeTurn extends ParsedTurn {
  writtenTokens: number;
}

/**
 * A block of a turn, for its later replay: thinking as it was, and for others their place. Texts and calls are in the turn itself, where
 * secrets are masked; only thinking is signed.
 */
export const Replayed = z.union([
  Thinking,
  z.object({ type: z.literal("text"), length: z.int().min(1) }),
  z.object({ type: z.literal("tool_use") }),
]);
export type Replayed = z.infer<typeof Replayed>;

/** The blocks of a turn's extras; null if they are not those of this API. */
export function blocksIn(extras: Extras | undefined): Replayed[] | null {
  const blocks = z.array(Replayed).safeParse(extras?.blocks);
  return blocks.success ? blocks.data : null;
}

/**
 * Reads the body of an answer. Throws `model_failed` with the beginning of the body if it is none. `takenIds` are the call ids of the
 * conversation so far; usage is estimated from `promptCharacters` if the service reports none.
 */
export function readAnswer(
  raw: unknown,
  takenIds: ReadonlySet<string>,
  promptCharacters: number,
  hideKey: HideKey,
): ClaudeTurn {
  const { content: blocks, stop_reason, usage } = parseAnswer(Answer, raw, anthropic, hideKey);
  const length = JSON.stringify(blocks).length;
  if (length > MAX_WRITTEN) throw tooMuch(`${length} characters`, anthropic);
  const isRefused = isFiltered(stop_reason ?? "");
  const uses = isRefused ? [] : blocks.filter((block) => is(ToolUse, block));
  const toolCalls = withUniqueIds(
    uses.map(({ id, name, input }) => ({
      id,
      name,
      arguments: JSON.stringify(isObject(input) ? input : {}),
    })),
    takenIds,
  );
  const content = blocks.map((block) => (is(Text, block) ? block.text : "")).join("");
  const extras = isRefused ? undefined : extrasOf(blocks);
  const [fresh, read, wrote] = [
    usage?.input_tokens,
    usage?.cache_read_input_tokens,
    usage?.cache_creation_input_tokens,
  ];
  const promptTokens = (fresh ?? 0) + (read ?? 0) + (wrote ?? 0) || Math.ceil(promptCharacters / 4);
  return {
    ...{ content, toolCalls, finishReason: finishReason(stop_reason, toolCalls.length > 0) },
    usage: {
      promptTokens,
      cachedTokens: Math.min(read ?? 0, promptTokens),
      completionTokens: usage?.output_tokens ?? Math.ceil(length / 4),
    },
    writtenTokens: wrote ?? 0,
    ...(extras ? { extras } : {}),
  };
}

const is = <Schema extends z.ZodType>(schema: Schema, value: unknown): value is z.infer<Schema> =>
  schema.safeParse(value).success;

/**
 * The thinking of a turn and its place between texts and calls: the service requires it unchanged in a tool loop
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks). Undefined if there is none, or if the
 * turn ends with it, because it was cut off: no later request may have such a turn.
 */
function extrasOf(blocks: readonly z.infer<typeof Block>[]): Extras | undefined {
  // No request may have a text without a letter.
  const last = blocks.findLast((block) => !is(Text, block) || block.text.trim() !== "");
  const shown = blocks.filter((block) => !is(Text, block) || block.text !== "");
  if (!shown.some((block) => is(Thinking, block)) || last === undefined || is(Thinking, last))
    return undefined;
  const replayed = shown.flatMap((block): Replayed[] => {
    if (is(Thinking, block)) return [block];
    if (is(Text, block)) return [{ type: "text", length: block.text.length }];
    return is(ToolUse, block) ? [{ type: "tool_use" }] : [];
  });
  const extras = { blocks: replayed };
  return JSON.stringify(extras).length <= MAX_EXTRAS ? extras : undefined;
}
