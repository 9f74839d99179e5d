import { setImmediate as nextTick } from "node:timers/promises";
import { grammarOf, loadAstGrep, type SgNode } from "../code/languages.ts";
import { isNestedTooDeep } from "../code/parse.ts";
import { extentOf, firstIndex } from "../code/tree.ts";
import type { AnalyzedFile } from "./analyzer.ts";

/** The kind of text at an index of a program. "comment" is only a comment that ends with its line; "text" is between tags. */
export type TextKind = "code" | "comment" | "block comment" | "string" | "text";

export const prose = /\.(?:md|mdx|markdown|rst|adoc|txt|html?|tex|org)$/i;
export const translated = /\.(?:po|pot|xlf|xliff|arb|strings|resx|ftl|srt|vtt|csv|tsv)$/i;
/** Paths of texts in one language: `locales/fa.json`, `values-iw/strings.xml`. They are data, which forms no names. */
export const byLanguage =
  /(?:^|\/)(?:_?locales?|i18n|l10n|lang|translations?)\/.*\.(?:json|ya?ml|properties|toml|xml|ini)$|\/values-[\w-]+\/[^/]*\.xml$/i;
/** Recordings of terminals, and snapshots of what a program wrote to one. */
export const recorded = /\.(?:cast|ans|ansi|snap)$/i;

/** Each takes some queries of the tree, which last microseconds; a larger tree takes too much memory. */
const mostInTree = 10_000;
const mostCharacters = 600_000;

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
  const isLarge = wanted.length > mostInTree || text.length > mostCharacters;
  if (!grammar || isLarge || isNestedTooDeep(text)) return null;
  const root = (await (await loadAstGrep()).parseAsync(grammar.dialect, text)).root();
  const known = new Map<number, TextKind>();
  const open: { node: SgNode; around: TextKind }[] = [{ node: root, around: "code" }];
  let count = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const { from, to } = extentOf(next.node);
    const end = firstIndex(wanted, (index) => index >= to);
    const here = kindOf(next.node, text, from) ?? next.around;
    let first = firstIndex(wanted, (index) => index >= from);
    for (const index of wanted.slice(first, end)) known.set(index, here);
    // Nodes within are popped later, and are more precise.
    for (let [at, behind] = [0, from]; first < end; at++) {
      if (++count % 100 === 0) await nextTick();
      const index = wanted[first] ?? to;
      at = childBehind(next.node, index, at, at + index - behind);
      const node = next.node.child(at);
      if (!node) break;
      behind = extentOf(node).to;
      open.push({ node, around: here });
      first = firstIndex(wanted, (other) => other >= behind);
    }
  }
  return (index) => known.get(index) ?? "code";
}

/** The number of the first child, from `low` to `high`, that ends behind an index. A list of all lasts a second for a long array. */
function childBehind(node: SgNode, index: number, low: number, high: number): number {
  if (low >= high) return low;
  const middle = (low + high) >> 1;
  const child = node.child(middle);
  return !child || extentOf(child).to > index
    ? childBehind(node, index, low, middle)
    : childBehind(node, index, middle + 1, high);
}

/** The kinds of text of prose: what is in the scripts of a page counts as strings. */
export function kindsOfProse(text: string): (index: number) => TextKind {
  const tags = [...text.matchAll(/(?<!`)<script\b|<\/script\b/gi)];
  const before = (index: number) => tags[firstIndex(tags, (tag) => tag.index > index) - 1]?.[0] ?? "</";
  return (index) => (before(index).startsWith("</") ? "text" : "string");
}

/** Includes the body of a macro, which the grammars of C do not parse. */
const literal =
  /string|heredoc|nowdoc|regex|(?:char(?:acter)?|rune)_literal|template_literal|symbol$|^(?:character|uninterpreted|preproc_arg)$/;
/** Code within a string, also if its parser does not understand it. */
const inserted =
  /^(?:template_substitution|(?:string_)?interpolation|interpolated_identifier|\w*variable_name|ERROR)$|(?<!string)_expression$/;

/** Undefined for a node of the same kind of text as the one around it. */
function kindOf(node: SgNode, text: string, from: number): TextKind | undefined {
  const kind = String(node.kind());
  if (inserted.test(kind)) return "code";
  if (/comment|^hash_bang/.test(kind)) return text.startsWith("/*", from) ? "block comment" : "comment";
  if (/^(?:jsx_text|text)/.test(kind)) return "text";
  return literal.test(kind) ? "string" : undefined;
}
