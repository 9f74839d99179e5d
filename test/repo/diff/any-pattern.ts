import fc from "fast-check";

const names = ["a b", ..."a b ab aab a.ts .a B é [a] a* !a #a {a,b} a\\b".split(" ")];

const part = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "ab", "*", "**", "?", "*.ts", "a*", "*b", "a?b") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...["a b", "a\\ "],
      ..."[ab] [!a]* [a-c]b [^b] []a] [a-] [[:alpha:]]* [[:nope:]] [a [ [\\]]".split(" "),
      ..."\\* \\a a\\* {a,b} !a #a \\!a \\#a *** a**b **a .*".split(" "),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom("a", "b", "*", "?", "**", "[ab]", "[!b]", "."), { minLength: 1, maxLength: 6 })
      .map((signs) => signs.join("")),
  },
);

/** A pattern of gitignore, sound or not, without the name of a file that is not there. */
export const anyPattern = fc
  .tuple(
    fc.constantFrom("", "", "!"),
    fc.constantFrom("", "", "/"),
    fc.array(part, { minLength: 1, maxLength: 4 }),
    fc.constantFrom("", "", "/", " ", "/**", "/*"),
  )
  .map(([no, start, parts, end]) => `${no}${start}${parts.join("/")}${end}`);

/** A path relative to a root. */
export const anyPath = fc
  .array(fc.constantFrom(...names), { minLength: 1, maxLength: 5 })
  .map((segments) => segments.join("/"));
