import { typeOfAnnotation } from "../type-expression.ts";
import type { Context } from "./context.ts";
import type { Reduced } from "./reduced-tree.ts";

/** Types that the comment above a function gives: of parameters by their names, and of what it answers. */
export interface DocTypes {
  parameters: ReadonlyMap<string, string>;
  answer: string | null;
}

const none: DocTypes = { parameters: new Map(), answer: null };
/** What may stand between the comment and the function: `export const run = async`. */
const between =
  /\*\/\s*(?:[\p{L}_$][\p{L}\p{N}_$.]*\s+){0,4}(?:[\p{L}_$][\p{L}\p{N}_$.]*\s*=\s*(?:async\s*)?)?$/u;
const MAX_COMMENT = 3_000;
const tag =
  /@(param|arg|argument|returns?)\s*\{((?:[^{}]|\{[^{}]{0,200}\}){1,300})\}\s*\[?([\p{L}_$][\p{L}\p{N}_$]*)?/gu;
const loaded = /import\(\s*["']([^"'\n]{1,300})["']\s*\)/g;

/** Reads `@param {Type} name` and `@returns {Type}`, the types of JavaScript. */
export function docTypesOf({ from, line }: Reduced, { source, notes }: Context): DocTypes {
  const gap = between.exec(source.slice(Math.max(0, from - 200), from));
  if (!gap) return none;
  const end = from - gap[0].length;
  const start = source.lastIndexOf("/**", end);
  if (start < 0 || end - start > MAX_COMMENT || source.slice(start, end).includes("*/")) return none;
  const parameters = new Map<string, string>();
  let answer: string | null = null;
  for (const [, word = "", written = "", name] of source.slice(start, end).matchAll(tag)) {
    const plain = written
      .replace(/^[?!]|=$/g, "")
      .replace(loaded, (_, specifier: string) => notes.module(specifier, line).slice(1));
    const type = typeOfAnnotation(plain);
    if (type === "?") continue;
    if (word.startsWith("return")) answer = type;
    else if (name !== undefined) parameters.set(name, type);
  }
  return { parameters, answer };
}
