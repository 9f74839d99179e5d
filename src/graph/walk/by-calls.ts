import type { Source } from "../../code/source.ts";
import type { ImportFact, Walked } from "../facts.ts";

const ownObject = /^(?:this|self|Self|cls|@|super)$/;
const plainName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/**
 * What a file says where nobody knows the scopes of its language: calls and imports. A name that stands alone may be one of
 * this file's definitions; what belongs to an object is known where that is the own one, or a name that looks like a type.
 */
export function walkedByCalls(source: Source, text: string): Walked {
  const lines = text === "" ? 0 : text.split("\n").length;
  const declared = new Map<string, number>();
  for (const { name, start, container } of source.definitions)
    if (container === null && !declared.has(name)) declared.set(name, start);
  const references = source.calls(1, lines).map(({ name, line, receiver }): Walked["references"][number] => {
    if (receiver !== null) {
      const owner = source.enclosing(line).findLast(({ container }) => container !== null)?.container ?? null;
      return { name, line, role: "call", via: "member", hint: hintOf(receiver, owner), declared: null };
    }
    const own = declared.get(name);
    return {
      name,
      line,
      role: "call",
      via: own === undefined ? "free" : "own",
      hint: null,
      declared: own ?? null,
    };
  });
  return { references, imports: importsOf(source), types: [], supers: [], fields: [] };
}

function hintOf(receiver: string, owner: string | null): string {
  const bare = receiver.replace(/^new\s+/, "").replace(/\(.*\)$/s, "");
  if (ownObject.test(bare)) return owner === null ? "?" : `:${owner}`;
  const last = bare.split(/::|\.|->|\\/).at(-1) ?? "";
  return plainName.test(last) && /^\p{Lu}/u.test(last) ? `=${last}` : "?";
}

/** The last part of what is imported is most often the name that is used. */
function importsOf({ imports }: Source): ImportFact[] {
  return imports.map(({ specifier, line }) => {
    const last = specifier.split(/[/\\.]|::/).at(-1) ?? "";
    const local = plainName.test(last) ? last : "";
    return { specifier, imported: local === "" ? "" : "*", local, line, again: false };
  });
}
