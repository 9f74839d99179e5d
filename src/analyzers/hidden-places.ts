import { setImmediate as nextTick } from "node:timers/promises";
import { grammarOf, loadAstGrep, type SgNode } from "../code/languages.ts";
import { isNestedTooDeep, isWorthParsing } from "../code/parse.ts";
import { extentOf, firstIndex } from "../code/tree.ts";
import type { AnalyzedFile } from "./analyzer.ts";

/** The kind of text at an index of a program. "comment" is only a comment that ends with its line; "text" is between tags. */
export type TextKind = "code" | "comment" | "block comment" | "string" | "text";

/** Nodes must be queried one by one: tens of thousands block the process for seconds. */
const mostInTree = 2_000;

/**
 * Looks up kinds of text in the syntax tree; null if there is no tree, or there are too many indices.
 *
 * @param wanted the indices to be looked up, in order
 */
export async function kindsOfText(
  { path, text }: Pick<AnalyzedFile, "path" | "text">,
  wanted: readonly number[],
): Promise<((index: number) => TextKind) | null> {
  const grammar = grammarOf(path);
  if (!grammar || wanted.length > mostInTree || !isWorthParsing(text) || isNestedTooDeep(text)) return null;
  const root = (await (await loadAstGrep()).parseAsync(grammar.dialect, text)).root();
  const known = new Map<number, TextKind>();
  const open: { node: SgNode; around: TextKind }[] = [{ node: root, around: "code" }];
  for (let next = open.pop(), count = 1; next; next = open.pop(), count++) {
    if (count % 100 === 0) await nextTick();
    const { from, to } = extentOf(next.node);
    const first = firstIndex(wanted, (index) => index >= from);
    const end = firstIndex(wanted, (index) => index >= to);
    if (first >= end) continue;
    const here = kindOf(next.node, text, from) ?? next.around;
    for (const index of wanted.slice(first, end)) known.set(index, here);
    // Nodes within are popped later, and are more precise.
    for (const node of next.node.children()) open.push({ node, around: here });
  }
  return (index) => known.get(index) ?? "code";
}

/** Includes the body of a macro, which the grammars of C do not parse. */
const literal =
  /string|heredoc|nowdoc|regex|(?:char(?:acter)?|rune)_literal|template_literal|symbol$|^(?:character|uninterpreted|preproc_arg)$/;
/** Code within a string. */
const inserted = /^(?:template_substitution|interpolation|interpolated_expression)$/;

/** Undefined for a node of the same kind of text as the one around it. */
function kindOf(node: SgNode, text: string, from: number): TextKind | undefined {
  const kind = String(node.kind());
  if (inserted.test(kind)) return "code";
  if (/comment|^hash_bang/.test(kind)) return text.startsWith("/*", from) ? "block comment" : "comment";
  if (/^(?:jsx_text|text)/.test(kind)) return "text";
  return literal.test(kind) ? "string" : undefined;
}
