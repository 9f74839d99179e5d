import fc from "fast-check";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";
import { describe, expect, it } from "vitest";
import { openingOf } from "../../src/webhooks/opening.ts";

const firstLine = (body: string) => openingOf(body)?.line ?? null;

describe("the first line that a person wrote", () => {
  it.each([
    ["is the first one", "word", "word"],
    ["stands behind blank lines", "\n \n\t\nword", "word"],
    ["stands behind a quote and a blank line", "> one\n> two\n\nword", "word"],
    ["stands behind nested quotes", "> > one\n>> two\n>\n\nword", "word"],
    ["stands behind a quote of a comment", "> <!-- a -->\n\nword", "word"],
    ["stands behind a fence", "```js\ncode\n```\nword", "word"],
    ["stands behind a longer fence with a shorter one in it", "````\n```\n````\nword", "word"],
    ["stands behind a fence of tildes", "~~~ `a`\n```\n~~~~~\nword", "word"],
    ["stands behind a fence that follows a quote", "> one\n```\ncode\n```\nword", "word"],
    ["stands behind indented code", "    code\n\tcode\nword", "word"],
    ["stands behind an HTML comment", "<!-- a -->\nword", "word"],
    ["stands behind two comments on a line", "<!-- a --> <!-- b -->\nword", "word"],
    ["stands behind a comment of several lines", "<!--\na\n\n> b\n```\n-->\nword", "word"],
    ["stands behind an empty comment", "<!-->\nword", "word"],
    ["stands behind all of them", "\n> a\n\n<!-- b -->\n```\nc\n```\n\n    d\nword", "word"],
    ["ends at any line break", "word\rmore", "word"],
    ["is given without its indentation", "   word  ", "word  "],
    ["may be inline code, which nobody reads as a command", "```code```", "```code```"],
    ["may hold a space that is none", "\u00a0word", "\u00a0word"],
  ])("%s", (_, body, line) => expect(firstLine(body)).toBe(line));

  it.each([
    ["goes on a quote without its sign", "> one\nword"],
    ["goes on a quote, indented", "> one\n    word"],
    ["is quoted", "> word"],
    ["stands in a fence", "```\nword\n```"],
    ["stands behind a fence that is not closed", "```\ncode\n\nword"],
    ["stands behind a fence that other marks do not close", "````\n```\n~~~~\n```` x\n    ````\nword"],
    ["stands behind a fence that a space which is none keeps open", "```\n```\u00a0\nword"],
    ["is indented as code", "    word"],
    ["is indented by a space and a tab", " \tword"],
    ["stands in a comment", "<!--\nword\n-->"],
    ["stands behind a comment that is not closed", "<!-- a\n\nword"],
    ["stands behind a second comment that is not closed", "<!-- a --> <!-- b\nword\n"],
    ["stands in a comment that a quote leaves open", "> <!-- a\n\nword"],
    ["stands in a fence within a comment that a quote leaves open", "> <!-- a\n```\n-->\nword\n```"],
    ["shares its line with the end of a comment", "<!-- a\n--> word"],
    ["is nowhere", ""],
    ["is beyond what is looked at", `${"\n".repeat(20_000)}word`],
  ])("is not told when it %s", (_, body) => expect(firstLine(body)).toBeNull());

  it("comes with what follows it", () => {
    expect(openingOf("> a\n\none\r\n two\n\n> three")).toEqual({ line: "one", rest: " two\n\n> three" });
  });
});

/** What a reader sees of Markdown as text of the writer: no comment, no quote, no code. */
function shownOf(markdown: string): string {
  const html = micromark(markdown, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
    allowDangerousHtml: true,
  });
  const visible = html
    .replace(/<!--(?:>|->|[\s\S]*?(?:-->|--!>|$))/g, "")
    .replace(/<pre>[\s\S]*?<\/pre>/g, "");
  let depth = 0;
  return visible
    .split(/(<\/?blockquote>)/)
    .filter((part) => {
      if (part === "<blockquote>") depth += 1;
      if (part === "</blockquote>") depth -= 1;
      return depth === 0;
    })
    .join("")
    .replace(/<code>[\s\S]*?<\/code>/g, "");
}

describe("any comment", () => {
  const hiding = fc.constantFrom(
    ...[
      "",
      " ",
      "> ",
      ">",
      "> > ",
      "   > ",
      "    ",
      "\t",
      "```",
      "````",
      "~~~",
      "```js",
      "   ```",
      "    ```",
    ],
    ...[
      "<!--",
      "-->",
      "<!-- a -->",
      "<!-- a --> <!-- b",
      "--> <!--",
      "> <!--",
      "> -->",
      "<!-->",
      "<!--->",
      "> ```",
    ],
    ...[
      "a",
      "- a",
      "1. a",
      "# a",
      "---",
      "  ",
      "- ",
      "  ```",
      "> a",
      "> # a",
      "``` `a` ```",
      "`",
      "> - a",
      "\\",
    ],
  );
  const marked = fc.constantFrom(
    "WORD",
    "  WORD",
    "    WORD",
    "> WORD",
    "--> WORD",
    "``` WORD",
    "WORD -->",
    "`WORD`",
  );
  const lineBreak = fc.constantFrom("\n", "\r\n", "\r", "\n\n");
  const comment = fc
    .array(
      fc.tuple(fc.oneof({ weight: 4, arbitrary: hiding }, { weight: 1, arbitrary: marked }), lineBreak),
      {
        maxLength: 9,
      },
    )
    .map((parts) => `${parts.flat().join("")}`);

  it("shows the line that it is said to begin with as its writer's own text", () => {
    let found = 0;
    fc.assert(
      fc.property(comment, marked, (before, last) => {
        const body = before.replaceAll("WORD", "other") + last;
        const line = firstLine(body);
        if (line === null || !line.startsWith("WORD")) return;
        found += 1;
        expect(shownOf(body)).toContain("WORD");
      }),
      { numRuns: 4_000 },
    );
    expect(found).toBeGreaterThan(50);
  });

  it.each([
    ["backticks", "`"],
    ["tildes", "~"],
    ["comments that begin", "<!--"],
    ["quotes", ">"],
    ["fences that begin and end", "```\n```\n"],
    ["quotes and blank lines", "> a\n\n"],
    ["comments", "<!-- a -->\n"],
    ["white space", " \t"],
  ])("of 64 kB of %s is looked through once", (_, part) => {
    const body = part.repeat(65_536 / part.length);
    // With a second look at each line, this would take minutes.
    for (let round = 0; round < 50; round += 1)
      expect(openingOf(`${body}\nword`)?.line ?? null).not.toBe("word");
  });
});
