import { type Lang, parse, type SgNode } from "@ast-grep/napi";

/** A test as its file writes it down. */
export interface WrittenTest {
  /** Its own title, with the placeholders of `each` in it. */
  title: string;
  /** The titles of its groups and its own, with blanks between, as the reports of vitest join them. */
  fullName: string;
  /** What it says of being run, for itself and its groups: "it.runIf(long)". */
  modifiers: string[];
}

/** The tests that a file holds, in order. A title that is no text in the source counts as "%s". */
export function writtenTests(source: string): WrittenTest[] {
  const tests: WrittenTest[] = [];
  const walk = (node: SgNode, groups: readonly Call[]): void => {
    const call = callOf(node);
    if (call?.what === "test") {
      const all = [...groups, call];
      tests.push({
        title: call.title,
        fullName: all.map(({ title }) => title).join(" "),
        modifiers: all.map(({ callee }) => callee),
      });
      return;
    }
    for (const child of node.children()) walk(child, call ? [...groups, call] : groups);
  };
  walk(parse("TypeScript" as Lang, source).root(), []);
  return tests;
}

interface Call {
  what: "group" | "test";
  title: string;
  callee: string;
}

function callOf(node: SgNode): Call | undefined {
  if (node.kind() !== "call_expression") return;
  const callee = node.field("function")?.text() ?? "";
  const word = /^(describe|it|test)\b(?!:)/.exec(callee)?.[1];
  const [first, ...others] =
    node
      .field("arguments")
      ?.children()
      .filter((one) => one.isNamed()) ?? [];
  // `it.each([...])` and `it.runIf(isLong)` are calls too, whose result is called with the title and what to do.
  if (!word || !first || others.length === 0) return;
  return { what: word === "describe" ? "group" : "test", title: textOf(first), callee };
}

function textOf(node: SgNode): string {
  if (node.kind() === "template_string")
    return node
      .text()
      .slice(1, -1)
      .replace(/\$\{[^}]*\}/g, "%s");
  if (node.kind() !== "string") return "%s";
  return node.text().slice(1, -1).replace(/\\(.)/g, "$1");
}

/** Whether nobody runs it, be it that it says so or that only the long tests have it. */
export function isLeftOut({ modifiers }: WrittenTest): boolean {
  return modifiers.some((one) => /\.(?:skip|todo)\b|\.(?:runIf|skipIf)\([^)]*\b(?:is)?long\b/i.test(one));
}

const placeholder = /%[sdifjop#]|\$[\w.]+/;
/** Characters that have to be the same where a placeholder stands for the others. */
const enough = 8;

/** Whether the words may be part of the test's full name, whatever its placeholders stand for. */
export function mayBeNamed({ fullName }: WrittenTest, words: string): boolean {
  if (fullName.includes(words)) return true;
  const pieces = fullName.split(placeholder);
  return pieces.length > 1 && pieces.some((piece) => overlap(piece.trim(), words) >= enough);
}

/** How much of a piece stands in the words: all of it, or its end at their beginning, or its beginning at their end. */
function overlap(piece: string, words: string): number {
  if (words.includes(piece)) return piece.length;
  for (let length = Math.min(piece.length, words.length); length > 0; length -= 1)
    if (words.startsWith(piece.slice(-length)) || words.endsWith(piece.slice(0, length))) return length;
  return 0;
}
