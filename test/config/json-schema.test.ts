import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parseNestedConfig, parseRepoConfig } from "../../src/config/parse-config.ts";
import { nestedConfigSchema, repoConfigSchema } from "../../src/config/repo-config.ts";

interface Schema {
  description?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** Each key at any depth, dotted, with its schema. */
function keysOf({ properties = {}, items }: Schema, path = ""): [string, Schema][] {
  const own = Object.entries(properties).flatMap(([name, schema]): [string, Schema][] => [
    [`${path}${name}`, schema],
    ...keysOf(schema, `${path}${name}.`),
  ]);
  return [...own, ...(items ? keysOf(items, `${path}[].`) : [])];
}

const kinds = [
  ["the repository's file", repoConfigSchema, parseRepoConfig],
  ["a folder's file", nestedConfigSchema, parseNestedConfig],
] as const;

describe.each(kinds)("the JSON Schema of %s", (_, schemaOf, parse) => {
  const schema = schemaOf();

  it("The JSON Schema has a title, and describes every key", () => {
    expect(schema).toMatchObject({
      title: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
    });
    const silent = keysOf(schema).filter(([, { description = "" }]) => description === "");
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it("The JSON Schema tells the default of every key that has one", () => {
    const without = keysOf(schema).filter(([, { default: fallback }]) => fallback === undefined);
    const required = ["instructions.[].path", "instructions.[].text"];
    // What a folder leaves out is as in the folder above; the conclusion at a limit goes by another key; a policy is the organization's.
    const workflow = ["findings.workflows.[].workflow", "findings.workflows.[].artifact"];
    const proofs = ["prove.run.[].files", "prove.run.[].command"];
    const inherited =
      schemaOf === nestedConfigSchema
        ? ["minimum_severity"]
        : [...workflow, "check.limit", ...proofs, "policy"];
    expect(without.map(([path]) => path)).toEqual([...required, ...inherited]);
  });

  it("The JSON Schema takes and refuses what the parser takes and refuses", () => {
    const validate = new Ajv({ strict: false }).compile(schema);
    const files: unknown[] = [
      ...[
        {},
        { paths: { ignore: ["a"] } },
        { paths: { ignore: "a" } },
        { paths: { ignor: [] } },
        { color: 1 },
      ],
      ...[{ instructions: [{ path: "a", text: "b" }] }, { instructions: [{ path: "a" }] }],
      ...[
        { minimum_severity: "high" },
        { minimum_severity: "grave" },
        { max_comments: 1 },
        { max_comments: 101 },
      ],
    ];
    const taken = files.filter((file) => validate(file));
    expect(taken).toEqual(files.filter((file) => parse(JSON.stringify(file)).ok));
    expect(taken.length).toBeGreaterThan(3);
  });
});

it("Are those that the package ships", () => {
  const root = join(import.meta.dirname, "../..");
  const shipped = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).files;
  for (const name of [
    "docs/hunkwise.schema.json",
    "docs/hunkwise.nested.schema.json",
    "docs/review.schema.json",
  ]) {
    expect(shipped).toContain(name);
    expect(JSON.parse(readFileSync(join(root, name), "utf8"))).toHaveProperty("title");
  }
});
