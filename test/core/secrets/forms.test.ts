import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLiteral, secretForms, secretFormsIn } from "../../../src/core/secrets/forms.ts";
import { writeOut } from "../../support/secret-corpus.ts";
import { seeded } from "../../support/seeded.ts";

const random = seeded(17);

describe("isLiteral", () => {
  const told = (path: string, line: string, value: string) => {
    const text = `x: 1\n${line}\ny: 2\n`;
    const start = text.indexOf(value);
    return isLiteral(path, text, { start, end: start + value.length });
  };
  const value = "o0.Zk3Qx.v8Xt9.pL2w.Rk4n";

  it.each([...["a.yml", "config/prod.yaml", ".env", ".env.prod", "prod.env", "a.ini", "a.properties"]])(
    "A literal secret is all of a line of data: %s",
    (path) => {
      expect(told(path, `  token: ${value}`, value)).toBe(true);
      expect(told(path, `export TOKEN=${value} # of ours`, value)).toBe(!path.endsWith("ml"));
      expect(told(path, `cat token>${value}`, value)).toBe(false);
      expect(told(path, `- run: token=${value}`, value)).toBe(false);
      expect(told(path, `TOKEN=${value} node x`, value)).toBe(false);
    },
  );

  it.each([
    ...[
      "src/env.ts",
      "config.env.js",
      "json.py",
      "yaml.go",
      "conf.rb",
      ".env.ts",
      "CMakeLists.txt",
      "a.json",
    ],
  ])("A literal secret is in quotation marks, and all between them, in any other file: %s", (path) => {
    expect(told(path, `token = ${value}`, value)).toBe(false);
    expect(told(path, `token = "${value}"`, value)).toBe(true);
    expect(told(path, `token = "Bearer ${value}"`, value)).toBe(true);
    expect(told(path, `run = "token=${value} node x"`, value)).toBe(false);
  });

  it("A literal secret is anywhere in prose, and is an element of XML", () => {
    expect(told("a.md", `The token=${value} is old.`, value)).toBe(true);
    expect(told("a.xml", `<token>${value}</token>`, value)).toBe(true);
  });
});

describe("a search for the values of names", () => {
  it.each(["token=", "token=Ab1xQ9", "secret=password:Kx9", "password=aB3xK9zQ", `token${" ".repeat(39)},`])(
    "A search for values reads each character once: %s",
    (part) => {
      const text = part.repeat(70_000 / part.length);
      secretFormsIn(text);
      const before = process.cpuUsage();
      secretFormsIn(text);
      // Some milliseconds; each name's value on its own took half a second.
      expect(process.cpuUsage(before).user).toBeLessThan(150_000);
    },
  );

  it("A search for the values of names takes a quoted value to its end, with all its signs", () => {
    const secret = writeOut("{base62:12}&{base62:6},{base62:4}$x", random);
    for (const text of [`password = "${secret}";`, JSON.stringify({ a: `password: '${secret}'` })]) {
      const [found] = secretFormsIn(text);
      expect(text.slice(found?.start, found?.end)).toBe(secret);
    }
    expect(secretFormsIn('password = "aB3dE5fG7h$K9mN2pQ4";').length).toBe(1);
    expect(secretFormsIn('password = "aB3dE5fG7h$(random)";')).toEqual([]);
  });
});

describe("the forms of issuers", () => {
  const corpus: { kinds: Record<string, { forms: string[]; contexts?: string[] }> } = JSON.parse(
    readFileSync(new URL("../../../fixtures/secrets/true.json", import.meta.url), "utf8"),
  );

  it("The forms of issuers find 99.9 % or more of random tokens, although some hold parts of words", () => {
    const forms = Object.values(corpus.kinds).flatMap((kind) => (kind.contexts ? [] : kind.forms));
    const tokens = forms.flatMap((one) => Array.from({ length: 250 }, () => writeOut(one, random)));
    const missed = tokens.filter((token) => secretFormsIn(token.replaceAll(/[«»]/g, "")).length === 0);
    expect(tokens.length).toBeGreaterThan(25_000);
    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(tokens.length / 1000);
  });

  /** A pattern for texts that its own one matches: without what must not be around, and with what must be. */
  const textOf = ({ source }: RegExp) => {
    let plain = source;
    for (let before = ""; before !== plain; ) {
      before = plain;
      plain = plain.replace(/\(\?<?!(?:\\.|\[(?:\\.|[^\]\\])*\]|\(\?:[^()]*\)|[^()\\[])*\)/, "");
    }
    return new RegExp(plain.replaceAll(/\(\?<?=/g, "(?:").replaceAll("\\b", ""));
  };

  // Keys of AWS and Mailchimp have no mark of their own, and an address has one that each of its texts begins with.
  const marked = secretForms.filter(({ hints }) => !["aws", "chimp", "://"].includes(hints[0] ?? ""));
  it.each(marked.map((one) => [one.kind, one] as const))(
    "The forms of issuers are looked for in every text that fits one of their alternatives: %s",
    (_, { pattern, hints }) => {
      const isHinted = (text: string) => hints.some((hint) => text.toLowerCase().includes(hint));
      fc.assert(fc.property(fc.stringMatching(textOf(pattern)), isHinted), { seed: 17, numRuns: 60 });
    },
  );
});
