import type { ProofTest } from "../finding.ts";

export interface TestFacts {
  isFile(path: string): boolean;
  isOwnPackage(name: string): boolean;
  isDependency(name: string): boolean;
}
export async function whyRefused(_test: ProofTest, _facts: TestFacts): Promise<string | null> {
  throw new Error("another room");
}
