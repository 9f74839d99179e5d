import type { ProofTest } from "../finding.ts";
import type { Sandbox, SandboxLimits } from "../sandbox/bubblewrap.ts";
import type { PlacedFile } from "../sandbox/run-in-sandbox.ts";
import type { TestEnd } from "./proof.ts";

export interface TestOrder {
  files: AsyncIterable<PlacedFile> | Iterable<PlacedFile>;
  test: ProofTest;
  command: string | null;
  sandbox: Sandbox;
  limits: SandboxLimits;
  timeoutMs: number;
}
export function asItIs(_path: string): { command: string } | { why: string } {
  throw new Error("another room");
}
export async function runTest(_order: TestOrder, _signal: AbortSignal): Promise<TestEnd> {
  throw new Error("another room");
}
