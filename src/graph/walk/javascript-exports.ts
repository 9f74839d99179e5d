import { splitTop } from "../type-expression.ts";
import type { Context } from "./context.ts";
import { importedBy } from "./javascript-imports.ts";

const name = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
const exporting =
  /^(?:exports\s*=\s*)?(?:module\.exports|exports)(?:\.([\p{L}_$][\p{L}\p{N}_$]*))?\s*=(?!=)/u;
const chained = /^(?:module\.)?exports(?:\.[\p{L}_$][\p{L}\p{N}_$]*)?\s*=(?!=)\s*/u;

/** An object with more text holds data. */
const MAX_OBJECT = 20_000;
const MAX_MEMBERS = 500;

/** `module.exports = …`, `exports.name = …`: under which names a CommonJS module gives what it has. */
export function exportedBy(statement: string, line: number, context: Context): void {
  const head = exporting.exec(statement);
  if (!head) return;
  let value = statement.slice(head[0].length).trim();
  for (let next = chained.exec(value); next; next = chained.exec(value)) value = value.slice(next[0].length);
  const local = head[1] ?? "export=";
  if (head[1] === undefined && value.startsWith("{")) membersOf(value, "", line, context);
  else give(value, local, line, context);
}

/** What an object is made of by names: `{ a, b: c, ...d }`. Its functions are definitions of their own. */
export function objectOf(owner: string, value: string, line: number, context: Context): void {
  if (value.startsWith("{")) membersOf(value, `${owner}.`, line, context);
}

function membersOf(value: string, prefix: string, line: number, context: Context): void {
  const bare = value.replace(/\s*(?:as const|satisfies [\w.<>[\], ]+)?;?\s*$/, "");
  if (bare.length > MAX_OBJECT || !bare.endsWith("}")) return;
  const body = bare.slice(1, -1).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
  for (const one of splitTop(body, ",").slice(0, MAX_MEMBERS)) {
    const spread = /^\.\.\.\s*([\s\S]+)$/.exec(one)?.[1];
    const [, key = "", given = key] = /^([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::\s*([\s\S]+))?$/u.exec(one) ?? [];
    if (spread !== undefined) give(spread, `${prefix}*`, line, context);
    else if (key !== "") give(given, prefix + key, line, context);
  }
}

/** Notes what stands for a value where that is a name, or a module that is loaded there. */
function give(value: string, local: string, line: number, { notes }: Context): void {
  const specifier = value.length < 600 ? importedBy(value) : null;
  if (specifier !== null) notes.import({ specifier, imported: "*", local, line, again: true });
  else if (name.test(value)) notes.import({ specifier: "", imported: value, local, line, again: true });
}
