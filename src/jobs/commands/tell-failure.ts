import type { Outcome } from "../../queue/job.ts";
import { untrustedLine } from "../../reporters/safe-markdown.ts";
import { type Asked, answered, mayWrite } from "./command-context.ts";

/** Tells whoever asked why nothing came of it; a stranger is told nothing. */
export async function tellFailure(asked: Asked, reason: string): Promise<Outcome> {
  if (!(await mayWrite(asked))) return { kind: "skipped", reason: `${asked.by} has no write access` };
  return answered(asked, `That did not work: ${untrustedLine(reason, 600)}.`, "told of the failure");
}
