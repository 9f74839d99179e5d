/**
 * Writes the tables of docs/commands.md, docs/tools.md and docs/configuration.md, .env.example and the JSON Schemas from the declarations in
 * the code, rules/<language>.json from the rules in their folders, the tables of docs/performance.md from the figures in docs/figures, and
 * what package.json says into other files: the version into server.json, the owner of the repository into all. With `--check` writes nothing,
 * names every outdated file and exits with 1.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import packageJson from "../package.json" with { type: "json" };
import {
  changingTools,
  commandTools,
  graphTools,
  intentTools,
  journalTools,
  provingTools,
  readingTools,
  reportingTools,
} from "../src/agent/tools/index.ts";
import type { AnyTool } from "../src/agent/tools/tool.ts";
import { RuleDefinition } from "../src/config/named-rules.ts";
import {
  defaultRepoConfig,
  NestedConfig,
  nestedConfigSchema,
  RepoConfig,
  repoConfigSchema,
} from "../src/config/repo-config.ts";
import { environmentDocs } from "../src/config/variables.ts";
import { commandRules, renderCommandTable } from "../src/pull/publish/command-answers.ts";
import { MAX_REVIEWABLE_LINES } from "../src/repo/diff/filter.ts";
import { MAX_RENDERED_BYTES } from "../src/repo/show.ts";
import { eventSchema } from "../src/report/event.ts";
import { reviewJsonSchema } from "../src/report/json.ts";
import { rulesFolder } from "../src/tasks/rules/analyzers/analyze-change.ts";
import { ruleLanguages } from "../src/tasks/rules/analyzers/rule-file.ts";
import { benchTable, scaleTables } from "./figures.ts";
import { repositoryOf, textsOf, withOwner } from "./repository.ts";
import { ruleList } from "./rule-source.ts";
import { markdownTable } from "./table.ts";

const root = join(import.meta.dirname, "..");
interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  maxLength?: number;
}

const schemaOf = (type: z.ZodType) => z.toJSONSchema(type, { io: "input" }) as Schema;
const code = (value: unknown) => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

/** Bounds of a number, `1..40` or `>= 1`; zod gives every integer the largest safe one as maximum, which is omitted. */
function bounds({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const high = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (minimum !== undefined && high !== undefined) return ` ${minimum}..${high}`;
  const low = exclusiveMinimum === undefined ? minimum : exclusiveMinimum;
  const sign = exclusiveMinimum === undefined ? ">=" : ">";
  const lower = low === undefined ? "" : ` ${sign} ${low}`;
  return high === undefined ? lower : `${lower}${lower && ","} <= ${high}`;
}

/** A short description of a type for a table. */
function typeOf(schema: Schema): string {
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.enum) return schema.enum.map(code).join(", ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.type === "array") {
    const fields = Object.keys(schema.items?.properties ?? {}).join(", ");
    return fields ? `list of {${fields}}` : "list of strings";
  }
  if (schema.type === "string")
    return schema.maxLength ? `string, up to ${schema.maxLength} characters` : "string";
  return `${schema.type}${bounds(schema)}`;
}

function parametersOf(tool: AnyTool): string {
  const { properties = {}, required = [] } = schemaOf(tool.input);
  const rows = Object.entries(properties).map(([name, schema]) => {
    const fallback = schema.default === undefined ? "" : code(schema.default);
    const needed = required.includes(name) ? "required" : fallback;
    return [code(name), typeOf(schema), needed, schema.description ?? ""];
  });
  if (rows.length === 0) return "No parameters.";
  return markdownTable(["Parameter", "Type", "Default", "Meaning"], rows);
}

function toolSection(tool: AnyTool): string {
  const call = JSON.stringify(tool.example, null, 2);
  return [
    `### \`${tool.name}\``,
    tool.description,
    parametersOf(tool),
    `**Output:** ${tool.returns}`,
    `**Example call:**\n\n\`\`\`json\n${call}\n\`\`\``,
  ].join("\n\n");
}

/** By the names of their parts in docs/tools.md. */
const toolGroups: Record<string, readonly AnyTool[]> = {
  reading: readingTools,
  graph: graphTools,
  reporting: reportingTools,
  journal: journalTools,
  changing: changingTools,
  commands: commandTools,
  proving: provingTools,
  intent: intentTools,
};

interface Key {
  path: string;
  schema: Schema;
  fallback: unknown;
}

/** The keys of the configuration: sections expanded, the fields of lists of objects after `[]`. */
function keysOf(schema: Schema, fallback: unknown, path = ""): Key[] {
  const values = (fallback ?? {}) as Record<string, unknown>;
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const key = { path: path ? `${path}.${name}` : name, schema: property, fallback: values[name] };
    if (property.properties) return keysOf(property, values[name], key.path);
    return property.items?.properties ? [key, ...keysOf(property.items, {}, `${key.path}[]`)] : [key];
  });
}

/** Requires that the first block of YAML below a heading is valid and sets every key, so that no new key is forgotten. */
function requireWholeExample(text: string, heading: string, type: z.ZodType, keys: readonly Key[]): void {
  const [, block = ""] = /```yaml\n([\s\S]*?)```/.exec(text.slice(text.indexOf(`\n${heading}\n`))) ?? [];
  const example: unknown = parseYaml(block);
  type.parse(example);
  const present = (path: string) =>
    path.split(".").reduce<unknown>((value, name) => {
      const inner = (value as Record<string, unknown> | undefined)?.[name.replace("[]", "")];
      return name.endsWith("[]") ? (inner as unknown[] | undefined)?.[0] : inner;
    }, example) !== undefined;
  const missing = keys.filter((key) => !present(key.path)).map((key) => key.path);
  if (missing.length > 0)
    throw new Error(`the example below "${heading}" does not set ${missing.join(", ")}`);
}

