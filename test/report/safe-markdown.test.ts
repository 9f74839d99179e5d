import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMarker, parseMarker } from "../../src/core/ledger/marker.ts";
import { showHidden } from "../../src/core/text/escape-invisible.ts";
import { withoutCommands } from "../../src/core/text/inert-text.ts";
import { untrustedBlock, untrustedCode, untrustedLine } from "../../src/report/safe-markdown.ts";
import { liveIn, pageOf } from "../support/markdown-oracle.ts";
import { markdownPieces } from "../support/markdown-pieces.ts";

/** What must hold for every text whatsoever. */
const expectHarmless = (markdown: string) => expect(liveIn(markdown), JSON.stringify(markdown)).toEqual([]);

const block = (text: string) => untrustedBlock(text, 60_000);

const pieces = fc.constantFrom(...markdownPieces);
const hostile = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(""));

/** Texts of each property. */
const runs = process.env.HUNKWISE_LONG === "1" ? 10_000 : 400;

describe("The text of a model", () => {
  it.each(["\\://data", "$GH-\u200b", "$GH-\u200b1", "$www\u200b.a"])(
    "Neutralizing %j a second time changes nothing",
    (text) => {
      expect(block(block(text))).toBe(block(text));
    },
  );

  it("Neutralized text is harmless and stable, whatever it was", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const written = block(text);
        expectHarmless(written);
        expect(block(written)).toBe(written);
      }),
      { numRuns: 2 * runs },
    );
  });

  it("A neutralized phrase is harmless, and cannot reach beyond itself", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const phrase = untrustedLine(text);
        expect(untrustedLine(phrase)).toBe(phrase);
        expect(phrase).not.toContain("\n");
        const page = pageOf(`**a ${phrase} z**`);
        expect(page).toMatch(/^<p><strong>a /);
        expect(page).toMatch(/ z<\/strong><\/p>$/);
        expectHarmless(`x ${phrase} y`);
      }),
      { numRuns: runs },
    );
  });

  it("Neutralized text stays within its bytes and harmless when it is cut", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 40, max: 200 }), (text, bytes) => {
        const written = untrustedBlock(text, bytes);
        expect(Buffer.byteLength(written)).toBeLessThanOrEqual(bytes);
        expectHarmless(written);
      }),
      { numRuns: runs },
    );
  });

  it("Text as data has no end before its end", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(pageOf(`a ${untrustedCode(text)} z`)).toMatch(/^<p>a <code>[^<]*<\/code> z<\/p>$/);
      }),
      { numRuns: runs },
    );
  });

  it.each([
    ["a mention", "Ask @octocat.", "Ask @\u200boctocat."],
    ["an issue", "fixes #12, GH-3 and octo/shop#4", "fixes #\u200b12, GH-\u200b3 and octo/shop#\u200b4"],
    ["an escaped mention", "\\@octocat &#64;octocat", "@\u200boctocat \\&#\u200b64;octocat"],
    ["a link", "[docs](https://evil.test/?d=1).", "\\[docs](`https://evil.test/?d=1`)."],
    ["an image", "![x](https://evil.test/p.png)", "!\\[x](`https://evil.test/p.png`)"],
    ["a bare address", "See www.evil.test, or https://x.test.", "See `www.evil.test`, or `https://x.test`."],
    ["the beginning of an address", "http://_ www._", "http:/\u200b/_ www\u200b._"],
    ["HTML", "<img src=x> a < b", "\\<img src=x> a \\< b"],
    ["a comment", "a <!-- hidden --> b", "a \\<!-- hidden --> b"],
    [
      "a command of another bot",
      "/approve\n- /merge\n> /close",
      "/\u200bapprove\n- /\u200bmerge\n> /\u200bclose",
    ],
    ["a turned text", "a\u202eb", "a\\u{202E}b"],
    ["hidden letters", "a\u{e0041}\u{e0042}b `c\u200bd`", "a\\u{E0041}\\u{E0042}b `c\\u{200B}d`"],
    ["a commit", "Since abc1234, x@0123456789abcdef", "Since `abc1234`, x@\u200b`0123456789abcdef`"],
    [
      "a commit's whole name, whatever its digits are",
      `${"1".repeat(40)}, ${"a".repeat(40)} or ${"0".repeat(64)}`,
      `\`${"1".repeat(40)}\`, \`${"a".repeat(40)}\` or \`${"0".repeat(64)}\``,
    ],
    [
      "a name that commits look like, as a whole",
      "id 550e8400-e29b-41d4-a716-446655440000.",
      "id `550e8400-e29b-41d4-a716-446655440000`.",
    ],
    ["a formula", "$\\phantom{x}$ or $$", "`$`\\phantom{x}`$` or `$$`"],
    ["commands without a slash", "!merge\n.deploy", "!\u200bmerge\n.\u200bdeploy"],
    ["an escaped command", "\\!merge\n- \\!close", "\\!\u200bmerge\n- \\!\u200bclose"],
    [
      "a command in code, where bots read it as well",
      "```sh\n/approve\n/usr/bin/env x\n// @dependabot rebase, @Test\n```",
      "```sh\n/\u200bapprove\n/usr/bin/env x\n// @\u200bdependabot rebase, @Test\n```",
    ],
    ["a lone backtick", "it`s @eve", "it\\`s @\u200beve"],
    ["a table", "| a |\n|---|", "| a |\n|--\\-|"],
  ])("Neutralized text loses %s", (_name, text, written) => {
    expect(block(text)).toBe(written);
  });

  it.each([
    ["emphasis, headings and lists", "# Why\n\n- **first**\n  1. _second_\n\n> said"],
    ["emoji, and words that need a joiner", "👩‍👩‍👧 ⚠️ 1️⃣ می‌خواهم"],
    ["a code span with anything in it", "Use `@Injectable() // #12 <b> https://x.test [a](b)` here"],
    ["a code span of two backticks", "``a ` @b``"],
    ["a fenced block", "```ts\n@Injectable()\n// fixes #1 <img> https://x.test\n\\@ &amp;\n```"],
    [
      "words and numbers of the digits of commits",
      "A defaced facade of 1000000, 20261122 or 1732298400000 acceded.",
    ],
    ["what is ordinary", "a_b * c, 50 % & more: {x} = y; C:\\dir | d ~ e!"],
  ])("Neutralized text keeps %s", (_name, text) => {
    expect(block(text)).toBe(text);
  });

  it.each([
    [
      "text behind code in a list is no code",
      "- a\n  - b\n\n    ```ts\n    x\n    ```\n\n    Then `f<T>` or g<T>.\n  - c\n    more\n- d",
      "- a\n  - b\n\n```ts\nx\n```\n\nThen `f<T>` or g\\<T>.\n- c\n  more\n- d",
    ],
    [
      "lists go on behind code",
      "- a\n  - b\n    - c\n      ```\n      x\n      ```\n    - d\n      more\n  - e\n    - f",
      "- a\n  - b\n    - c\n```\nx\n```\n- d\n  more\n- e\n  - f",
    ],
    ["code begins where its list item does", "1. ```ts\n   x\n   ```\n2. b < c", "```ts\nx\n```\n2. b \\< c"],
    [
      "code in tabs is moved as a whole",
      "-\ta\n\n\t```go\n\tif x {\n\t\ty()\n\t}\n\t```\n\tb",
      "-\ta\n\n```go\nif x {\n\ty()\n}\n```\nb",
    ],
  ])("Neutralizing moves code to the first column: %s", (_name, text, written) => {
    expect(block(text)).toBe(written);
    expect(block(written)).toBe(written);
  });

  it("Neutralized text keeps code to the letter, except words to bots", () => {
    const code = fc
      .array(pieces, { minLength: 1, maxLength: 12 })
      .map((parts) =>
        parts
          .join("")
          .replace(/[\r\n`]/g, "")
          .replace(/<!--/g, "")
          // Not in the first column, where bots look for their commands.
          .replace(/^\s*\//, "x/")
          .toWellFormed(),
      )
      .map((text) => withoutCommands(showHidden(text)))
      .filter((text) => /\S/.test(text));
    fc.assert(
      fc.property(code, (text) => {
        expect(block(`a \`x${text}x\` b`)).toBe(`a \`x${text}x\` b`);
        expect(block(`a\n\`\`\`ts\n${text}\n\`\`\`\nb`)).toBe(`a\n\`\`\`ts\n${text}\n\`\`\`\nb`);
      }),
      { numRuns: runs },
    );
  });

  it("A block of code gets a longer fence than any inside, and an end", () => {
    expect(block("````\n```\ninner\n```\n````")).toBe("````\n```\ninner\n```\n````");
    expect(block("~~~py\n```\n~~~")).toBe("````py\n```\n````");
    expect(block("```js\nopen")).toBe("```js\nopen\n```");
  });

  it("A block of code begins in the first column, so that no list ends it early", () => {
    expect(block("- item\n  ```js\n  code\n@eve\n  ```")).toBe("- item\n```js\ncode\n@eve\n```");
  });

  it.each(["> ~~~mermaid", ">~~~suggestion", "- > ~~~~ math", "1. > - ~~~geojson"])(
    "Text opens no block of code with a fence that it does not close: %j",
    (text) => {
      expectHarmless(block(text));
      expect(block(text)).not.toMatch(/(?<!\\)~~/);
      expect(block(block(text))).toBe(block(text));
    },
  );

  it("A cut phrase ends without the joiner of an emoji", () => {
    const family = "\u{1f600}\u200d".repeat(100);
    for (let bytes = 20; bytes < 60; bytes++) {
      const phrase = untrustedLine(family, bytes);
      expect(phrase).toMatch(/\u{1f600}…$/u);
      expect(untrustedLine(phrase, 1_000)).toBe(phrase);
    }
  });

  it.each(["suggestion", "Suggestion", "mermaid", "math", "geojson", "stl", "of-tomorrow"])(
    "No block of code becomes something else on GitHub (%s)",
    (info) => {
      expect(block(`\`\`\`${info}\nx\n\`\`\``)).toBe("```\nx\n```");
    },
  );

  it("Neutralized text forges no marker, in prose or in code", () => {
    const marker = formatMarker({ kind: "review", head: "h", trigger: "event" });
    for (const text of [marker, `\`${marker}\``, `\`\`\`\n${marker}\n\`\`\``, `x\n\n${marker}`]) {
      expect(block(text)).not.toContain('<!-- hunkwise:review v1 {"head":"h","trigger":"event"} -->\n');
      expect(parseMarker(block(text))).toBeUndefined();
      expect(parseMarker(`${block(text)}\n`)).toBeUndefined();
    }
  });

  it("Cut text says how much is missing, and closes what was open", () => {
    const text = `\`\`\`js\n${"line\n".repeat(100)}\`\`\`\nend`;
    const cut = untrustedBlock(text, 200);
    expect(cut).toMatch(/^```js\nline\n(line\n)+```\n\n… \(\d+ more lines\)$/);
  });
});

