import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";

const file = join(import.meta.dirname, "../../docs/review.schema.json");
const validate = new Ajv({ allErrors: true }).compile(JSON.parse(readFileSync(file, "utf8")));

/** What does not fit the published schema of a printed JSON report; empty if it fits. */
export function faultsOfReview(text: string): string[] {
  if (validate(JSON.parse(text))) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/** Holds every test that has a review printed as JSON to the schema. */
export function requireSchema(args: readonly string[], stdout: string): void {
  const isReport = args[0] === "review" && args[args.indexOf("--format") + 1] === "json";
  if (!isReport || args.includes("--dry-run") || stdout === "") return;
  const faults = faultsOfReview(stdout);
  if (faults.length > 0)
    throw new Error(`the report does not fit docs/review.schema.json: ${faults.join("; ")}`);
}
