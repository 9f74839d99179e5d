import type { Masking } from "../llm/masked-request.ts";
import type { Message, ToolCall } from "../llm/model.ts";
import type { Masks } from "../secrets/masks.ts";
import type { AnyTool } from "../tools/tool.ts";

const WITHOUT_IT =
  "Change the lines around it with edit_file and leave its line as it is, or have the program read the value from its environment.";

/** Arguments that say again what stands in the repository, and that a tool looks up there. All else is the model's own text. */
const quoted = new Set(["quote", "old_string", "path", "file_path", "directory"]);
/** What is looked up nowhere, and published as it is. */
const notLookedUp = new Set(["evidence"]);

/** What must not hold a mask, and what a model can do instead. */
const refusals: Partial<Record<AnyTool["kind"], Record<string, string>>> = {
  change: {
    content: WITHOUT_IT,
    new_string: WITHOUT_IT,
    path: "Leave that file to a person.",
    source_path: "Leave that file to a person.",
    destination_path: "Leave that file to a person.",
  },
  // Programs are told what to search for where every user of the machine can see it.
  read: { pattern: "Search for the name that the value is given to." },
};

export type GivenCall = { arguments: unknown; note: string | null } | { refused: string };

/** A call with values in place of masks where a tool looks for them, or why it cannot be made. */
export async function unmaskCall(
  call: ToolCall,
  tool: AnyTool,
  conversation: readonly Message[],
  { masks, request }: Masking,
): Promise<GivenCall> {
  const asItIs = { arguments: call.arguments, note: null };
  const given = parsed(call.arguments);
  // JSON may spell any character out.
  const plain = given === undefined ? call.arguments : JSON.stringify(given);
  if (!masks.looksMasked(plain)) return asItIs;
  // A turn that is on record was asked for by another process: which masks it saw is known once they are made again.
  await request({ messages: conversation, tools: [], maxOutputTokens: 0 });
  if (!masks.holdsMask(plain)) return asItIs;
  if (given === undefined) return { refused: NOT_JSON };
  for (const [argument, instead] of Object.entries(refusals[tool.kind] ?? {}))
    if (holds(masks, given[argument])) return { refused: `${argument} holds a masked secret. ${instead}` };
  const { suggestion, ...kept } = given;
  if (!holds(masks, suggestion)) return { arguments: unmasked(given, masks), note: null };
  return { arguments: unmasked(kept, masks), note: NO_SUGGESTION };
}

const NOT_JSON = "the arguments hold a masked secret and are not valid JSON; send one JSON object";

const NO_SUGGESTION = "The suggestion was left out: it holds a masked secret.";

const holds = (masks: Masks, value: unknown) => typeof value === "string" && masks.holdsMask(value);

function unmasked(value: unknown, masks: Masks): unknown {
  if (Array.isArray(value)) return value.map((item) => unmasked(item, masks));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    if (notLookedUp.has(key)) return [key, inner];
    if (typeof inner !== "string") return [key, unmasked(inner, masks)];
    return [key, quoted.has(key) ? masks.unmask(inner) : inner];
  });
  return Object.fromEntries(entries);
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