describe("A quarter of a megabyte of adversarial text", () => {
  const size = 250_000;
  const repeat = (text: string) => text.repeat(Math.ceil(size / text.length));
  const rising = Array.from({ length: 700 }, (_, index) => "`".repeat(index + 1)).join(" ");

  // Quadratic work would take hours here; the test has no clock, it just has to end.
  it.each([
    ["openings of comments", repeat("<!--")],
    ["openings of markers", repeat("<!-- \n")],
    ["spaces before a marker", `<!--${repeat(" ")}`],
    ["backticks", repeat("`")],
    ["runs of backticks, each longer", rising],
    ["pairs of runs that do not meet", repeat("` `` ")],
    ["brackets", repeat("[")],
    ["backslashes", repeat("\\")],
    ["dropped backslashes", repeat("\\@")],
    ["beginnings of addresses", repeat("a://")],
    ["addresses that do not end", `http://${repeat(".")}`],
    ["www", repeat("www.")],
    ["dashes and bars", repeat("|-")],
    ["fences", repeat("```\n")],
    ["fences that do not match", repeat("```\n~~~~\n")],
    ["spaces", repeat(" ")],
    ["invisible characters", repeat("\u202e")],
  ])("Adversarial text is neutralized in one pass: %s", (_name, text) => {
    expect(Buffer.byteLength(untrustedBlock(text, 8 * size))).toBeLessThanOrEqual(8 * size);
    expect(Buffer.byteLength(untrustedBlock(text, 10_000))).toBeLessThanOrEqual(10_000);
    expect(untrustedLine(text).length).toBeLessThan(3_000);
  });
});
