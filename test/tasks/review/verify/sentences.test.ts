import fc from "fast-check";
import { expect, it } from "vitest";
import { corrected, sentencesOf } from "../../../../src/tasks/review/verify/sentences.ts";

const words = fc.array(
  fc.constantFrom(
    ..."a,B.,`c. D`,`,```,\n,\n\n,e.g. , ,?,- ,。,１２,~~~\n,x y,src/a.ts:4,\r\n,\u2028".split(","),
  ),
);
const texts = words.map((all) => all.join(""));

it("The sentences of any text join to the text, and without corrections it stays as it is", () => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(sentencesOf(text).join("")).toBe(text);
      expect(corrected(text, [])).toBe(text.replaceAll(/\n{3,}/g, "\n\n").trim() || null);
    }),
  );
});

it("A struck sentence takes nothing of another one with it", () => {
  fc.assert(
    fc.property(texts, fc.nat(5), (text, at) => {
      const all = sentencesOf(text);
      const left = all.filter((_, index) => index !== at).join("");
      const now = corrected(text, [{ sentence: at + 1, text: null }]);
      expect(now?.replaceAll(/\s/g, "") ?? "").toBe(left.replaceAll(/\s/g, ""));
    }),
  );
});

it("Code, wrapped lines and abbreviations do not end a sentence; a code block belongs to what announces it", () => {
  const text =
    "With `a. B` it fails, e.g. `Zero` (see `src/a.ts:42`). The old code\nreturned null. Do this:\n\n```ts\nfoo(); // A. B\n```\n\n- One.\n- Two";
  expect(sentencesOf(text).map((one) => one.trim())).toEqual([
    "With `a. B` it fails, e.g. `Zero` (see `src/a.ts:42`).",
    "The old code\nreturned null.",
    "Do this:\n\n```ts\nfoo(); // A. B\n```",
    "- One.",
    "- Two",
  ]);
});

it("A text of which every sentence is struck is none", () => {
  const all = [1, 2].map((sentence) => ({ sentence, text: null }));
  expect(corrected("One. Two.", all)).toBeNull();
});
