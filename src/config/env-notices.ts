import { distance } from "fastest-levenshtein";
import { environmentDocs } from "./environment-docs.ts";

type Given = Readonly<Record<string, string | undefined>>;

const known: ReadonlySet<string> = new Set(environmentDocs.map(({ name }) => name));

/** Variables that programs of all sorts share: an empty one is usual, and one with a similar name is somebody else's. */
const isShared = (name: string) => name.endsWith("_PROXY") || name.startsWith("NODE_");

/** What a person should know of an environment that is valid, one line each. */
export const noticesOf = (raw: Given): string[] => [...emptyOf(raw), ...unknownOf(raw)];

/** A secret that a CI does not have arrives as an empty variable. */
function emptyOf(raw: Given): string[] {
  return Object.entries(raw)
    .filter(([name, value]) => known.has(name) && !isShared(name) && value?.trim() === "")
    .map(([name]) => `${name} is set but empty; it counts as unset`);
}

function unknownOf(raw: Given): string[] {
  return Object.entries(raw).flatMap(([name, value]) => {
    if (!value?.trim() || known.has(name) || isShared(name.toUpperCase())) return [];
    const meant = nearest(name.toUpperCase());
    if (meant !== undefined) return [`${name} is not known. Did you mean ${meant}?`];
    return name.startsWith("HUNKWISE_") ? [`${name} is not known`] : [];
  });
}

/** Shorter names are near to too many others. */
const guessable = [...known].filter((name) => name.length > 8 && !isShared(name));

function nearest(name: string): string | undefined {
  const ranked = guessable.map((one) => ({ one, edits: distance(name.slice(0, 64), one) }));
  const [best] = ranked.toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= 2 ? best.one : undefined;
}
