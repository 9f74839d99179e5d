import { createHmac, timingSafeEqual } from "node:crypto";
import { formatMarker, parseMarker } from "./marker.ts";
import { emptyState } from "./state.ts";

/*
 * Every workflow of a repository writes as the same bot, so its name does not tell whose text it is. Where we write as that bot, a key of
 * ours does: a marker carries a MAC, and a marker without a valid one is not ours.
 */

/** A marker line with its MAC. No other reader takes it for a marker. */
const sealedLine = /^(<!-- hunkwise:[a-z]{1,20} v[1-9]\d{0,3} \{[^<>]*\}) ([0-9a-f]{64}) -->$/;
const anyLine = /^\s*<!--\s*hunkwise:/i;

/** The marker of a summary that remembers nothing: it can be edited, and silences nothing. */
const forgetful = formatMarker({ kind: "summary", head: "", trigger: "", state: emptyState });

/** Signs the markers in our texts, and recognises them again. `place` is where a text belongs, so that it counts nowhere else. */
export interface Seal {
  /** The text with a MAC in its marker; a text without a marker is unchanged. */
  close(body: string, place: string): string;
  /**
   * The text with its marker as it was before, if the MAC is valid for this place. Otherwise the text without a marker; a summary then keeps
   * one that remembers nothing, so that the next summary replaces it.
   */
  open(body: string, place: string): string;
}

/** @param key any length; whoever has it can write markers that count */
export function createSeal(key: string | Buffer): Seal {
  const macOf = (marker: string, place: string) =>
    createHmac("sha256", key)
      .update(JSON.stringify([place, marker]))
      .digest();
  return {
    close(body, place) {
      if (parseMarker(body) === undefined) return body;
      const { before, last } = lastLine(body);
      return `${before}${last.slice(0, -" -->".length)} ${macOf(last, place).toString("hex")} -->`;
    },
    open(body, place) {
      const { before, last } = lastLine(body);
      if (!anyLine.test(last)) return body;
      const [, said, mac = ""] = sealedLine.exec(last) ?? [];
      const marker = `${said ?? ""} -->`;
      if (said !== undefined && timingSafeEqual(Buffer.from(mac, "hex"), macOf(marker, place)))
        return before + marker;
      const plain = said === undefined ? last : marker;
      const text = withoutMarkers(before);
      return parseMarker(plain)?.kind === "summary" ? `${text}\n\n${forgetful}` : text;
    },
  };
}

/** Also without the line that would be the last one then. */
function withoutMarkers(body: string): string {
  const { before, last } = lastLine(body);
  return anyLine.test(last) ? withoutMarkers(before) : body.trimEnd();
}

function lastLine(body: string): { before: string; last: string } {
  const text = body.trimEnd();
  const start = text.lastIndexOf("\n") + 1;
  return { before: text.slice(0, start), last: text.slice(start) };
}
