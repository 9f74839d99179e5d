import { createHmac, timingSafeEqual } from "node:crypto";
import { formatMarker, parseMarker } from "../../core/ledger/marker.ts";
import { emptyState } from "../../core/ledger/state.ts";

/*
 * Every workflow of a repository writes as the same bot. Where we write as that bot, a marker without a valid MAC is not ours.
 */

/** A marker line with the time and the MAC. No other reader takes it for a marker. */
const sealedLine = /^(<!-- hunkwise:[a-z]{1,20} v[1-9]\d{0,3} \{[^<>]*\}) (\d{1,15})\.([0-9a-f]{64}) -->$/;
const anyLine = /^\s*<!--\s*hunkwise:/i;

/** The marker of a summary that remembers nothing: it can be edited, and silences nothing. */
const forgetful = formatMarker({ kind: "summary", head: "", trigger: "", state: emptyState });

/** Signs the markers in our texts, and recognizes them again. `place` is where a text belongs, so that it counts nowhere else. */
export interface Seal {
  /** The text with a MAC in its marker; a text without a marker is unchanged. */
  close(body: string, place: string): string;
  /**
   * The text with its marker as it was before, if the MAC is valid for this place; otherwise the text without a marker. A summary keeps one
   * that remembers nothing, so that the next summary replaces it.
   */
  open(body: string, place: string): string;
  /** When the text was closed for this place, in milliseconds since 1970; null if it was not. Another workflow may repeat an older text of ours. */
  closedAt(body: string, place: string): number | null;
}

/** @param key any length; whoever has it can write markers that count */
export function createSeal(key: string | Buffer, now: () => number = Date.now): Seal {
  const macOf = (marker: string, place: string, at: string) =>
    createHmac("sha256", key)
      .update(JSON.stringify([place, marker, at]))
      .digest();
  /** The marker as it was before, if the last line holds a valid one. */
  const read = (last: string, place: string) => {
    const [, opened, at = "", mac = ""] = sealedLine.exec(last) ?? [];
    const marker = `${opened ?? ""} -->`;
    const isValid =
      opened !== undefined && timingSafeEqual(Buffer.from(mac, "hex"), macOf(marker, place, at));
    return { plain: opened === undefined ? last : marker, at: Number(at), isValid };
  };
  return {
    close(body, place) {
      if (parseMarker(body) === undefined) return body;
      const { before, last } = lastLine(body);
      const at = String(now());
      const mac = macOf(last, place, at).toString("hex");
      return `${before}${last.slice(0, -" -->".length)} ${at}.${mac} -->`;
    },
    open(body, place) {
      const { before, last } = lastLine(body);
      if (!anyLine.test(last)) return body;
      const { plain, isValid } = read(last, place);
      if (isValid) return before + plain;
      const text = withoutMarkers(before);
      return parseMarker(plain)?.kind === "summary" ? `${text}\n\n${forgetful}` : text;
    },
    closedAt(body, place) {
      const { at, isValid } = read(lastLine(body).last, place);
      return isValid ? at : null;
    },
  };
}

/** A text without its marker, and without any line that would then be the last one and look like one. */
export function withoutMarkers(body: string): string {
  const { before, last } = lastLine(body);
  return anyLine.test(last) ? withoutMarkers(before) : body.trimEnd();
}

function lastLine(body: string): { before: string; last: string } {
  const text = body.trimEnd();
  const start = text.lastIndexOf("\n") + 1;
  return { before: text.slice(0, start), last: text.slice(start) };
}
