import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { rulesFolder } from "../../src/analyzers/all-analyzers.ts";
import { RuleFile } from "../../src/analyzers/rule-file.ts";

const files = readdirSync(rulesFolder, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".yml"),
);

describe("the message of a rule", () => {
  it("has no line break within a paragraph, which GitHub would show", () => {
    const messages = files.map(
      (name) => RuleFile.parse(parse(readFileSync(join(rulesFolder, name), "utf8"))).message,
    );

    expect(messages.length).toBeGreaterThan(50);
    expect(messages.filter((message) => /[^\n]\n[^\n]/.test(message))).toEqual([]);
    expect(messages.some((message) => message.includes("\n\n"))).toBe(true);
  });
});
