import { ts } from "@ts-morph/common";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlainSnapshot } from "../../src/diff/snapshot.ts";

/** Written by Vitest for text with backticks, a dollar with braces, and backslashes. */
const real = String.raw`// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html

exports[~renders \~a\~ \${b} \\ c 1~] = ~
"line
with \~ticks\~ and \${x} and \\n and $ { $$ and /x\\\\\\\\\~/"
~;
`.replaceAll("~", "`");
const hole = `\${evil()}`;
const snapshotOf = (value: string) => `exports[\`a\`] = \`${value}\`;`;

/** What the syntax tree holds beside assignments of a template without a hole to an element of `exports`. */
const otherStatements = (text: string) =>
  ts.createSourceFile("a.js", text, ts.ScriptTarget.Latest, true).statements.filter((statement) => {
    if (!ts.isExpressionStatement(statement) || !ts.isBinaryExpression(statement.expression)) return true;
    const { left, operatorToken, right } = statement.expression;
    const isString = ts.isNoSubstitutionTemplateLiteral(right) && operatorToken.getText() === "=";
    if (!isString || !ts.isElementAccessExpression(left)) return true;
    return (
      left.expression.getText() !== "exports" || !ts.isNoSubstitutionTemplateLiteral(left.argumentExpression)
    );
  });

/** What the text does beside assigning strings if it runs as in Jest. Text that does not parse does nothing. */
function effectsOf(text: string): unknown[] {
  const effects: unknown[] = [];
  const note = (...effect: unknown[]) => effects.push(effect) > 0;
  const set = (_: object, name: unknown, value: unknown) => typeof value === "string" || note(name, value);
  try {
    const run = new Function("exports", "evil", text);
    effects.push(...otherStatements(text));
    run(new Proxy({}, { set, get: note }), note);
  } catch (error) {
    if (!(error instanceof SyntaxError)) note(error);
  }
  return effects;
}

describe("a snapshot", () => {
  it.each([
    ["of Vitest", real],
    ["with the line ends of Windows", real.replaceAll("\n", "\r\n")],
    ["with a byte order mark", `\uFEFF${real}`],
    ["that ends with a comment", "// Jest Snapshot v1"],
    ["with escaped holes", snapshotOf(`\\${hole} $\\{evil()} \u2028`)],
    ["of a megabyte", `${snapshotOf("\\\\ $ x".repeat(2e5))}\n`.repeat(2)],
  ])("%s is plain", (_what, text) => {
    expect(isPlainSnapshot(text)).toBe(true);
    expect(effectsOf(text)).toEqual([]);
  });

  it.each([
    ["a statement", `${real}evil();`],
    ["a statement in a comment after U+000D", "// a\revil()\n"],
    ["a statement in a comment after U+2028", "// a\u2028evil()\n"],
    ["a statement in a comment after U+2029", "// a\u2029evil()\n"],
    ["a hole", snapshotOf(hole)],
    ["a hole after two backslashes", snapshotOf(`\\\\${hole}`)],
    ["a hole after a dollar", snapshotOf(`$${hole}`)],
    ["a hole in a name", `exports[\`${hole}\`] = \`a\`;`],
    ["a value that is called", "exports[`a`] = `b`\n`c`;"],
    ["a value without an end", "exports[`a`] = `b\\`;"],
    ["a comment of another kind", "/* a */"],
    ["another object", "module.exports[`a`] = `b`;"],
  ])("with %s is not plain", (_what, text) => expect(isPlainSnapshot(text)).toBe(false));

  it("that is plain does nothing but assign strings", () => {
    const fragment = fc.constantFrom(
      ...["exports[`", "`] = `", "`;", "`", "\\", "\\\\", "\\`", "\\${", "${", "$", "{", "}", "evil()", " "],
      ...[
        "//",
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "\u2029",
        "\\u",
        "\\x0",
        "\\0",
        "\uFEFF",
        "/*",
        "*/",
        "<!--",
        "\n-->",
      ],
    );
    const some = fc.array(fragment, { maxLength: 8 }).map((parts) => parts.join(""));
    // Random fragments are seldom plain, but often in a value or a comment.
    const statement = fc.tuple(some, some).map(([name, value]) => `exports[\`${name}\`] = \`${value}\`;`);
    const line = fc.oneof(
      statement,
      some,
      some.map((comment) => `//${comment}\n`),
    );
    let plain = 0;
    const property = fc.property(fc.array(line, { maxLength: 3 }), (lines) => {
      if (!isPlainSnapshot(lines.join(""))) return;
      plain++;
      expect(effectsOf(lines.join(""))).toEqual([]);
    });
    fc.assert(property, { numRuns: 3000 });
    expect(plain).toBeGreaterThan(300);
  });
});
