/**
 * The part of SARIF 2.1.0 that the reporter uses, as JSON Schema; properties outside the standard are refused. Names, required properties
 * and value sets are those of the standard (sections 3.13, 3.14, 3.20, 3.27 to 3.30, 3.55 to 3.58).
 */
const strict = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: "object",
  additionalProperties: false,
  properties,
  required,
});
const list = (items: unknown) => ({ type: "array", items });
const text = { type: "string" };
const line = { type: "integer", minimum: 1 };
const level = { enum: ["none", "note", "warning", "error"] };
const bag = { type: "object" };

const message = strict({ text, markdown: text, id: text }, ["text"]);
const artifactLocation = strict({ uri: { type: "string", format: "uri-reference" }, uriBaseId: text });
const region = strict({ startLine: line, endLine: line, startColumn: line, endColumn: line }, ["startLine"]);
const artifactContent = strict({ text });
const physicalLocation = strict({ artifactLocation, region }, ["artifactLocation"]);
const location = strict({ physicalLocation, message });
const replacement = strict({ deletedRegion: region, insertedContent: artifactContent }, ["deletedRegion"]);
const fix = strict(
  {
    description: message,
    artifactChanges: {
      ...list(
        strict({ artifactLocation, replacements: { ...list(replacement), minItems: 1 } }, [
          "artifactLocation",
          "replacements",
        ]),
      ),
      minItems: 1,
    },
  },
  ["artifactChanges"],
);
const result = strict(
  {
    ruleId: text,
    ruleIndex: { type: "integer", minimum: -1 },
    level,
    message,
    locations: list(location),
    relatedLocations: list(location),
    partialFingerprints: { type: "object", additionalProperties: text },
    fixes: list(fix),
    properties: bag,
  },
  ["message"],
);
const multiformat = strict({ text, markdown: text }, ["text"]);
const rule = strict(
  {
    ...{ id: text, name: text, shortDescription: multiformat, fullDescription: multiformat },
    ...{ help: multiformat, properties: bag },
  },
  ["id"],
);
const run = strict(
  {
    tool: strict({ driver: strict({ name: text, version: text, rules: list(rule) }, ["name"]) }, ["driver"]),
    automationDetails: strict({ id: text }),
    columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
    invocations: list(
      strict(
        {
          executionSuccessful: { type: "boolean" },
          toolExecutionNotifications: list(strict({ level, message }, ["message"])),
        },
        ["executionSuccessful"],
      ),
    ),
    originalUriBaseIds: { type: "object", additionalProperties: strict({ description: message, uri: text }) },
    results: list(result),
    properties: bag,
  },
  ["tool"],
);

export const sarifEssentials = strict(
  { $schema: { type: "string", format: "uri" }, version: { const: "2.1.0" }, runs: list(run) },
  ["version", "runs"],
);
