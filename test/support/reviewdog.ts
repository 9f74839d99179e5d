import { text } from "node:stream/consumers";
import { Ajv } from "ajv";
import { rdResult } from "./rdf-format.ts";

/*
 * Stands for reviewdog as far as it reads a review: it takes the options that our examples have, and posts nothing. It ends with 2 if it
 * refuses something. reviewdog itself ends with 1, but so does a review with findings.
 */

const options = new Set(["-f=rdjson", "-reporter=github-pr-review"]);

function faultOf(args: readonly string[], input: string): string | null {
  if (!args.includes("-f=rdjson") || args.some((arg) => !options.has(arg))) return args.join(" ");
  const ajv = new Ajv();
  try {
    return ajv.validate(rdResult, JSON.parse(input)) ? null : ajv.errorsText();
  } catch (error) {
    return String(error);
  }
}

const fault = faultOf(process.argv.slice(2), await text(process.stdin));
if (fault !== null) {
  process.stderr.write(`reviewdog: ${fault}\n`);
  process.exitCode = 2;
}
