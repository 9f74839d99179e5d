import { stripMarkers } from "../ledger/marker.ts";
import { withoutCommands } from "../text/inert-text.ts";

/** Code of others that does nothing in a comment of ours: it marks none, and commands no bot that reads code as well. */
export function inertCode(code: string): string {
  return withoutCommands(stripMarkers(code));
}
