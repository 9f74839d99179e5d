import type { Definition } from "../code/source.ts";

const MAX_SHOWN_NAME = 60;

/** A name on one line. That of a test is a sentence, and anybody may write a long one. */
function shownName(name: string): string {
  const line = name.slice(0, MAX_SHOWN_NAME * 4).replace(/\s+/g, " ");
  return line.length > MAX_SHOWN_NAME ? `${line.slice(0, MAX_SHOWN_NAME)}…` : line;
}

/** `Parser.next`, `next`. */
export function fullName({ name, container }: Pick<Definition, "name" | "container">): string {
  return container === null ? shownName(name) : `${shownName(container)}.${shownName(name)}`;
}

/** A definition as somebody asks for it. */
export interface WantedName {
  /** The word by which it is searched. */
  word: string;
  /** The type that it is a member of; null when that was not said. */
  container: string | null;
  isName(name: string): boolean;
}

/** Reads `next`, `next()`, `Parser.next`, `Parser#next`, `parser::next`, `(*Parser).next`. Null when no name is in it. */
export function readWantedName(given: string): WantedName | null {
  const bare = given
    .trim()
    .replace(/^`+|`+$/g, "")
    .replace(/\([^()]*\)$/, "");
  const parts = bare.split(/::|->|[.#/\\]/).map((part) => part.replace(/^[(*&\s]+|[)\s]+$/g, ""));
  const named = parts.filter((part) => part !== "");
  const word = named.at(-1);
  if (word === undefined || /[\n\r\0]/.test(word)) return null;
  return {
    word,
    container: named.at(-2) ?? null,
    isName: (name) => name === word || name === bare || name === `#${word}`,
  };
}

/** Whether a definition is a member of the type that was asked for; of a path of names the last one counts. */
export function isMemberOf({ container }: Definition, wanted: string): boolean {
  return container !== null && container.split(/::|\./).at(-1) === wanted;
}
