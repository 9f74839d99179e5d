import fc from "fast-check";
import { micromark } from "micromark";
import { describe, expect, it } from "vitest";
import { writtenText } from "../../../src/core/text/written-text.ts";

describe("writtenText", () => {
  it.each([
    ["plain words", "One.\nTwo.", "One.\nTwo."],
    ["words around a quote", "Yes.\n\n> won't fix\n> really\n\nNo.", "Yes.\n\n\n\n\nNo."],
    ["the line below a quote", "> Is it?\nIt is.", "It is."],
    ["a list", "- one\n  two\n3. three", "- one\n  two\n3. three"],
    ["an indented line of a paragraph", "one\n    two", "one\n    two"],
    ["an indented paragraph of a list", "- one\n\n  two", "- one\n\n  two"],
    ["more than, in a line", "a > b", "a > b"],
    ["backticks that enclose nothing", "a ` b\n\nc ` d", "a ` b\n\nc ` d"],
    ["backticks of other lengths", "a `` b ` c", "a `` b ` c"],
    ["an escaped backtick", "\\`a` b", "\\`a` b"],
    ["three backticks with more behind them", "a\n```b``` c", "a\n  c"],
    ["text behind a comment", "<!-- a --> b", "b"],
    ["backticks on both sides of a line of white space", "a ` b\n \t\nc ` d", "a ` b\n\nc ` d"],
    ["backticks of two items", "- a ` b\n- c ` d", "- a ` b\n- c ` d"],
    ["a backtick behind a comment, and another below", "<!-- --> a ` b\nc ` d", "a ` b\nc ` d"],
    ["fewer than three tildes", "~ a\n\n~~ b", "~ a\n\n~~ b"],
    ["an indented paragraph of an item with two digits", "12. one\n\n    two", "12. one\n\n    two"],
    ["an indented paragraph of an item, behind a tab", "- one\n\n \ttwo", "- one\n\n \ttwo"],
    ["an item with four spaces", "-    one", "-    one"],
    ["lines with Windows' ends", "> a\r\nb\r\n", "b"],
  ])("writtenText holds %s", (_what, body, text) => {
    expect(writtenText(body).trim()).toBe(text);
  });

  it.each([
    ["a quote", "> hidden"],
    ["an indented quote", "   > hidden"],
    ["a quote in a list", "- > hidden"],
    ["a quote in a quote", "> > hidden"],
    ["a quote without a space", ">hidden"],
    ["code in a quote, which ends with it", "> ```\n> hidden\n\nseen"],
    ["a comment in a quote, which ends with it", "> <!--\n\nseen"],
    ["a fenced block", "```\nhidden\n```\nseen"],
    ["a fenced block with a language", "```ts hidden\nhidden\n```\nseen"],
    ["a fenced block of tildes", "~~~ hidden `x`\nhidden\n~~~\nseen"],
    ["a fenced block with a shorter fence inside", "````\n```\nhidden\n````\nseen"],
    ["a fenced block with another fence inside", "~~~\n```\nhidden\n~~~\nseen"],
    ["a fenced block with a fence and words inside", "```\n``` hidden\n```\nseen"],
    ["a fenced block with a comment inside", "```\n<!-- hidden\n```\nseen"],
    ["a fenced block right behind words", "seen\n```\nhidden"],
    ["a fenced block that never ends", "```\nhidden\n\nhidden"],
    ["a fenced block in a list", "- ```\n  hidden\n  ```\n- seen"],
    ["a fenced block in a list within a list", "- seen\n  - seen\n    ```\n    hidden\n    ```\n  seen"],
    ["a fenced block in a list, which ends with it", "- ```\n  hidden\nseen"],
    ["indented code", "    hidden\n\thidden\n\n    hidden\n\nseen"],
    ["indented code below words", "seen\n\n\thidden"],
    ["indented code in a list", "- seen\n\n      hidden"],
    ["indented code as an item", "-     hidden"],
    ["a fenced block in a list, over an empty line", "- ```\n  hidden\n\n  hidden\n  ```\n- seen"],
    ["a fenced block in a list, over a line of white space", "- ```\n  hidden\n \n  hidden\n  ```\n- seen"],
    ["a fenced block in a list that ends further to the right", "- ```\n  hidden\n     ```\n  seen"],
    ["a fenced block that ends with white space", "```\nhidden\n``` \t\nseen"],
    ["a fenced block with an indented fence inside", "```\nhidden\n    ```\nhidden\n```\nseen"],
    ["a fenced block between two backticks", "seen ` seen\n```\nhidden\n```\nseen ` seen"],
    ["indented code behind a list that has ended", "- seen\n\nseen\n\n     hidden"],
    ["indented code below a comment", "<!--\nhidden --> \n    hidden"],
    ["a quote in an item of an item", "- - > hidden"],
    ["a code span", "seen `hidden` seen"],
    ["a code span with backticks", "`` hidden ` hidden `` seen"],
    ["a code span over lines", "`hidden\nhidden` seen"],
    ["a code span behind a backslash", "`hidden\\` seen"],
    ["a code span with a comment inside", "`<!--` seen `hidden`"],
    ["a comment", "seen <!-- hidden --> seen"],
    ["a comment over empty lines", "<!-- hidden\n\nhidden --> seen"],
    ["a comment over empty lines that begins in a line", "seen <!-- hidden\n\n> hidden\n\n--> seen"],
    ["a comment with code inside", "<!-- `hidden --> seen `hidden`"],
    ["a comment with a fence inside", "<!--\n```\nhidden --> seen"],
    ["a comment below words", "seen\n<!-- hidden\n\nhidden -->\nseen"],
    ["a comment over indented lines", "<!-- hidden\n\n    hidden --> seen"],
    ["a comment over items of a list", "seen <!-- hidden\n- hidden --> seen"],
    ["a comment over a quote", "seen <!-- hidden\n> hidden --> seen"],
    ["a comment over a fence", "seen <!-- hidden\n```\nhidden --> seen\nseen"],
    ["a comment between two backticks", "seen ` seen\n<!-- hidden ` hidden --> seen"],
    ["a comment that never ends", "seen <!-- hidden\n\nhidden"],
    ["an empty comment", "<!--> seen <!---> seen"],
  ])("writtenText does not hold %s", (_what, body) => {
    const text = writtenText(body);
    expect(text).not.toContain("hidden");
    expect(text.match(/seen/g)?.length ?? 0).toBe(body.match(/seen/g)?.length ?? 0);
  });

  /** Words that CommonMark shows outside of quotes and code. */
  function shown(body: string): string[] {
    const html = micromark(body, { allowDangerousHtml: true })
      .replace(/<!--[\s\S]*?-->/g, "")
      .replace(/<pre><code[^>]*>[\s\S]*?<\/code><\/pre>|<code>[\s\S]*?<\/code>/g, " ");
    return html.replace(/<blockquote>[\s\S]*?<\/blockquote>/g, " ").match(/w\d+/g) ?? [];
  }

  it("writtenText is what CommonMark shows outside of quotes and code, however these are mixed", () => {
    const piece = fc.constantFrom(
      ...["```", "~~~", "    ", "\n", "\n\n", "- W", "1. W", "* > W\n\n", "`", "``", " ", "\\", "\t"],
      ...["W", "W", "W", "\n\n> W\n> W\n\n"],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
        let words = 0;
        const body = pieces.join("").replace(/W/g, () => `w${words++} `);
        expect(writtenText(body).match(/w\d+/g) ?? []).toEqual(shown(body));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["backticks of every length", Array.from({ length: 350 }, (_, at) => "`".repeat(at)).join(" ")],
    ["backticks of two lengths", "` ``".repeat(16_000)],
    ["one run of backticks", "`".repeat(65_000)],
    ["fences", "```\n``` x\n".repeat(6_000)],
    ["beginnings of comments", "<!-".repeat(20_000)],
    ["comments without an end", "<!-- ".repeat(13_000)],
    ["lists in lists", "- ".repeat(32_000)],
    ["lists in lists, and lines", `${"- ".repeat(10_000)}a\n${"a\n".repeat(20_000)}`],
    ["numbers", "1".repeat(65_000)],
    ["empty lines", "\n".repeat(65_000)],
    ["white space", `${" \t".repeat(32_000)}x`],
    ["backslashes", "\\".repeat(65_000)],
    ["more than anybody can post", "word `code` <!-- c -->\n".repeat(1_000_000)],
  ])("writtenText is found in %s without end", (_what, body) => {
    expect(writtenText(body).length).toBeLessThanOrEqual(65_536);
  });
});
