import type { LocalEnv } from "../config/env.ts";
import { programPath } from "../config/process-env.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import type { FoundTestPlace } from "../process/prove-review.ts";
import { findSandbox } from "../sandbox/find-sandbox.ts";
import type { OpenRange } from "./open-range.ts";

/** Where the tests of a local review run; or why they cannot, and what helps. */
export async function findLocalTestPlace(
  _range: OpenRange,
  config: EffectiveConfig,
  { sandbox: { memoryMb, ...visible } }: LocalEnv,
  signal: AbortSignal,
): Promise<FoundTestPlace> {
  const found = await findSandbox({ searchPath: programPath(), ...visible, signal });
  if (found.sandbox === null) return { why: `${found.why}. ${found.remedy.replace(/\.$/, "")}` };
  if (config.prove.prepare !== null) return { why: "no environment can be prepared here" };
  return { sandbox: { sandbox: found.sandbox, memoryMb }, environment: null };
}
