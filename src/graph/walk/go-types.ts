import type { TypeExpression } from "../type-expression.ts";

const builtin =
  /^(?:string|bool|error|byte|rune|any|int\d*|uint\d*|float\d+|complex\d+|uintptr|interface\s*\{\s*\}|struct\s*\{\s*\})$/;

/** A type as Go writes it. Of several results the first counts. */
export function typeOfGo(text: string): TypeExpression {
  let bare = text.trim();
  if (bare.startsWith("(")) bare = firstOf(bare.slice(1, bare.endsWith(")") ? -1 : undefined));
  bare = bare.replace(/^[*&\s]+/, "");
  const inner = /^(?:\[[^\]]{0,60}\]|map\[[^\]]{1,100}\]|(?:<-)?chan(?:<-)?\s)\s*(.+)$/s.exec(bare)?.[1];
  if (inner !== undefined) {
    const element = typeOfGo(inner);
    return element === "?" ? "?" : `${element}@`;
  }
  if (builtin.test(bare)) return ":builtin";
  const name = /^([\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)?)\s*(?:\[[\s\S]*\])?$/u.exec(bare)?.[1];
  return name === undefined || name === "func" ? "?" : `:${name.replace(".", "::")}`;
}

/** `name Type, err error` is Type; `Type, error` is Type as well. */
function firstOf(results: string): string {
  const [one = ""] = results.split(",");
  const words = one.trim().split(/\s+(?=[*\w[])/);
  return words.length === 2 && !/^(?:chan|map|func)\b/.test(words[0] ?? "") ? (words[1] ?? "") : one;
}
