import { stripTypeScriptTypes } from "node:module";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { checkSuggestion } from "../../../src/tasks/anchor/suggestion/check-suggestion.ts";
import { type GeneratedCase, generatedCase } from "./suggestion-arbitrary.ts";

const long = process.env.HUNKWISE_LONG === "1";
const count = long ? 40_000 : 1_000;

/** The file as it is when somebody takes the suggestion; null when none is offered. */
async function taken({ sample, lines, start, end, suggestion }: GeneratedCase): Promise<string[] | null> {
  const checked = await checkSuggestion({ path: sample.path, lines, start, end, suggestion });
  if (!checked.ok) return null;
  const replacement = checked.suggestion === "" ? [] : checked.suggestion.split("\n");
  return [...lines.slice(0, start - 1), ...replacement, ...lines.slice(end)];
}

/** Whether somebody who takes it has another file than the one that was meant, or one that its language refuses. */
function isCorrupt({ sample, expected }: GeneratedCase, file: readonly string[]): boolean {
  if (expected === null) return true;
  const { name, isIndented } = sample.language;
  const seen =
    isIndented && name !== "YAML"
      ? inBlocks
      : (lines: readonly string[]) => filled(lines).map((line) => line.trim());
  if (name === "YAML" && !isDeepStrictEqual(parseYaml(file.join("\n")), parseYaml(expected.join("\n"))))
    return true;
  return seen(file).join("\n") !== seen(expected).join("\n") || refuses(name, file.join("\n"));
}

const filled = (lines: readonly string[]) => lines.filter((line) => line.trim() !== "");

/** The lines with the number of blocks around each; where indentation means something, that is what it means. */
function inBlocks(lines: readonly string[]): string[] {
  const widths: number[] = [];
  let brackets = 0;
  return filled(lines).map((line) => {
    const isInside = brackets > 0;
    const code = line.replace(/"(?:\\.|[^"\\])*"/g, "");
    brackets += (code.match(/[[({]/g)?.length ?? 0) - (code.match(/[\])}]/g)?.length ?? 0);
    if (isInside) return line.trim();
    const width = line.search(/\S/);
    while ((widths.at(-1) ?? -1) >= width) widths.pop();
    widths.push(width);
    return `${widths.length} ${line.trim()}`;
  });
}

function refuses(language: string, text: string): boolean {
  try {
    if (language === "JSON") JSON.parse(text);
    if (language === "TypeScript") stripTypeScriptTypes(text, { mode: "transform" });
    return false;
  } catch {
    return true;
  }
}

class Tally {
  readonly #counts = new Map<string, { passed: number; all: number }>();

  add(name: string, passed: boolean): void {
    const count = this.#counts.get(name) ?? { passed: 0, all: 0 };
    this.#counts.set(name, { passed: count.passed + Number(passed), all: count.all + 1 });
  }

  share(): number {
    const counts = [...this.#counts.values()];
    return counts.reduce((sum, one) => sum + one.passed, 0) / counts.reduce((sum, one) => sum + one.all, 0);
  }

  toString(): string {
    return [...this.#counts].map(([name, { passed, all }]) => `${name} ${passed}/${all}`).join(", ");
  }
}

describe("generated suggestions", () => {
  it(`None of ${count} corrupting suggestions passes, and at least 85 % of the good ones do`, async () => {
    const byKind = new Tally();
    const byLanguage = new Tally();
    const rejected = new Tally();
    const judged = fc.asyncProperty(generatedCase, async (one) => {
      const file = await taken(one);
      const isRight = file !== null && !isCorrupt(one, file);
      if (file !== null && !isRight)
        throw new Error(
          `${one.kind} passes: ${one.sample.path} ${one.start}-${one.end}\n${one.suggestion}\n=>\n${file.slice(one.start - 3, one.end + 6).join("\n")}`,
        );
      if (!one.isGood) return rejected.add(one.kind, file === null);
      byKind.add(one.kind, isRight);
      byLanguage.add(one.sample.language.name, isRight);
    });
    await fc.assert(judged, { numRuns: count, ...(long ? {} : { seed: 20_260_103 }), endOnFailure: true });
    const figures = `good ones that pass: ${byKind}; by language: ${byLanguage}; bad ones that are refused, not repaired: ${rejected}`;
    expect(byKind.share(), figures).toBeGreaterThanOrEqual(0.85);
  });
});
