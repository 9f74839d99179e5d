import type { SgNode } from "@ast-grep/napi";
import { raw } from "hono/html";
import { type Html, html } from "../../src/pages/html.ts";
import { grammarOf, loadAstGrep } from "../../src/repo/code/languages.ts";

interface Token {
  start: number;
  end: number;
  color: string;
}

const escaped = (text: string) => String(html`${text}`);

/** The lines of a source file as HTML, with GitHub's classes for syntax colors. */
export async function highlightLines(path: string, text: string): Promise<Html[]> {
  const grammar = grammarOf(path);
  const tokens: Token[] = [];
  if (grammar) collect((await loadAstGrep()).parse(grammar.dialect, text).root(), tokens);
  let at = 0;
  const pieces = tokens.map(({ start, end, color }) => {
    const before = escaped(text.slice(at, start));
    at = end;
    // Each line of a multi-line token gets its own element, so that the text can be split at line ends.
    const lines = text.slice(start, end).split("\n");
    return before + lines.map((line) => `<span class="${color}">${escaped(line)}</span>`).join("\n");
  });
  const written = pieces.join("") + escaped(text.slice(at));
  return written.split("\n").map((line) => raw(line));
}

function collect(node: SgNode, tokens: Token[]): void {
  const color = colorOf(node);
  if (color === undefined) {
    for (const child of node.children()) collect(child, tokens);
    return;
  }
  const { start, end } = node.range();
  tokens.push({ start: start.index, end: end.index, color });
}

const texts =
  /^(interpreted_|raw_)?string(_literal)?$|^(character|rune)_literal$|^string_(start|content|end)$/;
const constants = new Set([
  "true",
  "false",
  "nil",
  "null",
  "undefined",
  "none",
  "number",
  "integer",
  "float",
]);

/** Undefined for nodes without a color, or with colored children. */
function colorOf(node: SgNode): string | undefined {
  const kind = String(node.kind());
  if (/comment$/.test(kind)) return "pl-c";
  if (texts.test(kind) && !node.children().some((one) => one.kind() === "interpolation")) return "pl-s";
  if (!node.isLeaf()) return undefined;
  if (constants.has(kind) || /^(int|float|decimal)\w*_literal$/.test(kind)) return "pl-c1";
  if (!node.isNamed() && /^[a-z]+$/.test(kind)) return "pl-k";
  if (!node.isNamed() && /^[-+*/%=<>!&|?:]+$/.test(kind) && !/^[?:]$/.test(kind)) return "pl-c1";
  return namesFunction(node) ? "pl-en" : undefined;
}

const members = new Set(["member_expression", "selector_expression", "attribute"]);
const calls = new Set(["call_expression", "call", "method_invocation"]);
const declarations = new Set(["function_declaration", "function_definition", "method_declaration"]);

/** Declared here, or called: `name(`, `object.name(`. */
function namesFunction(node: SgNode): boolean {
  const parent = node.parent();
  if (parent === null || !node.isNamed()) return false;
  if (declarations.has(String(parent.kind()))) return parent.field("name")?.id() === node.id();
  const isMember = members.has(String(parent.kind()));
  if (isMember && parent.children().at(-1)?.id() !== node.id()) return false;
  const callee = isMember ? parent : node;
  const call = callee.parent();
  return call !== null && calls.has(String(call.kind())) && call.child(0)?.id() === callee.id();
}
