import { formatMarker, type Marker, parseMarker } from "../ledger/marker.ts";
import { untrustedBlock } from "../reporters/safe-markdown.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { byteLength } from "../text/cut.ts";
import type { PublicText } from "../text/public-text.ts";

/** GitHub refuses more than 65,536 characters; in bytes, and with a margin, nothing can go wrong. */
export const mostBodyBytes = 60_000;

const leftOut = "Left out: there was a secret in this text.";

/**
 * Markdown that the renderers of this room wrote, as text that may stand in public: it is looked at last for secrets. Where one is
 * found, what surrounded it may mean something else without it (a fence may have lost its end), so that all of the text is
 * treated as if others had written it.
 */
export function publicText(written: string): PublicText {
  if (isClean(written)) return written as PublicText;
  const { text, marker } = apart(written);
  const kept = marker && cleanMarker(marker);
  const end = kept ? `\n\n${formatMarker(kept)}` : "";
  return `${cleanText(text, mostBodyBytes - byteLength(end))}${end}` as PublicText;
}

/** The same for a place where GitHub shows text as it is: a title, an annotation. Nothing means anything there. */
export function publicPlain(written: string): PublicText {
  return withoutSecrets(written) as PublicText;
}

const isClean = (text: string) => withoutSecrets(text) === text;

function apart(written: string): { text: string; marker?: Marker } {
  const body = written.trimEnd();
  const marker = parseMarker(body);
  return marker ? { text: body.slice(0, Math.max(0, body.lastIndexOf("\n"))), marker } : { text: written };
}

/** To write a text anew may show what was hidden by how it was written. */
function cleanText(text: string, maxBytes: number): string {
  let clean = text;
  for (let round = 0; round < 3; round++) {
    clean = untrustedBlock(withoutSecrets(clean), maxBytes);
    if (isClean(clean)) return clean;
  }
  return leftOut;
}

/** Undefined where the secret goes beyond one of its values: a text that is not recognised is better than one that tells. */
function cleanMarker(marker: Marker): Marker | undefined {
  const text = JSON.stringify(marker, (_, value) =>
    typeof value === "string" ? withoutSecrets(value) : value,
  );
  const clean = JSON.parse(text) as Marker;
  return isClean(formatMarker(clean)) ? clean : undefined;
}
