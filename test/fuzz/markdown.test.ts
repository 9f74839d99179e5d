import { describe, expect, it } from "vitest";
import { untrustedBlock, untrustedCode, untrustedLine } from "../../src/report/safe-markdown.ts";
import { FUZZ_TIMEOUT_MS, fuzz, textOf } from "../support/fuzz.ts";
import { liveIn, pageOf } from "../support/markdown-oracle.ts";
import { markdownPieces } from "../support/markdown-pieces.ts";

const values = textOf(markdownPieces);
const sizeOf = (text: string) => text.length;

/** What the oracle reads in a moment: of some texts it takes as long as the square of their length. */
const mostRead = 1_500;
const isRead = (markdown: string) => markdown.length <= mostRead;

describe("the Markdown renderer", () => {
  it(
    "The Markdown renderer leaves nothing live in any text, in linear time, and is idempotent",
    () => {
      fuzz({
        ...{ values, sizeOf, share: 0.5 },
        run: (text) => untrustedBlock(text, 1_000_000),
        check(written) {
          expect(untrustedBlock(written, 1_000_000)).toBe(written);
          if (isRead(written)) expect(liveIn(written)).toEqual([]);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    "The Markdown renderer keeps a phrase on one line, wherever it is cut",
    () => {
      fuzz({
        ...{ values, sizeOf, share: 0.3 },
        run: (text) => untrustedLine(text),
        check(phrase) {
          expect(untrustedLine(phrase, 100_000)).toBe(phrase);
          if (!isRead(phrase)) return;
          expect(liveIn(`x ${phrase} y`)).toEqual([]);
          expect(pageOf(`**a ${phrase} z**`)).toMatch(/^<p><strong>a .* z<\/strong><\/p>$/s);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    "The Markdown renderer shows data as code that ends where the data ends",
    () => {
      fuzz({
        ...{ values, sizeOf, share: 0.2 },
        run: untrustedCode,
        check(code) {
          if (isRead(code)) expect(pageOf(`a ${code} z`)).toMatch(/^<p>a <code>[^<]*<\/code> z<\/p>$/);
        },
      });
    },
    FUZZ_TIMEOUT_MS,
  );
});
