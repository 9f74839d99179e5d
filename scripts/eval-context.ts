/**
 * Checks without a model whether the first messages of reviews contain the lines that a reviewer needs:
 * `npm run eval:context -- --cases DIR --repos DIR`. docs/quality.md describes the formats and the figures.
 */
import { requireWritable, write, writeOutput } from "../src/cli/output.ts";
import { loadCases } from "./eval/load-cases.ts";
import { readCallersFile, readNeededFile } from "./eval/needed-lines.ts";
import { contextUsage, parseContextOptions } from "./eval/options.ts";
import { contextMarkdown, renderContext, wholeCases } from "./eval/render-context.ts";
import { runContext } from "./eval/run-context.ts";
import { runScript } from "./eval/run-script.ts";

async function main(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const options = parseContextOptions(argv);
  if (options === null) {
    await write(process.stdout, contextUsage);
    return 0;
  }
  const { repos, graphs, output, atLeast } = options;
  if (output !== null) await requireWritable(output);
  const result = await runContext({
    cases: await loadCases(options.cases, options.only),
    needed: await readNeededFile(options.needed),
    callers: await readCallersFile(options.callers),
    say: (line) => void process.stderr.write(`${line}\n`),
    ...{ repos, graphs, signal },
  });
  await write(process.stdout, renderContext(result));
  if (output !== null) await writeOutput(output, contextMarkdown(result));
  if (result.failed.length > 0) return 2;
  return atLeast !== null && wholeCases(result.rows) < atLeast ? 1 : 0;
}

await runScript("eval:context", main);
