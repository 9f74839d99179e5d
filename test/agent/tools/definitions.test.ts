import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import {
  changingTools,
  graphTools,
  journalTools,
  readingTools,
  reportingTools,
} from "../../../src/agent/tools/index.ts";
import { parseArguments } from "../../../src/agent/tools/run-tool.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";

const tools = [...readingTools, ...reportingTools];
const all = [...tools, ...graphTools, ...journalTools, ...changingTools];
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const schemaOf = (name: string) => toDefinition(tools.find((tool) => tool.name === name)!).parameters;

describe("the definitions of the tools", () => {
  it("The definitions of the tools are these", () => {
    expect(tools.map((tool) => tool.name)).toEqual([
      "changed_files",
      "get_commit_messages",
      "diff_file",
      "read_file_part",
      "read_definition",
      "find_callers",
      "search_in_files",
      "list_files",
      "diff_files",
      "report_finding",
      "finish_review",
    ]);
  });

  it.each(all)("$name is as it was agreed", async (tool) => {
    const file = join(import.meta.dirname, "__toolsnaps__", `${tool.name}.json`);
    await expect(`${JSON.stringify(toDefinition(tool), null, 2)}\n`).toMatchFileSnapshot(file);
  });

  it.each(all)("$name has a closed schema that takes its own example", (tool) => {
    const { parameters } = toDefinition(tool);
    const validate = ajv.compile(parameters);
    expect(parameters.additionalProperties).toBe(false);
    expect(validate(tool.example)).toBe(true);
    expect(validate({ ...tool.example, unknown: 1 })).toBe(false);
    expect(() => parseArguments(tool, tool.example)).not.toThrow();
  });

  it.each(all)("$name takes null, by its schema and in fact, for what may be left out", (tool) => {
    const { parameters } = toDefinition(tool);
    const { properties, required } = parameters as { properties: object; required: string[] };
    const optional = Object.keys(properties).filter((name) => !required.includes(name));
    const sent = { ...tool.example, ...Object.fromEntries(optional.map((name) => [name, null])) };
    expect(ajv.validate(parameters, sent)).toBe(true);
    expect(() => parseArguments(tool, sent)).not.toThrow();
  });

  it("The definitions of the tools take little of every request", () => {
    const sent = tools.map((tool) => ({ type: "function", function: toDefinition(tool) }));
    expect(JSON.stringify(sent).length).toBeLessThan(9_000);
  });

  it("The definitions of the tools say in words how much may be asked for", () => {
    const words = Object.values(schemaOf("search_in_files").properties as object).map(
      (one) => one.description,
    );
    expect(words.join(" ")).toMatch(/up to 20\..*up to 1000\./);
    expect(JSON.stringify(schemaOf("report_finding"))).toContain("Up to 200 characters");
  });

  it("The definitions of the tools advertise the words that findings use", () => {
    expect(schemaOf("report_finding")).toMatchObject({
      properties: {
        severity: { type: "string", enum: ["critical", "high", "medium", "low"] },
        side: { type: ["string", "null"], enum: ["RIGHT", "LEFT", null], default: "RIGHT" },
      },
      required: ["path", "line", "quote", "severity", "category", "title", "body", "confidence"],
    });
  });

  it("The definitions of the tools keep the defaults of the contract", () => {
    expect(schemaOf("diff_file")).toMatchObject({
      properties: { context_lines: { default: 3 }, start_hunk: { default: 1 }, end_hunk: { default: 20 } },
    });
    expect(schemaOf("search_in_files")).toMatchObject({
      properties: {
        context_lines: { default: 2 },
        max_results: { default: 50 },
        show_line_numbers: { default: true },
      },
    });
    expect(schemaOf("get_commit_messages")).toMatchObject({ properties: { max_commits: { default: 20 } } });
    expect(schemaOf("list_files")).toMatchObject({ properties: { directory: { default: "." } } });
  });
});
