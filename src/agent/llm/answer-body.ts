import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject, readStrict } from "./lenient-json.ts";

/* Bodies of answers: JSON, or a stream of events, which some gateways send unasked. */

/** A body that is none: the same request may be answered the next time. The message continues "The answer ...". */
export class NoBody extends Error {}

/** Characters of JSON, or of one line of a stream. No model writes as many in one answer. */
const MAX_CHARACTERS = 2_000_000;

/** Puts the events of a stream together to the same answer without a stream. */
export interface Joiner {
  take(event: Record<string, unknown>): void;
  /** The answer; null if its end is missing. */
  whole(): Record<string, unknown> | null;
}

/** The lines of a body, as they arrive. A longer one than any answer is its last. */
async function* linesOf({ body }: Response): AsyncGenerator<string[]> {
  let rest = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    yield lines;
    // Pieces that have arrived are read without a pause in between.
    await nextTurn();
    if (rest.length > MAX_CHARACTERS) break;
  }
  yield [rest];
}

/** The beginning of a body as text; the rest is not read. */
export async function readBeginning(response: Response, most: number): Promise<string> {
  let text = "";
  for await (const lines of linesOf(response)) {
    text += lines.map((line) => `${line}\n`).join("");
    if (text.length >= most) break;
  }
  return text.slice(0, most);
}

/** JSON, the answer of a stream, or text that is neither. Rejects with `NoBody` if its end is missing, with `tooMuch` if it is too long. */
export async function readBody(response: Response, joiner: Joiner, tooMuch: () => Error): Promise<unknown> {
  const stream = createEventReader(joiner);
  let text = "";
  let isStream: boolean | undefined;
  for await (const lines of linesOf(response)) {
    for (const line of lines) {
      if (line.trim() !== "") isStream ??= /^(data|event|id|retry)?:/.test(line);
      if (isStream) stream.take(line);
      else text += `${line}\n`;
    }
    if (text.length > MAX_CHARACTERS) throw tooMuch();
  }
  if (isStream) return stream.end();
  if (text.trim() === "") throw new NoBody("was empty");
  const value = readStrict(text);
  if (value === undefined && /^\s*[{[]/.test(text)) throw cut();
  return value === undefined ? text : value;
}

const cut = () => new NoBody("was cut off or is not JSON");

/** Reads the lines of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html. */
function createEventReader(joiner: Joiner) {
  let data = "";
  function join(written: string): boolean {
    const event = readStrict(written);
    if (isObject(event)) joiner.take(event);
    return isObject(event);
  }
  function take(line: string): void {
    if (line.startsWith("data:")) {
      const given = line.slice("data:".length).trim();
      // Some servers leave out the empty line after an event.
      if (given !== "[DONE]" && (data !== "" || !join(given))) data += `${given}\n`;
      if (data.length > MAX_CHARACTERS) throw cut();
    } else if (line === "" && data !== "") {
      if (!join(data)) throw cut();
      data = "";
    }
  }
  return {
    take,
    end() {
      take("");
      const whole = joiner.whole();
      if (!whole) throw cut();
      return whole;
    },
  };
}

/** Texts that each piece repeats as a whole. */
const repeated = new Set(["id", "type", "role", "name", "format", "index"]);

/** A message with the next piece of it: texts grow, and entries of lists are found by their index. */
function grown(before: unknown, piece: unknown, key = ""): unknown {
  if (piece === null || piece === undefined || (repeated.has(key) && before)) return before ?? piece;
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  if (Array.isArray(before) && Array.isArray(piece)) return piece.reduce(withEntry, before);
  if (Array.isArray(piece)) return piece.reduce(withEntry, []);
  if (!isObject(before) || !isObject(piece)) return piece;
  const members = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(piece)) members.set(name, grown(members.get(name), value, name));
  return Object.fromEntries(members);
}

/** More than the calls that an answer may have. */
const MAX_ENTRIES = 2_001;

/** Some servers send whole calls, all of them with the same index (Gemini) or with none. */
function withEntry(entries: unknown[], piece: unknown): unknown[] {
  if (entries.length >= MAX_ENTRIES) return entries;
  const at = entries.findLastIndex((one) => isObject(one) && isObject(piece) && one.index === piece.index);
  const entry = entries[at];
  if (!isObject(entry) || !isObject(piece)) return [...entries, piece];
  const isOther = [piece.id, entry.id].every(Boolean) && piece.id !== entry.id;
  const isWhole = piece.index === undefined && isObject(piece.function) && Boolean(piece.function.name);
  const isOtherKind = Boolean(piece.type) && piece.type !== entry.type;
  if (isOther || isWhole || isOtherKind) return [...entries, piece];
  entries[at] = grown(entry, piece);
  return entries;
}

export function joinChunks(): Joiner {
  const fields = new Map<string, unknown>();
  const choices = new Map<unknown, Record<string, unknown>>();
  return {
    take({ choices: chunks, ...others }) {
      for (const name of ["usage", "error", "prompt_filter_results"])
        if (others[name] !== undefined && others[name] !== null) fields.set(name, others[name]);
      for (const chunk of Array.isArray(chunks) ? chunks.filter(isObject) : []) {
        const { index = 0, delta, message, finish_reason: reason, error } = chunk;
        const choice = choices.get(index);
        choices.set(index, {
          message: grown(choice?.message, delta ?? message),
          finish_reason: reason ?? choice?.finish_reason,
          error: error ?? choice?.error,
        });
      }
    },
    whole() {
      const all = [...choices.values()];
      const isCut = all.length === 0 || all.some((one) => typeof one.finish_reason !== "string");
      return isCut && !fields.has("error") && all.every(({ error }) => error === undefined)
        ? null
        : { choices: all, ...Object.fromEntries(fields) };
    },
  };
}

export function joinEvents(): Joiner {
  let message: Record<string, unknown> = {};
  const blocks = new Map<unknown, Record<string, unknown>>();
  return {
    take({ type, index, delta, usage, error, message: begun, content_block: block }) {
      const piece = isObject(delta) ? delta : {};
      if (type === "error") message = { type, error };
      else if (type === "message_start" && isObject(begun)) message = begun;
      else if (type === "message_delta") message = grown(message, { ...piece, usage }) as typeof message;
      else if (type === "content_block_start" && isObject(block)) blocks.set(index, block);
      else if (type === "content_block_delta" && blocks.has(index))
        blocks.set(index, grown(blocks.get(index), { ...piece, type: null }) as typeof message);
    },
    whole() {
      if (message.type === "error") return message;
      const content = [...blocks.values()].map(withInput);
      return typeof message.stop_reason === "string" ? { ...message, content } : null;
    },
  };
}

/** A call whose input came in pieces. One that is not complete has no input, as in an answer without a stream. */
function withInput({ partial_json: json, ...block }: Record<string, unknown>): Record<string, unknown> {
  if (typeof json !== "string" || json === "") return block;
  const input = readStrict(json);
  return { ...block, input: isObject(input) ? input : {} };
}
