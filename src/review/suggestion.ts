import type { Finding } from "../finding.ts";
import { fence } from "../text/fence.ts";

/** Keeps the proposed code as prose, so that nothing the review found is lost. */
export function withoutSuggestion<T extends Pick<Finding, "body" | "suggestion">>(finding: T): T {
  if (finding.suggestion === null) return finding;
  const body = `${finding.body}\n\nProposed replacement:\n\n${fence(finding.suggestion)}`;
  return { ...finding, suggestion: null, body };
}
