import type { OwnText } from "../github/pull-request-api.ts";
import { parseMarker } from "./marker.ts";

/**
 * Those of our texts that say once more what an older one says. Each is written once, so a second one of the same marker was
 * written by a worker that did not know of the first, or is what became of a request that was given up for lost. The oldest
 * stays. Texts without a marker are nobody's double.
 */
export function doublesAmong<T extends OwnText>(texts: readonly T[]): T[] {
  const seen = new Set<string>();
  return texts
    .toSorted((a, b) => a.id - b.id)
    .filter(({ body }) => {
      const said = identityOf(body);
      if (said === undefined) return false;
      const isDouble = seen.has(said);
      seen.add(said);
      return isDouble;
    });
}

/** What a text of ours is the only one for, by its marker. */
function identityOf(body: string): string | undefined {
  const marker = parseMarker(body);
  if (marker === undefined) return undefined;
  const { kind } = marker;
  switch (kind) {
    case "review":
      return JSON.stringify([kind, marker.head, marker.trigger]);
    case "finding":
      return JSON.stringify([kind, marker.head, marker.trigger, marker.id]);
    case "summary":
      return kind;
    case "fixed":
      return JSON.stringify([kind, marker.comment, marker.head]);
    case "dismissed":
      return JSON.stringify([kind, marker.comment, marker.by]);
    case "answer":
      return JSON.stringify([kind, marker.comment]);
    case "check":
      return undefined;
    case "suggested":
      return JSON.stringify([kind, marker.comment, marker.part]);
  }
}