function keyTable(keys: readonly Key[]): string {
  const rows = keys.map(({ path, schema, fallback }) => [
    code(path),
    typeOf(schema),
    fallbackOf(path, fallback),
    schema.description ?? "",
  ]);
  return markdownTable(["Key", "Type", "Default", "Meaning"], rows);
}

/** Keys of a list element are required; omitted keys of a folder inherit. */
function fallbackOf(path: string, fallback: unknown): string {
  if (fallback !== undefined) return code(fallback);
  return path.includes("[]") ? "required" : "";
}

function environmentTable(): string {
  const rows = environmentDocs.map((one) => {
    const fallback = one.default === null ? "" : code(one.default);
    return [code(one.name), fallback, one.description];
  });
  return markdownTable(["Variable", "Default", "Meaning"], rows);
}

function configurationPage(text: string): string {
  const keys = keysOf(schemaOf(RepoConfig), defaultRepoConfig);
  const nestedKeys = keysOf(schemaOf(NestedConfig), NestedConfig.parse({}));
  requireWholeExample(text, "## Repository: `.github/hunkwise.yml`", RepoConfig, keys);
  requireWholeExample(text, "## Folders: `.hunkwise.yml`", NestedConfig, nestedKeys);
  const ruleDefaults = { where: ["**"], severity: "medium", blocking: false };
  return withParts(text, {
    variables: environmentTable(),
    keys: keyTable(keys),
    "rule-keys": keyTable(keysOf(schemaOf(RuleDefinition), ruleDefaults)),
    "folder-keys": keyTable(nestedKeys),
    lines: MAX_REVIEWABLE_LINES.toLocaleString("en"),
  });
}

/** Replaces the parts of a page between `<!-- NAME -->` and `<!-- /NAME -->`, within a line or on lines of their own. */
function withParts(page: string, parts: Record<string, string>): string {
  return Object.entries(parts).reduce((text, [name, content]) => {
    const part = new RegExp(`(<!-- ${name} -->)(\\n?)[\\s\\S]*?(<!-- /${name} -->)`);
    if (!part.test(text)) throw new Error(`A page has no part <!-- ${name} -->`);
    return text.replace(part, (_, begin, onLines, end) =>
      onLines ? `${begin}\n\n${content}\n\n${end}` : `${begin}${content}${end}`,
    );
  }, page);
}

/** Text as comment lines of at most 120 characters. */
function comment(text: string): string[] {
  const lines = ["#"];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length <= 120) lines[lines.length - 1] = longer;
    else lines.push(`# ${word}`);
  }
  return lines;
}

/** Every variable, commented out, below its description. */
function exampleEnvironment(): string {
  const bySection = Map.groupBy(environmentDocs, ({ section }) => section);
  const parts = [...bySection].map(([section, variables]) =>
    [
      `# --- ${section} `.padEnd(120, "-"),
      ...variables.flatMap(({ name, description, example, default: fallback }) => [
        ...comment(description),
        `# ${name}=${fallback ?? example ?? ""}`,
      ]),
    ].join("\n"),
  );
  return `${[ENVIRONMENT_HEAD, ...parts].join("\n\n")}\n`;
}

const ENVIRONMENT_HEAD = `# Generated by scripts/generate-docs.ts: do not edit, run \`npm run docs\`.
# Copy this file to \`.env\` next to package.json, or set the variables in the environment, which takes precedence.
# Everything is optional: without an App, \`npm start\` shows a page that creates one and stores its credentials.`;

const current = (path: string) =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "";

const pages: Record<string, string> = {
  ".env.example": exampleEnvironment(),
  "docs/commands.md": withParts(current("docs/commands.md"), {
    rules: commandRules,
    commands: renderCommandTable({ describe: true, prove: true }),
  }),
  "docs/tools.md": withParts(current("docs/tools.md"), {
    kib: String(MAX_RENDERED_BYTES / 1024),
    ...Object.fromEntries(
      Object.entries(toolGroups).map(([name, tools]) => [name, tools.map(toolSection).join("\n\n")]),
    ),
  }),
  "docs/configuration.md": configurationPage(current("docs/configuration.md")),
  "docs/performance.md": withParts(current("docs/performance.md"), {
    bench: benchTable(),
    scale: scaleTables(),
  }),
  "docs/hunkwise.schema.json": `${JSON.stringify(repoConfigSchema(), null, 2)}\n`,
  "docs/review.schema.json": `${JSON.stringify(reviewJsonSchema(), null, 2)}\n`,
  "docs/event.schema.json": `${JSON.stringify(eventSchema(), null, 2)}\n`,
  "docs/hunkwise.nested.schema.json": `${JSON.stringify(nestedConfigSchema(), null, 2)}\n`,
};
for (const language of ruleLanguages) pages[`rules/${language}.json`] = await ruleList(rulesFolder, language);
const repository = repositoryOf(packageJson);
const [, before = repository.owner] = /io\.github\.([\w-]+)/.exec(current("server.json")) ?? [];
for (const path of textsOf(root)) pages[path] ??= current(path);
for (const [path, text] of Object.entries(pages)) pages[path] = withOwner(text, repository, before);
pages["server.json"] = pages["server.json"]!.replaceAll(/(?<="version": ")[^"]+/g, packageJson.version);
const stale = Object.entries(pages).filter(([path, text]) => current(path) !== text);

if (process.argv.includes("--check")) {
  for (const [path] of stale) console.error(`${path} is stale: run npm run docs`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) writeFileSync(join(root, path), text);
}
