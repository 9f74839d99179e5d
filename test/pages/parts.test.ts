import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { address, linksTo, money, short, span } from "../../src/pages/parts.ts";
import { searchFor } from "../../src/pages/reviews.ts";
import { style } from "../../src/pages/style.ts";

it.each([
  ["#12", { pull: 12 }],
  ["12", { pull: 12 }],
  ["octo/shop", { repository: "octo/shop" }],
  ["octo/shop#12", { repository: "octo/shop", pull: 12 }],
  ["#1234567", { pull: 1_234_567 }],
  ["1234567", { head: "1234567" }],
  ["ABCDEF0123", { head: "abcdef0123" }],
  ["abcdef", { login: "abcdef" }],
  ["@ann", { login: "ann" }],
  ["dependabot[bot]", { login: "dependabot[bot]" }],
  ["", {}],
])("A search for %j is understood", (q, search) => expect(searchFor(q)).toEqual(search));

it("Spans of time are shown in their two largest units", () => {
  const second = 1_000;
  expect(
    [0, 400, 59 * second, 60 * second, 200 * second, 7_500 * second, 86_400 * second, 97_200 * second].map(
      span,
    ),
  ).toEqual(["0 s", "0 s", "59 s", "1 min", "3 min 20 s", "2 h 5 min", "1 d", "1 d 3 h"]);
  expect(span(-5)).toBe("0 s");
  expect(span(null)).toBe("");
});

it("Sums of money say that some turns have no price", () => {
  expect([money(0, 0), money(0, 3), money(0.0042, 0), money(0.061, 0), money(12.5, 1)]).toEqual([
    ...["$0", "no price", "$0.0042", "$0.06", "$12.50 + unpriced"],
  ]);
});

it("Counts are shortened to fit into a table", () => {
  expect([0, 999, 1_000, 12_345, 999_499, 999_500, 2_345_678].map(short)).toEqual([
    "0",
    "999",
    "1.0k",
    "12k",
    "999k",
    "1.0M",
    "2.3M",
  ]);
});

it("A link to GitHub stays on GitHub, whatever a repository is called", () => {
  const links = linksTo("https://github.com");
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1 }),
      fc.string({ unit: "grapheme", minLength: 1 }),
      (owner, name) => {
        const url = new URL(links.pull({ owner, name }, 7));
        expect(url.origin).toBe("https://github.com");
        expect(url.search + url.hash).toBe("");
      },
    ),
  );
});

it("A link of a record counts only if it is one of GitHub's", () => {
  const { own } = linksTo("https://github.com");
  expect(own("https://github.com/o/n/pull/1#discussion_r1")).toBe(
    "https://github.com/o/n/pull/1#discussion_r1",
  );
  for (const url of [
    null,
    "javascript:alert(1)",
    "https://github.com.evil.example/",
    "//github.com/",
    "https://github.com@evil.example/",
  ])
    expect(own(url)).toBeNull();
});

it("A link has only the parameters that say something", () => {
  expect(address("/x", { a: "", b: null, c: undefined })).toBe("/x");
  expect(address("/x", { a: "1&2", b: 3 })).toBe("/x?a=1%262&b=3");
});

/** The relative luminance of a color (WCAG 2). */
function luminance(hex: string): number {
  const digits =
    hex.length === 4 ? Array.from(hex.slice(1), (digit) => digit + digit) : (hex.slice(1).match(/../g) ?? []);
  const [red = 0, green = 0, blue = 0] = digits.map((pair) => {
    const value = Number.parseInt(pair, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe("the style sheet", () => {
  const palettes = Array.from(style.matchAll(/:root\{([^}]*--ground[^}]*)\}/g), ([, rules = ""]) =>
    Object.fromEntries(
      Array.from(rules.matchAll(/--([\w-]+):(#[0-9a-f]+)/g), ([, name = "", value = ""]) => [name, value]),
    ),
  ).filter((palette) => "good" in palette);
  const pairs = [
    ...["text", "dim", "link", "good", "bad", "warn", "busy", "calm"].flatMap((name) => [
      [name, "ground"],
      [name, "raised"],
    ]),
    ...["good", "bad", "warn", "busy", "calm"].map((name) => [name, `${name}-ground`]),
    ["text", "warn-ground"],
    ["text", "calm-ground"],
  ];

  it("The style sheet has enough contrast between every text and its ground, light and dark", () => {
    expect(palettes).toHaveLength(2);
    for (const palette of palettes)
      for (const [text = "", ground = ""] of pairs) {
        const [dark = 0, light = 0] = [
          luminance(palette[text] ?? ""),
          luminance(palette[ground] ?? ""),
        ].toSorted((a, b) => a - b);
        expect((light + 0.05) / (dark + 0.05), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
  });

  it("The style sheet loads nothing from elsewhere", () => {
    expect(style).not.toMatch(/url\(|@import|expression\(/);
  });
});
