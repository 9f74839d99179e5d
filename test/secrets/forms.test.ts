import { describe, expect, it } from "vitest";
import { isLiteral, secretFormsIn } from "../../src/secrets/forms.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

const random = seeded(17);

describe("a value that may be masked without a look at it", () => {
  const told = (path: string, line: string, value: string) => {
    const text = `x: 1\n${line}\ny: 2\n`;
    const start = text.indexOf(value);
    return isLiteral(path, text, { start, end: start + value.length });
  };
  const value = "o0.Zk3Qx.v8Xt9.pL2w.Rk4n";

  it.each([...["a.yml", "config/prod.yaml", ".env", ".env.prod", "prod.env", "a.ini", "a.properties"]])(
    "is all of a line of data: %s",
    (path) => {
      expect(told(path, `  token: ${value}`, value)).toBe(true);
      expect(told(path, `export TOKEN=${value} # of ours`, value)).toBe(true);
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
  ])("is in quotation marks, and all between them, in any other file: %s", (path) => {
    expect(told(path, `token = ${value}`, value)).toBe(false);
    expect(told(path, `token = "${value}"`, value)).toBe(true);
    expect(told(path, `token = "Bearer ${value}"`, value)).toBe(true);
    expect(told(path, `run = "token=${value} node x"`, value)).toBe(false);
  });

  it("is anywhere in prose, and is an element of XML", () => {
    expect(told("a.md", `The token=${value} is old.`, value)).toBe(true);
    expect(told("a.xml", `<token>${value}</token>`, value)).toBe(true);
  });
});

describe("a search for the values of names", () => {
  it.each(["token=", "token=Ab1xQ9", "secret=password:Kx9", "password=aB3xK9zQ", `token${" ".repeat(39)},`])(
    "reads each character once, however many names stand on a line: %s",
    (part) => {
      const text = part.repeat(70_000 / part.length);
      secretFormsIn(text);
      const before = process.cpuUsage();
      secretFormsIn(text);
      // Some milliseconds; each name's value on its own took half a second.
      expect(process.cpuUsage(before).user).toBeLessThan(150_000);
    },
  );

  it("takes a quoted value to its end, with all its signs", () => {
    const secret = writeOut("{base62:12}&{base62:6},{base62:4}$", random);
    for (const text of [`password = "${secret}";`, JSON.stringify({ a: `password: '${secret}'` })]) {
      const [found] = secretFormsIn(text);
      expect(text.slice(found?.start, found?.end)).toBe(secret);
    }
  });
});
