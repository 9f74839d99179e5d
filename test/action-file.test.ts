import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { inputVariables } from "../src/config/action-env.ts";

const read = (name: string) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
const page = read("docs/action.md");
const action = parse(read("action.yml")) as {
  inputs: Record<string, unknown>;
  outputs: Record<string, { value: string }>;
  runs: { steps: { uses?: string; env?: Record<string, string> }[] };
};
const inputs = Object.keys(action.inputs);

/** The text below a heading. */
const section = (heading: string) => page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
const codeIn = (text: string) => [...text.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => name);

describe("action.yml", () => {
  it("action.yml has the inputs of docs/action.md", () => {
    const rows = [...section("Inputs").matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = ""]) => codeIn(cell));
    expect(rows.sort()).toEqual(inputs.toSorted());
  });

  it("action.yml has the outputs of docs/action.md, each from the review", () => {
    const described = codeIn(section("Outputs"));
    expect(Object.keys(action.outputs).filter((name) => !described.includes(name))).toEqual([]);
    for (const [name, { value }] of Object.entries(action.outputs))
      expect(value).toBe(`\${{ steps.review.outputs.${name} }}`);
  });

  it("action.yml passes each input to the program, which reads nothing else", () => {
    const env = action.runs.steps.at(-1)?.env ?? {};
    const used = Object.values(env).flatMap((text) =>
      [...text.matchAll(/inputs\.([\w-]+)/g)].map(([, name]) => name),
    );
    expect(used.sort()).toEqual(inputs.toSorted());
    const passed = Object.keys(env).filter((name) => name.startsWith("INPUT_"));
    const wanted = [...inputVariables.values()];
    expect(passed.sort()).toEqual(wanted.sort());
  });

  it("Other actions are pinned to commits in action.yml and in docs/action.md", () => {
    const used = [
      ...action.runs.steps.flatMap(({ uses }) => uses ?? []),
      ...[...page.matchAll(/- uses: (\S+)/g)].map(([, uses = ""]) => uses),
    ];
    expect(
      used.filter((name) => !/@[0-9a-f]{40}$/.test(name) && !/^[\w-]+\/hunkwise@COMMIT$/.test(name)),
    ).toEqual([]);
  });
});

describe("README.md", () => {
  const workflowIn = (text: string): Record<string, unknown> =>
    parse(/^```yaml\n(name: Review\n[\s\S]*?)^```/m.exec(text)?.[1] ?? "");

  it("README.md has the workflow for public repositories of docs/action.md", () => {
    expect(workflowIn(read("README.md"))).toEqual(workflowIn(section("Public repository with forks")));
  });

  it("README.md fits a screen: it has at most 150 lines", () => {
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(151);
  });
});
