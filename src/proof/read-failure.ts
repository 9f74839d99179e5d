import type { ProofTest } from "../finding.ts";
import type { TestEnd } from "./proof.ts";

export interface Failure {
  kind: "assertion" | "error" | "setup" | "unknown";
  line: string;
  frames: readonly { path: string; line: number }[];
  expected: string | null;
  actual: string | null;
}

export function readFailure(_end: TestEnd, _test: ProofTest): Failure {
  throw new Error("another room");
}
