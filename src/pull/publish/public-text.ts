import { formatMarker, type Marker, parseMarker } from "../../core/ledger/marker.ts";
import { withoutSecrets } from "../../core/secrets/redact.ts";
import { byteLength } from "../../core/text/cut.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import { untrustedBlock } from "../../report/safe-markdown.ts";
import type { Seal } from "../ledger/seal.ts";

/** GitHub refuses more than 65,536 characters. A limit in bytes, with a margin, is always safe. */
export const mostBodyBytes = 60_000;

const leftOut = "Left out: this text contained a secret.";

/**
 * Our Markdown as text that may be published, after a last check for secrets. Removing a secret may change the meaning of the rest (a fence
 * may lose its end), so the whole text is then treated as untrusted.
 */
export function publicText(written: string): PublicText {
  if (isClean(written)) return written as PublicText;
  const { text, marker } = apart(written);
  const kept = marker && cleanMarker(marker);
  const end = kept ? `\n\n${formatMarker(kept)}` : "";
  return `${cleanText(text, mostBodyBytes - byteLength(end))}${end}` as PublicText;
}

/** The same for places that GitHub shows as plain text: a title, an annotation. */
export function publicPlain(written: string): PublicText {
  return withoutSecrets(written) as PublicText;
}

/** The same text with a MAC in its marker. */
export const sealedText = (seal: Seal, text: PublicText, place: string): PublicText =>
  seal.close(text, place) as PublicText;

const isClean = (text: string) => withoutSecrets(text) === text;

function apart(written: string): { text: string; marker?: Marker } {
  const body = written.trimEnd();
  const marker = parseMarker(body);
  return marker ? { text: body.slice(0, Math.max(0, body.lastIndexOf("\n"))), marker } : { text: written };
}

/** Rendering a text again may reveal a secret that its notation hid. */
function cleanText(text: string, maxBytes: number): string {
  let clean = text;
  for (let round = 0; round < 3; round++) {
    clean = untrustedBlock(withoutSecrets(clean), maxBytes);
    if (isClean(clean)) return clean;
  }
  return leftOut;
}

/** Undefined if the secret is not within one value: an unrecognized text is better than a leak. */
function cleanMarker(marker: Marker): Marker | undefined {
  const text = JSON.stringify(marker, (_, value) =>
    typeof value === "string" ? withoutSecrets(value) : value,
  );
  const clean = JSON.parse(text) as Marker;
  return isClean(formatMarker(clean)) ? clean : undefined;
}
