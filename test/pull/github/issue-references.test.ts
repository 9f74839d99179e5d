import { describe, expect, it } from "vitest";
import { issueReferences } from "../../../src/pull/github/references.ts";

const base = { owner: "octo", name: "shop.js", webUrl: "https://github.com" };
const named = (text: string) => issueReferences(text, base);

describe("Issues that a description names", () => {
  it.each([
    ["by number", "See #12.", [12]],
    ["by number in brackets", "Total is wrong (#12)", [12]],
    ["by number in a list", "- [ ] #12\n* #13", [12, 13]],
    ["with the short prefix", "GH-12 again", [12]],
    ["with the repository", "octo/shop.js#12", [12]],
    ["with the repository in another case", "Octo/Shop.JS#12", [12]],
    ["by address", "https://github.com/octo/shop.js/issues/12#issuecomment-5", [12]],
    ["by address of a pull request", "[that](https://github.com/octo/shop.js/pull/12)", [12]],
    ["twice", "#12, #12 and https://github.com/octo/shop.js/issues/12", [12]],
    ["in the first line behind Windows' line ends", "> no #1\r\n\r\nFixes #12\r\n", [12]],
  ])("The references in %s are found", (_, text, numbers) => {
    expect(named(text)).toEqual(numbers);
  });

  it.each(["close", "Closes", "closed", "fix", "FIXES", "fixed", "resolve", "resolves:", "Resolved"])(
    "References after `%s` come first",
    (word) => {
      expect(named(`After #3, ${word} #12`)).toEqual([12, 3]);
      expect(named(`After #3, ${word} https://github.com/octo/shop.js/issues/12`)).toEqual([12, 3]);
    },
  );

  it("A word that only ends like one that closes issues closes nothing", () => {
    expect(named("After #3, prefixes #12")).toEqual([3, 12]);
  });

  it.each([
    ["another repository's", "octo/other#12 https://github.com/octo/other/issues/12 me/shop.js#12"],
    ["another host's", "https://github.example.com/octo/shop.js/issues/12"],
    ["a repository's of a longer name", "https://github.com/octo/shop.jsx/issues/12"],
    ["a dot that is any character", "https://github.com/octo/shopxjs/issues/12 octo/shopxjs#12"],
    ["a color or an anchor", "#12ab, color:#123456f, https://example.com/page#12 https://example.com/#12"],
    ["a character by its code", "&#12;"],
    ["a number that no issue has", "#0 #12345678901"],
    ["a code span's", "`#12` and ``fixes ` #12``"],
    ["a code span's over two lines", "`fixes\n#12`"],
    ["a block's", "```\nfixes #12\n```"],
    ["a block's with a language and a longer fence", "~~~~ sh\nfixes #12\n~~~\n#13\n~~~~"],
    ["a block's that never ends", "text\n```\n#12\n\n#13"],
    ["a comment's", "<!-- Fixes #12\n\n or #13 --> done"],
    ["a comment's that never ends", "<!-- Fixes #12"],
    ["a quote's", "> Fixes #12\nand #13 too"],
  ])("The text %s has no references", (_, text) => {
    expect(named(text)).toEqual([]);
  });

  it.each([
    ["a block", "```\n#1\n```\n#12"],
    ["a block of tildes that holds backticks", "~~~\n```\n#1\n~~~\n#12"],
    ["code that looks like a block", "```#1``` #12"],
    ["a comment", "<!-- #1 --> #12"],
    ["a comment that a code span names", "`<!--` #12"],
    ["a backtick that begins no code", "a ` in a paragraph\n\n#12 ` more"],
    ["a quote", "> #1\n\n#12"],
  ])("References after %s are found", (_, text) => {
    expect(named(text)).toEqual([12]);
  });

  it("References are found in bounded time, whatever the text is", () => {
    const fences = Array.from({ length: 300 }, (_, n) => "`".repeat(n + 1)).join(" ");
    const texts = [
      "<!--".repeat(20_000),
      fences,
      "a/".repeat(40_000),
      "fixes ".repeat(20_000),
      "```\n".repeat(20_001),
    ];
    for (const text of texts) expect(named(`${text}\n\n`)).toEqual([]);
  });
});
