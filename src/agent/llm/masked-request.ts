import type { Masks, ScannedText } from "../../core/secrets/masks.ts";
import type { TextRange } from "../../core/secrets/ranges.ts";
import { untrustedRanges } from "../../core/text/fence.ts";
import { withStrings } from "../../core/text/json.ts";
import type { Message, ModelRequest, ToolDefinition } from "./model.ts";

/** A message or a definition with its texts scanned, and its latest masked form. */
interface Scanned<Item> {
  texts: readonly ScannedText[];
  known: number;
  masked: Item;
}

/** Masks the requests of one run. A message that was masked before is not scanned again. */
export interface Masking {
  readonly masks: Masks;
  request(request: ModelRequest): Promise<ModelRequest>;
}

/** A request with a mask for each secret. Scans everything first: a value that only the last message identifies is masked in the first one too. */
export function createMasking(masks: Masks): Masking {
  const messages = maskingOf(masks, textsOf, withTexts);
  /** Calls whose answers are words of people. */
  const wordCalls = new Set<string>();
  const tools = maskingOf(masks, textsOfTool, toolWithTexts);
  return {
    masks,
    async request(request) {
      for (const { id, name } of request.messages.flatMap(callsOf))
        if (name === "get_commit_messages") wordCalls.add(id);
      await messages.scan(request.messages, (message, text) => {
        if (message.role === "tool") return wordCalls.has(message.callId) || [];
        // Only our own messages have wrapped parts; elsewhere an author may have written something like them.
        return message.role === "user" ? untrustedRanges(text, isWords) : [];
      });
      await tools.scan(request.tools);
      return {
        ...request,
        messages: request.messages.map(messages.masked),
        tools: request.tools.map(tools.masked),
      };
    },
  };
}

const callsOf = (message: Message) => (message.role === "assistant" ? message.toolCalls : []);

/** Texts of people, not code: a value that they call a secret may be ordinary code elsewhere. */
const isWords = (source: string) =>
  /^(?:title|commit|linked issues|failed checks|check annotations|conversation|question|changed f|paths)/.test(
    source,
  );

function maskingOf<Item extends object>(
  masks: Masks,
  textsIn: (item: Item) => string[],
  put: (item: Item, texts: string[]) => Item,
) {
  const scanned = new WeakMap<Item, Scanned<Item>>();
  return {
    async scan(items: readonly Item[], wordsIn: (item: Item, text: string) => TextRange[] | true = () => []) {
      for (const item of items) {
        if (scanned.has(item)) continue;
        const texts: ScannedText[] = [];
        for (const text of textsIn(item)) texts.push(await masks.learn(text, wordsIn(item, text)));
        scanned.set(item, { texts, known: -1, masked: item });
      }
    },
    masked(item: Item): Item {
      const one = scanned.get(item);
      if (one === undefined) throw new Error("a text is masked before it was scanned");
      if (one.known !== masks.known) {
        one.masked = put(
          item,
          one.texts.map((text) => masks.mask(text)),
        );
        one.known = masks.known;
      }
      return one.masked;
    },
  };
}

function textsOf(message: Message): string[] {
  return [message.content, ...callsOf(message).map((call) => call.arguments)];
}

function withTexts(message: Message, [content = "", ...given]: string[]): Message {
  if (message.role !== "assistant") return { ...message, content };
  const toolCalls = message.toolCalls.map((call, at) => ({ ...call, arguments: given[at] ?? "" }));
  return { ...message, content, toolCalls };
}

/** A description may contain the commands of a repository. */
const textsOfTool = (tool: ToolDefinition) => [tool.description, ...stringsIn(tool.parameters)];

function toolWithTexts(tool: ToolDefinition, [description = "", ...strings]: string[]): ToolDefinition {
  const left = [...strings];
  const parameters = withStrings(tool.parameters, () => left.shift() ?? "");
  return { ...tool, description, parameters: parameters as Record<string, unknown> };
}

function stringsIn(value: unknown): string[] {
  const all: string[] = [];
  withStrings(value, (text) => {
    all.push(text);
    return text;
  });
  return all;
}
